import { Suspense, useEffect, useMemo, useState } from 'react';
import { Provider, useQuery } from 'urql';
import { storedKey, storeKey } from '../key';
import { connect, type Link } from './client';
import { ErrorBoundary } from './ErrorBoundary';
import { Layout } from './Layout';
import { usePlace } from './router';
import { views } from './routes';
import { rights, Session } from './session';
import { SignIn } from './SignIn';
import { Loading, Missing } from './ui/State';
import { reason } from './useAct';
import { ViewerDocument } from './viewer.gen';

/** Asks for a key, and shows the dashboard to whoever has one. */
export function App() {
  const [key, setKey] = useState(storedKey);
  const [why, setWhy] = useState('');

  const use = (next: string, reason = '') => {
    storeKey(next);
    setKey(next);
    setWhy(reason);
  };
  const link = useMemo(() => {
    if (!key) return null;
    return connect(key, () => key === storedKey() && use('', 'The server does not accept this key: it is wrong, expired or revoked.'));
  }, [key]);

  if (!link) return <SignIn why={why} use={use} />;
  return (
    <Provider value={link.client}>
      <SignedIn {...link} apiKey={key} signOut={() => use('')} />
    </Provider>
  );
}

function SignedIn({ client, bus, apiKey, signOut }: Link & { apiKey: string; signOut: () => void }) {
  const [{ data, error }, again] = useQuery({ query: ViewerDocument, requestPolicy: 'network-only' });
  const [said, setSaid] = useState({ text: '', bad: false });
  const known = Boolean(data);

  useEffect(() => {
    if (!known) return;
    let stop: () => void = () => {};
    let over = false;
    import('./live').then(({ listen }) => over || (stop = listen(apiKey, bus)));
    return () => {
      over = true;
      stop();
    };
  }, [known, apiKey, bus]);

  useEffect(() => {
    if (!error?.networkError) return;
    const timer = setInterval(() => again({ requestPolicy: 'network-only' }), 2000);
    return () => clearInterval(timer);
  }, [error, again]);

  const session = useMemo(() => {
    const viewer = data?.viewer;
    if (!viewer) return null;
    return { ...viewer, ...rights(viewer), client, bus, signOut, say: (text: string, bad = false) => setSaid({ text, bad }) };
  }, [data, client, bus]);

  if (error && !data) return <p className="alone" role="alert">{reason(error)} Trying again…</p>;
  if (!session) return <Loading what="your account" />;
  return (
    <Session.Provider value={session}>
      <Layout said={said} hush={() => setSaid({ text: '', bad: false })}>
        <View />
      </Layout>
    </Session.Provider>
  );
}

/** The view that the path names; it starts afresh when the path changes. */
function View() {
  const { path, segments } = usePlace();
  const Found = segments.length <= 2 ? views[segments.length === 2 ? `${segments[0]}/:id` : segments[0]] : undefined;
  if (!Found) return <Missing what="page" />;
  return (
    <ErrorBoundary key={path}>
      <Suspense fallback={<Loading what="the page" />}>
        <Found id={segments[1] ?? ''} />
      </Suspense>
    </ErrorBoundary>
  );
}

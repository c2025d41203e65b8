import { type Client, createClient } from 'graphql-ws';
import { useEffect, useMemo, useState } from 'react';
import { storedKey, storeKey } from './key';

/** Relative to the page, so that a reverse proxy may mount the server below a path. */
const endpoint = new URL('graphql', document.baseURI).href;

const whoami = '{ viewer { user { email } organization { name plan } permissions } }';

export type Status =
  | { is: 'none' }
  | { is: 'checking' }
  | { is: 'refused' }
  | { is: 'unclear'; why: string }
  | { is: 'in'; email: string; organization: string; plan: string; permissions: string[] };

/** Sends one operation and gives back the parsed answer, whatever its HTTP status. */
export type Run = (body: object) => Promise<any>;

export function useSession() {
  const [key, setKey] = useState(storedKey);
  const [attempt, setAttempt] = useState(0);
  const [status, setStatus] = useState<Status>({ is: 'none' });

  // A new attempt makes a new function, so the same key can be tried again.
  const run = useMemo<Run>(
    () => async (body) => {
      if (!key) return { errors: [{ message: 'Paste an API key at the top of the page first.' }] };
      const response = await post(key, body);
      // A key can also be revoked in the middle of the work.
      if (response.status === 401 && key === storedKey()) setStatus({ is: 'refused' });
      return response.json();
    },
    [key, attempt],
  );

  // Opened by the first subscription. A stream that ends is shown as ended: whoever wants to go on says after which event.
  const live = useMemo<Client>(
    () =>
      createClient({
        url: endpoint.replace(/^http/, 'ws'),
        connectionParams: { Authorization: `Bearer ${key}` },
        retryAttempts: 0,
      }),
    [key, attempt],
  );
  useEffect(() => () => void live.dispose(), [live]);

  useEffect(() => {
    setStatus({ is: key ? 'checking' : 'none' });
    if (!key) return;
    let stale = false;
    const settle = (next: Status) => stale || setStatus((now) => (now.is === 'refused' ? now : next));
    run({ query: whoami }).then(
      (answer) => settle(read(answer)),
      (error) => settle({ is: 'unclear', why: error.message }),
    );
    return () => void (stale = true);
  }, [run]);

  const use = (next: string) => {
    storeKey(next);
    setKey(next);
    setAttempt((n) => n + 1);
  };
  return { hasKey: key !== '', status, run, live, signIn: use, signOut: () => use('') };
}

function post(key: string, body: object) {
  return fetch(endpoint, {
    method: 'POST',
    headers: {
      Accept: 'application/graphql-response+json, application/json;q=0.9',
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify(body),
  });
}

function read(answer: any): Status {
  const viewer = answer?.data?.viewer;
  if (!viewer) return { is: 'unclear', why: answer?.errors?.[0]?.message ?? 'the server did not say' };
  return {
    is: 'in',
    email: viewer.user?.email ?? 'no user',
    organization: viewer.organization?.name ?? 'no organization',
    plan: String(viewer.organization?.plan ?? 'no plan').toLowerCase(),
    permissions: viewer.permissions ?? [],
  };
}

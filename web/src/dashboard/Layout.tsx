import { type FormEvent, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import icon from '../icon.svg';
import { home, Link, navigate, usePlace } from './router';
import { menu } from './routes';
import { useSession } from './session';
import { ThemeSwitch } from './ui/ThemeSwitch';
import { words } from './ui/words';

type Props = { children: ReactNode; said: { text: string; bad: boolean }; hush: () => void };

/** What is around every view: where to go, who is signed in, and what has just happened. */
export function Layout({ children, said, hush }: Props) {
  const { path, segments } = usePlace();
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);

  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <Link to="" className="brand">
          <img src={icon} alt="" width="24" height="24" />
          skillgraph
        </Link>
        <Find />
        <Account />
        <button type="button" className="menu-button" aria-expanded={open} aria-controls="menu" onClick={() => setOpen(!open)}>
          Menu
        </button>
      </header>
      <nav id="menu" className={open ? 'menu open' : 'menu'} aria-label="Views">
        {menu.map((item) => (
          <Link key={item.path} to={item.path} aria-current={segments[0] === item.path ? 'page' : undefined}>
            {item.label}
          </Link>
        ))}
        <a href={`${home}playground`}>Playground</a>
        <ThemeSwitch />
        <Account />
      </nav>
      <main id="main" tabIndex={-1}>
        <News />
        <Reach />
        {children}
      </main>
      <Said {...said} hush={hush} />
    </>
  );
}

/** Searches everything, from everywhere. */
function Find() {
  const { path, search } = usePlace();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    navigate(`search?${new URLSearchParams({ q: String(new FormData(event.currentTarget).get('q')) })}`);
  };
  const asked = path === 'search' ? (search.get('q') ?? '') : '';
  return (
    <form role="search" className="find" onSubmit={submit}>
      <input key={asked} type="search" name="q" required maxLength={200} defaultValue={asked} aria-label="Search everything" placeholder="Search" />
    </form>
  );
}

function Account() {
  const { user, organization, plan, role, bus, signOut } = useSession();
  const { live } = useSyncExternalStore(bus.onState, bus.state);
  return (
    <div className="account">
      <span className={live ? 'pulse on' : 'pulse'} title={live ? 'Changes appear as they happen' : 'Looks for changes every 30 seconds'}>
        {live ? 'Live' : 'Polling'}
      </span>
      <span className="who">
        <b>{organization.name}</b> <span className="badge">{words(plan)}</span>
        <small title={`Role: ${words(role)}`}>{user.email}</small>
      </span>
      <button type="button" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

/** Tells who cannot see it that what is on view has changed by itself. */
function News() {
  const { bus } = useSession();
  const [news, setNews] = useState('');
  useEffect(() => bus.onChange((kind) => kind !== '*' && setNews(`Up to date after ${kind.replace(/[._]/g, ' ')}.`)), [bus]);
  return (
    <p className="hidden" role="status">
      {news}
    </p>
  );
}

/** Says that the server is gone; what is on view stays, and comes up to date when it is back. */
function Reach() {
  const { bus } = useSession();
  const { reached } = useSyncExternalStore(bus.onState, bus.state);
  return (
    <div role="status">
      {!reached && <p className="note warn">The server does not answer. What you see is from before; trying again…</p>}
    </div>
  );
}

function Said({ text, bad, hush }: { text: string; bad: boolean; hush: () => void }) {
  useEffect(() => {
    if (!text || bad) return;
    const timer = setTimeout(hush, 6000);
    return () => clearTimeout(timer);
  }, [text, bad]);
  return (
    <div className="said" role={bad ? 'alert' : 'status'}>
      {text && (
        <p className={bad ? 'bad' : ''}>
          {text}{' '}
          <button type="button" onClick={hush}>
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
}

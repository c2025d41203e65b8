import type { FormEvent } from 'react';
import icon from '../icon.svg';
import { home } from './router';

/** The key stays in this tab: a reload keeps it, closing the tab forgets it. */
export function SignIn({ why, use }: { why: string; use: (key: string) => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    use(String(new FormData(event.currentTarget).get('key')).trim());
  };
  return (
    <main className="sign-in">
      <h1>
        <img src={icon} alt="" width="36" height="36" />
        skillgraph
      </h1>
      <p className="muted">What your agent skills do, how well, and what to mend next.</p>
      {why && (
        <p role="alert" className="note bad">
          {why}
        </p>
      )}
      <form onSubmit={submit} className="card stack">
        <label htmlFor="key">API key</label>
        {/* Not a password field: browsers offer to save those. The style sheet hides the letters. */}
        <input id="key" name="key" required autoFocus placeholder="sg_live_…" autoComplete="off" spellCheck={false} />
        <button className="primary">Sign in</button>
        <p className="small muted">
          The key stays in this browser tab and is forgotten when you close it. <code>skillgraph demo</code> prints one
          to try.
        </p>
      </form>
      <p className="small">
        <a href={`${home}playground`}>Playground</a> · <a href={`${home}schema.graphql`}>Schema</a> ·{' '}
        <a href={`${home}healthz`}>Health</a>
      </p>
    </main>
  );
}

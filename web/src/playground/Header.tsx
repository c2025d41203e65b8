import type { FormEvent } from 'react';
import icon from '../icon.svg';
import type { Status, useSession } from '../session';

export function Header({ session }: { session: ReturnType<typeof useSession> }) {
  const { status, signIn, signOut } = session;

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get('key');
    signIn(String(key).trim());
  };

  return (
    <header>
      <h1>
        <a href="./">
          <img src={icon} alt="" width="24" height="24" />
          skillgraph
        </a>
      </h1>
      <nav aria-label="Schema">
        <a href="schema.graphql">Schema</a>
      </nav>
      <p role="status" className={`key-status ${status.is}`}>
        {say(status)}
      </p>
      {status.is === 'in' ? (
        <button type="button" onClick={signOut}>
          Forget key
        </button>
      ) : (
        <form onSubmit={submit}>
          <label htmlFor="key">API key</label>
          {/* Not a password field: browsers offer to save those. The style sheet hides the letters. */}
          <input id="key" name="key" required placeholder="sg_live_…" autoComplete="off" spellCheck={false} />
          <button>Use key</button>
        </form>
      )}
    </header>
  );
}

function say(status: Status) {
  switch (status.is) {
    case 'none':
      return 'No key';
    case 'checking':
      return 'Checking the key…';
    case 'refused':
      return 'Key refused (401)';
    case 'unclear':
      return `Cannot tell whose key this is: ${status.why}`;
    case 'in':
      return (
        <>
          Signed in as <b>{status.email}</b>, {status.organization}, {status.plan}
        </>
      );
  }
}

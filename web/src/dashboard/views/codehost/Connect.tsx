import type { FormEvent } from 'react';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { useAct } from '../../useAct';
import { type CodeHostQuery, ConnectDocument } from './codehost.gen';

type Props = { entries: CodeHostQuery['entries']['nodes']; installations: CodeHostQuery['repoInstallations']['nodes']; first: boolean };

/** Connects a repository with an entry that has none. */
export function Connect({ entries, installations, first }: Props) {
  const { act, busy } = useAct();
  const free = entries.filter((e) => !e.repoLink);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const f = new FormData(event.currentTarget);
    const input = {
      entryId: String(f.get('entry')),
      installationId: Number(f.get('installation')),
      repoFullName: String(f.get('repo')).trim(),
      skillPath: String(f.get('path')).trim() || undefined,
    };
    act(ConnectDocument, { input }, `Connected ${input.repoFullName}.`);
  };
  return (
    <Section title="Connect a repository">
      {first && <p className="muted">No repository publishes yet.</p>}
      {free.length === 0 || installations.length === 0 ? (
        <Empty>{installations.length === 0 ? 'Bind an account of the code host first.' : 'Every entry is connected.'}</Empty>
      ) : (
        <form className="filters" onSubmit={submit}>
          <label>
            Entry
            <select name="entry">
              {free.map((e) => (
                <option key={e.id} value={e.id}>
                  {e.name}
                </option>
              ))}
            </select>
          </label>
          <label>
            Account
            <select name="installation">
              {installations.map((i) => (
                <option key={i.id} value={i.installationId}>
                  {i.accountLogin}
                </option>
              ))}
            </select>
          </label>
          <label>
            Repository
            <input name="repo" required placeholder={`${installations[0].accountLogin}/name`} pattern="[^\/]+\/[^\/]+" />
          </label>
          <label>
            Path of the skill
            <input name="path" placeholder="/" />
          </label>
          <button className="primary" disabled={busy}>
            Connect
          </button>
        </form>
      )}
    </Section>
  );
}

import { Link, useSearch } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { Code, Diff } from '../../ui/Code';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { bytes, count, words } from '../../ui/words';
import { Actions } from './Actions';
import type { ShownFragment } from './entry.gen';
import type { EntryData } from './Versions';

type Props = { entry: EntryData; version: ShownFragment };

/** One version: what it is, its files, and what changed since another one. */
export function Version({ entry, version: v }: Props) {
  const { get, link, set } = useSearch();
  const others = entry.versions.nodes.filter((o) => o.id !== v.id);
  return (
    <Section title={`Version ${v.version}`} aside={entry.isOwn && <Actions entry={entry} version={v} />}>
      {v.revokedAt && (
        <p className="note bad">
          Revoked <Time at={v.revokedAt} />
          {v.revokeReason && `: ${v.revokeReason}`}
        </p>
      )}
      <p>{v.changeSummary}</p>
      <dl className="facts small">
        <dt>Pushed</dt>
        <dd>
          <Time at={v.pushedAt} /> {v.pushedBy && `by ${v.pushedBy.email}`}, {words(v.source)} {v.sourceRepo} {v.sourceRef && <code>{v.sourceRef}</code>}
        </dd>
        <dt>Content</dt>
        <dd>
          {count(v.fileCount, 'file')}, {bytes(v.size)} packed, <code>{v.contentHash}</code>
        </dd>
      </dl>
      {v.warnings.map((warning) => (
        <p key={warning} className="note warn">
          {warning}
        </p>
      ))}
      <div className="files">
        <nav aria-label="Files">
          <h3>Files</h3>
          <ul className="plain small">
            {v.files.map((f) => (
              <li key={f.path}>
                <Link to={link({ file: f.path })} aria-current={get('file') === f.path ? 'true' : undefined}>
                  {f.path}
                </Link>{' '}
                <span className="muted">{bytes(f.size)}</span>
              </li>
            ))}
          </ul>
        </nav>
        <div>
          {v.file ? (
            <>
              <h3 className="row">
                {v.file.path} <Link to={link({ file: null })}>Back to the changes</Link>
              </h3>
              {v.file.text != null ? <Code label={v.file.path} text={v.file.text} /> : <Empty>Not text.</Empty>}
            </>
          ) : (
            <>
              <label className="row">
                Changes since
                <select value={get('from')} onChange={(event) => set({ from: event.target.value })}>
                  <option value="">the version before</option>
                  {others.map((o) => (
                    <option key={o.id} value={o.id}>
                      {o.version}
                    </option>
                  ))}
                </select>
              </label>
              {v.diff && <Changes diff={v.diff} />}
            </>
          )}
        </div>
      </div>
    </Section>
  );
}

function Changes({ diff }: { diff: NonNullable<ShownFragment['diff']> }) {
  return (
    <>
      <p className="small muted">
        {diff.added} added, {diff.changed} changed, {diff.removed} removed
      </p>
      {diff.files.map((f) => (
        <div key={f.path}>
          <p>
            <Badge value={f.status} /> <code>{f.path}</code>
          </p>
          {f.unifiedDiff && <Diff label={`Changes of ${f.path}`} text={f.unifiedDiff} />}
        </div>
      ))}
    </>
  );
}

import { Badge, Time } from '../../ui/Bits';
import { Code } from '../../ui/Code';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { bytes, count } from '../../ui/words';
import type { SourceData } from './Queue';

type Snapshot = SourceData['snapshots']['nodes'][number];
type Issue = Snapshot['report']['issues'][number];

/** What was uploaded or read, newest first, with what is wrong with it. */
export function Snapshots({ snapshots }: { snapshots: SourceData['snapshots'] }) {
  return (
    <Section title="Snapshots and validation" aside={snapshots.totalCount > 5 && `the newest 5 of ${snapshots.totalCount}`}>
      {snapshots.nodes.length === 0 && <Empty>No files yet.</Empty>}
      <ol className="plain">
        {snapshots.nodes.map((s, i) => (
          <li key={s.id}>
            <p className="row">
              <b>Snapshot {s.number}</b>
              <Badge value={s.report.status} />
              <span className="muted">
                {count(s.fileCount, 'file')}, {bytes(s.totalBytes)}, <Time at={s.createdAt} />
                {s.createdBy && ` by ${s.createdBy.email}`}
              </span>
              {s.sourceRef && <code>{s.sourceRef.slice(0, 12)}</code>}
              {i === 0 && <Badge value="CURRENT" />}
            </p>
            {s.report.issues.map((issue) => (
              <Problem key={issue.code + issue.path + issue.line} issue={issue} file={s.file} />
            ))}
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** An issue with the line that it is about, and those around it. */
function Problem({ issue, file }: { issue: Issue; file: Snapshot['file'] }) {
  const text = issue.line && file?.path === issue.path ? file?.text : null;
  return (
    <div>
      <p>
        <Badge value={issue.level} /> {issue.message}{' '}
        <span className="muted small">
          {issue.path}
          {issue.line && `, line ${issue.line}`}
        </span>
      </p>
      {text && <Code label={`${issue.path}, around line ${issue.line}`} text={text} mark={issue.line!} around={2} />}
    </div>
  );
}

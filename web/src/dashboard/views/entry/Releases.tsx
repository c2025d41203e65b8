import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import type { EntryData } from './Versions';

/** Every change of the current version. */
export function Releases({ entry }: { entry: EntryData }) {
  return (
    <Section title="Releases">
      {entry.releases.nodes.length === 0 && <Empty>Nothing has been released.</Empty>}
      <ol className="plain">
        {entry.releases.nodes.map((r) => (
          <li key={r.id}>
            <Badge value={r.kind} /> {r.from?.version ?? 'nothing'} → <b>{r.to?.version ?? 'nothing'}</b>{' '}
            <span className="muted">
              <Time at={r.createdAt} />
              {r.createdBy && ` by ${r.createdBy.email}`}
            </span>
            {r.reason && <div className="small muted">{r.reason}</div>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

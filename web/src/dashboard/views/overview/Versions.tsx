import { Link } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import type { OverviewQuery } from './overview.gen';

type Event = OverviewQuery['events']['nodes'][number];

/** What was published last. The object of an event is gone when its entry was deleted. */
export function Versions({ events }: { events: Event[] }) {
  const published = events.flatMap(({ id, createdAt, actor, object }) =>
    object?.__typename === 'RegistryVersion' ? [{ id, createdAt, actor, version: object }] : [],
  );
  return (
    <Section title="Newest versions">
      {published.length === 0 && <Empty>Nothing is published yet.</Empty>}
      <ul className="plain">
        {published.map(({ id, createdAt, actor, version }) => (
          <li key={id}>
            <Link to={`registry/${version.entry.id}?version=${version.version}`}>
              {version.entry.name} {version.version}
            </Link>{' '}
            {version.revokedAt ? <Badge value="REVOKED" /> : version.isCurrent && <Badge value="CURRENT" />}{' '}
            <span className="muted">
              <Time at={createdAt} />
              {actor && ` by ${actor.email}`}
            </span>
            {version.changeSummary && <div className="small muted">{version.changeSummary}</div>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

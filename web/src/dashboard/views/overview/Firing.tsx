import { Link } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { count, percent } from '../../ui/words';
import type { OverviewQuery } from './overview.gen';

type Alert = OverviewQuery['alerts']['nodes'][number];

/** Open incidents, one line each. */
export function Firing({ alerts }: { alerts: Alert[] }) {
  const open = alerts.flatMap((alert) =>
    alert.state === 'FIRING' ? alert.incidents.nodes.filter((i) => !i.resolvedAt).map((incident) => ({ alert, incident })) : [],
  );
  return (
    <Section title="Firing alerts" aside={count(alerts.length, 'alert')}>
      {open.length === 0 && <Empty>Nothing fires. {alerts.length === 0 && 'Open a skill to make an alert.'}</Empty>}
      <ul className="plain">
        {open.map(({ alert, incident }) => (
          <li key={incident.id}>
            <Badge value={alert.mutedUntil ? 'MUTED' : 'FIRING'} /> <Link to={`skills/${incident.skill.id}`}>{incident.skill.name}</Link>{' '}
            {alert.type === 'NO_DATA'
              ? `no data for ${Math.floor(incident.value)} days`
              : `pass rate ${percent(incident.value)}, below ${percent(alert.threshold)}`}
            , <span className="muted">opened <Time at={incident.openedAt} /></span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

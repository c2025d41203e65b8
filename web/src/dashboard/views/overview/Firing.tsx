import { Link } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { count, percent } from '../../ui/words';
import type { OverviewQuery } from './overview.gen';

/** Open incidents, newest first, one line each. */
export function Firing({ incidents, total }: { incidents: OverviewQuery['incidents']['nodes']; total: number }) {
  return (
    <Section title="Firing alerts" aside={total > 0 && count(total, 'open incident')}>
      {total === 0 && <Empty>Nothing fires. Open a skill to make an alert.</Empty>}
      <ul className="plain">
        {incidents.map(({ alert, ...incident }) => (
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

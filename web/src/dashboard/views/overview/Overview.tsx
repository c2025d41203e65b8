import { Link } from '../../router';
import { Page } from '../../ui/Page';
import { count, daysAgo } from '../../ui/words';
import { useView } from '../../useView';
import { Firing } from './Firing';
import { OverviewDocument, type OverviewQuery } from './overview.gen';
import { SkillTable } from './SkillTable';
import { Versions } from './Versions';
import { Waiting } from './Waiting';

const days = 30;
const kinds = ['skill.', 'alert.', 'incident.', 'version.', 'entry.', 'suggestion.', 'telemetry.', 'source.', 'proposal.'];

const tiles = [
  { status: 'CRITICAL', tone: 'bad', label: 'critical' },
  { status: 'WARNING', tone: 'warn', label: 'to watch' },
  { status: 'HEALTHY', tone: 'good', label: 'healthy' },
  { status: 'UNKNOWN', tone: '', label: 'too little graded' },
] as const;

const counts = (data: OverviewQuery) => data.organization.counts;

export default function Overview() {
  const view = useView(OverviewDocument, { since: daysAgo(days) }, kinds);
  return (
    <Page title="Overview" view={view} find={(data) => data}>
      {(data) => (
        <>
          <div className="tiles">
            {tiles.map(({ status, ...look }) => (
              <Tile key={status} status={status} {...look} n={counts(data).skillsByStatus.find((s) => s.status === status)?.count ?? 0} />
            ))}
          </div>
          <div className="columns">
            <Firing incidents={data.incidents.nodes} total={counts(data).openIncidents} />
            <Waiting sources={data.sources.nodes} total={counts(data).pendingSuggestions} proposals={counts(data).pendingProposals} />
            <Versions events={data.events.nodes} />
          </div>
          <SkillTable skills={data.skills.nodes} total={data.skills.totalCount} days={days} />
        </>
      )}
    </Page>
  );
}

function Tile({ n, status, tone, label }: { n: number; status: string; tone: string; label: string }) {
  return (
    <Link to={`skills?status=${status}`} className={`tile ${n ? tone : ''}`}>
      <b>{n.toLocaleString('en')}</b>
      <span>
        <span className="hidden">{count(n, 'skill')} </span>
        {label}
      </span>
    </Link>
  );
}

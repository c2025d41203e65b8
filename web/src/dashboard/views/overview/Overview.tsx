import { Link } from '../../router';
import { Page } from '../../ui/Page';
import { count, daysAgo } from '../../ui/words';
import { useView } from '../../useView';
import { Firing } from './Firing';
import { OverviewDocument } from './overview.gen';
import { SkillTable } from './SkillTable';
import { Versions } from './Versions';
import { Waiting } from './Waiting';

const days = 30;
const kinds = ['skill.', 'alert.', 'incident.', 'version.', 'entry.', 'suggestion.', 'telemetry.', 'source.'];

export default function Overview() {
  const view = useView(OverviewDocument, { since: daysAgo(days) }, kinds);
  return (
    <Page title="Overview" view={view} find={(data) => data}>
      {(data) => (
        <>
          <div className="tiles">
            <Tile n={data.critical.totalCount} status="CRITICAL" tone="bad" label="critical" />
            <Tile n={data.warning.totalCount} status="WARNING" tone="warn" label="to watch" />
            <Tile n={data.healthy.totalCount} status="HEALTHY" tone="good" label="healthy" />
            <Tile n={data.unknown.totalCount} status="UNKNOWN" label="too little graded" />
          </div>
          <div className="columns">
            <Firing alerts={data.alerts.nodes} />
            <Waiting sources={data.sources.nodes} />
            <Versions events={data.events.nodes} />
          </div>
          <SkillTable skills={data.skills.nodes} total={data.skills.totalCount} days={days} />
        </>
      )}
    </Page>
  );
}

function Tile({ n, status, tone = '', label }: { n: number; status: string; tone?: string; label: string }) {
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

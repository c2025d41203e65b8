import { Link } from '../../router';
import type { ViewProps } from '../../routes';
import { Badge, Rate, type RateValue, Time } from '../../ui/Bits';
import { Page } from '../../ui/Page';
import { daysAgo } from '../../ui/words';
import { useView } from '../../useView';
import { Alerts } from './Alerts';
import { Breakdown } from './Breakdown';
import { Confusion } from './Confusion';
import { Evidence } from './Evidence';
import { History } from './History';
import { SkillDocument } from './skill.gen';

const days = 90;
const kinds = ['skill.', 'alert.', 'incident.', 'version.', 'entry.', 'telemetry.', 'suggestion.'];

export default function Skill({ id }: ViewProps) {
  const view = useView(SkillDocument, { id, since: daysAgo(days) }, kinds);
  return (
    <Page
      view={view}
      find={({ skill, everywhere, alertDryRun }) => skill && { skill, alertDryRun, alerts: [...skill.alerts.nodes, ...everywhere.nodes.filter((a) => !a.skillId)] }}
      title={({ skill }) => skill.name}
      up={{ to: 'skills', label: 'Skills' }}
    >
      {({ skill, alerts, alertDryRun }) => (
        <>
          <p className="row lead">
            <Badge value={skill.status} />
            <span>
              seen in {skill.uniqueSessions.toLocaleString('en')} sessions, of which {skill.gradedSessions.toLocaleString('en')} were
              graded; last <Time at={skill.lastSeenAt} />
            </span>
            {skill.registryEntry && <Link to={`registry/${skill.registryEntry.id}`}>Registry</Link>}
            {skill.sources.nodes.map((source) => (
              <Link key={source.id} to={`sources/${source.id}`}>
                Source: {source.label}
              </Link>
            ))}
          </p>
          <div className="tiles">
            <Figure label="pass rate, last 20 graded" rate={skill.rates.passRate} />
            <Figure label="trigger rate, 30 days" rate={skill.rates.triggerRate} />
            <Figure label="mean confidence, 30 days" rate={skill.rates.avgConfidence} />
            <Figure label="triggers with a confidence" rate={skill.rates.confidenceCoverage} />
          </div>
          <History days={skill.dailyStats} releases={skill.registryEntry?.releases.nodes ?? []} span={days} />
          <Alerts skill={skill} alerts={alerts} days={alertDryRun} span={days} />
          <Breakdown skill={skill} />
          <div className="columns">
            <Confusion skill={skill} />
            <Evidence suggestions={skill.suggestions} />
          </div>
        </>
      )}
    </Page>
  );
}

function Figure({ label, rate }: { label: string; rate?: RateValue | null }) {
  return (
    <div className="tile">
      <Rate rate={rate} />
      <span className="small">{label}</span>
    </div>
  );
}

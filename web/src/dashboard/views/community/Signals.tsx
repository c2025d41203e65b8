import type { ReactNode } from 'react';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Table } from '../../ui/Table';
import { percent } from '../../ui/words';
import type { CommunityQuery } from './community.gen';

type Overview = CommunityQuery['signalOverview'];
type Row = Overview['skills'][number];

/** What too few people sent is not shown, and says so. */
const or = (row: Row, value: ReactNode) => (row.state === 'AVAILABLE' ? value : <span className="muted">not shown</span>);

export function Signals({ overview }: { overview: Overview }) {
  const figure = (n?: number | null) => (n == null ? '–' : n.toLocaleString('en'));
  return (
    <Section
      title="Signals"
      aside={`${figure(overview.totalSignals)} signals from at least ${figure(overview.totalCohorts)} cohorts; ${figure(overview.actionableSkills)} of ${figure(overview.totalSkills)} skills miss too often`}
    >
      <p className="small muted">
        A figure is shown when it stands for at least 10 signals from at least 3 cohorts, so that nobody can be told apart.
      </p>
      <Table
        label="Signals by skill"
        rows={overview.skills}
        id={(s) => s.skillName}
        empty="No signals yet."
        columns={[
          { head: 'Skill', cell: (s) => s.skillName },
          { head: 'State', cell: (s) => <Badge value={s.state} /> },
          { head: 'Missed', cell: (s) => or(s, <Rate rate={s.missedShare} />) },
          { head: 'Triggered', wide: true, number: true, cell: (s) => or(s, s.triggerRate == null ? '–' : percent(s.triggerRate)) },
          { head: 'Signals', wide: true, number: true, cell: (s) => or(s, figure(s.totalSignals)) },
          { head: 'Last seen', wide: true, cell: (s) => or(s, <Time at={s.lastSeenAt} />) },
        ]}
      />
      {overview.truncated && <p className="small muted">There are more skills than shown.</p>}
    </Section>
  );
}

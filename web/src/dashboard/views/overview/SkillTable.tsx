import { Link } from '../../router';
import { Badge, Rate, Sparkline, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Table } from '../../ui/Table';
import type { OverviewQuery } from './overview.gen';

type Skill = OverviewQuery['skills']['nodes'][number];

export function SkillTable({ skills, total, days }: { skills: Skill[]; total: number; days: number }) {
  return (
    <Section title="Skills, last seen first" aside={<Link to="skills">All {total}</Link>}>
      <Table
        label="Skills"
        rows={skills}
        id={(s) => s.id}
        empty="No telemetry has come in yet: point your agents at this server."
        columns={[
          { head: 'Skill', cell: (s) => <Link to={`skills/${s.id}`}>{s.name}</Link> },
          { head: 'Health', cell: (s) => <Badge value={s.status} /> },
          { head: 'Pass rate', cell: (s) => <Rate rate={s.rates.passRate} /> },
          { head: `Pass, ${days} days`, wide: true, cell: (s) => <Sparkline label="Pass rate" values={s.dailyStats.map((d) => d.passRate)} /> },
          { head: 'Trigger rate', wide: true, cell: (s) => <Rate rate={s.rates.triggerRate} /> },
          { head: `Trigger, ${days} days`, wide: true, cell: (s) => <Sparkline label="Trigger rate" values={s.dailyStats.map((d) => d.triggerRate)} /> },
          { head: 'Last seen', wide: true, cell: (s) => <Time at={s.lastSeenAt} /> },
        ]}
      />
    </Section>
  );
}

import { Link, useSearch } from '../../router';
import { Rate } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Table } from '../../ui/Table';
import type { SkillQuery } from './skill.gen';

type Skill = NonNullable<SkillQuery['skill']>;

/** The rates by version, platform or model; which one is in the address. */
export function Breakdown({ skill }: { skill: Skill }) {
  const { get, link } = useSearch();
  const by = (['platforms', 'models'] as const).find((name) => name === get('by')) ?? 'versions';
  const hashes = new Map(skill.registryEntry?.versions.nodes.map((v) => [v.contentHash, v.version]));
  const name = (value?: string | null) => {
    if (!value) return <span className="muted">not said</span>;
    if (by !== 'versions') return value;
    return hashes.get(value) ?? <code title={value}>{value.replace(/^sha256:/, '').slice(0, 12)}</code>;
  };
  return (
    <Section title="Breakdown">
      <nav className="tabs" aria-label="Break down by">
        {(['versions', 'platforms', 'models'] as const).map((tab) => (
          <Link key={tab} to={link({ by: tab === 'versions' ? null : tab })} aria-current={tab === by ? 'true' : undefined}>
            By {tab.slice(0, -1)}
          </Link>
        ))}
      </nav>
      <Table
        label={`Rates by ${by.slice(0, -1)}`}
        rows={skill[by]}
        id={(row) => row.value ?? ''}
        empty="No session yet."
        columns={[
          { head: by[0].toUpperCase() + by.slice(1, -1), cell: (row) => name(row.value) },
          { head: 'Sessions', number: true, cell: (row) => row.sessions.toLocaleString('en') },
          { head: 'Pass rate', cell: (row) => <Rate rate={row.passRate} /> },
          { head: 'Trigger rate', wide: true, cell: (row) => <Rate rate={row.triggerRate} /> },
          { head: 'Confidence', wide: true, cell: (row) => <Rate rate={row.avgConfidence} /> },
        ]}
      />
    </Section>
  );
}

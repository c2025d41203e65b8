import { Rate, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Table } from '../../ui/Table';
import { count } from '../../ui/words';
import type { CommunityQuery } from './community.gen';

/** What contributors sent. They are known by a hash only. */
export function Bundles({ overview: o }: { overview: CommunityQuery['communityOverview'] }) {
  return (
    <>
      <Section title="Contributed skills" aside={`${count(o.totalSubmissions, 'bundle')} from ${count(o.totalContributors, 'contributor')}`}>
        <Table
          label="Contributed skills"
          rows={o.skills}
          id={(s) => s.skillName}
          empty="Nobody has contributed yet."
          columns={[
            { head: 'Skill', cell: (s) => s.skillName },
            { head: 'Contributors', number: true, cell: (s) => s.contributorCount },
            { head: 'Pass rate', cell: (s) => <Rate rate={s.passRate} /> },
            { head: 'Graded', wide: true, number: true, cell: (s) => `${s.gradedSessions} of ${s.totalSessions}` },
            { head: 'Queries', wide: true, number: true, cell: (s) => s.positiveQueryCount },
            { head: 'Evals', wide: true, number: true, cell: (s) => s.evalEntryCount },
            { head: 'Last', wide: true, cell: (s) => <Time at={s.latestSubmissionAt} /> },
          ]}
        />
        {o.truncated && <p className="small muted">There are more skills than shown.</p>}
      </Section>
      <Section title="Newest contributions">
        <Table
          label="Newest contributions"
          rows={o.recentSubmissions}
          id={(b) => b.id}
          empty="None."
          columns={[
            { head: 'Contributor', cell: (b) => <code title={b.contributorHash}>{b.contributorHash.slice(0, 10)}</code> },
            { head: 'Skill', cell: (b) => b.skillName },
            { head: 'Pass rate', wide: true, cell: (b) => <Rate rate={b.passRate} /> },
            { head: 'Agent', wide: true, cell: (b) => b.agentType },
            { head: 'Holds', wide: true, cell: (b) => `${count(b.positiveQueryCount, 'query', 'queries')}, ${count(b.evalEntryCount, 'eval')}` },
            { head: 'When', cell: (b) => <Time at={b.submittedAt} /> },
          ]}
        />
      </Section>
    </>
  );
}

import { Link, useSearch } from '../../router';
import { Time } from '../../ui/Bits';
import { Diff } from '../../ui/Code';
import { Section } from '../../ui/Page';
import { Table } from '../../ui/Table';
import { words } from '../../ui/words';
import { changes } from './changes';
import type { SuiteQuery } from './suite.gen';

type Suite = NonNullable<SuiteQuery['suite']>;
type Shown = NonNullable<SuiteQuery['nodes']>[number];

/** Every change, and one of them in full. */
export function Revisions({ suite, shown }: { suite: Suite; shown: Shown[] }) {
  const { link, get } = useSearch();
  const list = suite.revisions.nodes;
  const pair = shown.flatMap((r) => (r?.__typename === 'SuiteRevision' ? [r] : [])).sort((a, b) => a.number - b.number);
  return (
    <Section title="Revisions" aside={suite.revisions.totalCount > list.length && `the newest ${list.length} of ${suite.revisions.totalCount}`}>
      <Table
        label="Revisions"
        rows={list.map((r, i) => ({ ...r, before: list[i + 1] }))}
        id={(r) => r.id}
        empty="None."
        columns={[
          { head: 'Revision', cell: (r) => r.number },
          { head: 'Changed', cell: (r) => r.before ? r.changed.map((field) => words(field).replace(' JSON', '')).join(', ') : 'created' },
          { head: 'Cases', wide: true, number: true, cell: (r) => r.caseCount },
          { head: 'By', wide: true, cell: (r) => r.createdBy?.email },
          { head: 'When', cell: (r) => <Time at={r.createdAt} /> },
          { head: 'Difference', cell: (r) => r.before && <Link to={link({ from: r.before.id, to: r.id })} aria-current={get('to') === r.id ? 'true' : undefined}>from {r.before.number}</Link> },
        ]}
      />
      {pair.length === 2 && (
        <div className="stack" aria-live="polite">
          <h3>
            From revision {pair[0].number} to {pair[1].number}
          </h3>
          {changes(pair[0], pair[1]).map((change) => (
            <div key={change.title}>
              <p>{change.title}</p>
              <Diff label={change.title} text={change.diff} />
            </div>
          ))}
          <p>
            <Link to={link({ from: null, to: null })}>Close</Link>
          </p>
        </div>
      )}
    </Section>
  );
}

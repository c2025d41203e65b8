import type { FormEvent } from 'react';
import { Link, navigate } from '../../router';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Pager, Table } from '../../ui/Table';
import { words } from '../../ui/words';
import type { SuiteQuery } from './suite.gen';

type Suite = NonNullable<SuiteQuery['suite']>;
type Run = Suite['runs']['nodes'][number];

export function Runs({ suite }: { suite: Suite }) {
  const runs = suite.runs.nodes;
  return (
    <Section title="Runs" aside={runs.length > 1 && <Pick runs={runs} />}>
      <Table
        label="Runs"
        rows={runs}
        id={(r) => r.id}
        empty="Never run: a runner records its results with recordRun."
        columns={[
          { head: 'Run', cell: (r) => r.runKey },
          { head: 'Status', cell: (r) => <span title={r.invalidReason ?? undefined}><Badge value={r.status} /></span> },
          { head: 'Passed', cell: (r) => <Rate rate={r.passRate} /> },
          { head: 'Failed', wide: true, number: true, cell: (r) => r.failed },
          { head: 'Errors', wide: true, number: true, cell: (r) => r.errored },
          { head: 'Variant', wide: true, cell: (r) => words(r.variant) },
          { head: 'Revision', wide: true, number: true, cell: (r) => r.revision },
          { head: 'When', wide: true, cell: (r) => <Time at={r.createdAt} /> },
          { head: 'Compare', cell: (r) => r.previous && <Link to={`compare?base=${r.previous.id}&head=${r.id}`}>with {r.previous.runKey}</Link> },
        ]}
      />
      <Pager info={suite.runs.pageInfo} />
    </Section>
  );
}

/** Any two runs can be compared. */
function Pick({ runs }: { runs: Run[] }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const chosen = new FormData(event.currentTarget);
    navigate(`compare?base=${chosen.get('base')}&head=${chosen.get('head')}`);
  };
  const options = runs.map((r) => (
    <option key={r.id} value={r.id}>
      {r.runKey} ({words(r.variant)})
    </option>
  ));
  return (
    <form className="row" onSubmit={submit}>
      <select name="base" aria-label="Run to measure by" defaultValue={runs[1].id}>
        {options}
      </select>
      →
      <select name="head" aria-label="Run to measure" defaultValue={runs[0].id}>
        {options}
      </select>
      <button>Compare</button>
    </form>
  );
}

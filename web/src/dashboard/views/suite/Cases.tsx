import { Section } from '../../ui/Page';
import { Table } from '../../ui/Table';
import { count, words } from '../../ui/words';
import type { SuiteQuery } from './suite.gen';

type Case = NonNullable<SuiteQuery['suite']>['cases'][number];

/** What a case asks. */
export function asks(c: Case) {
  switch (c.__typename) {
    case 'TriggerQueryCase':
      return c.query;
    case 'LlmRubricCase':
      return c.prompt;
    case 'TaskPackageCase':
      return c.instruction ?? c.environmentRef;
    default:
      return c.input;
  }
}

/** What a right answer is. */
function expects(c: Case) {
  switch (c.__typename) {
    case 'TriggerQueryCase':
      return words(c.expectation);
    case 'LlmRubricCase':
      return c.rubric.join('; ');
    case 'ExactMatchCase':
      return c.expected;
    case 'JsonSchemaCase':
      return <code>{JSON.stringify(c.schema).slice(0, 120)}</code>;
    case 'BooleanAssertionCase':
      return `${c.shouldHold ? '' : 'not: '}${words(c.assertion.type)} “${c.assertion.value}”`;
    case 'TaskPackageCase':
      return c.verifierRef;
  }
}

export function Cases({ cases }: { cases: Case[] }) {
  return (
    <Section title="Cases" aside={count(cases.length, 'case')}>
      <Table
        label="Cases"
        rows={cases}
        id={(c) => c.id}
        empty="No case."
        columns={[
          { head: 'Asks', cell: (c) => asks(c) },
          { head: 'Expects', cell: (c) => expects(c) },
          { head: 'Kind', wide: true, cell: (c) => words(c.caseKind) },
          { head: 'Case', wide: true, cell: (c) => <code>{c.name ?? c.id}</code> },
        ]}
      />
    </Section>
  );
}

import { Link, useSearch } from '../../router';
import type { SuiteOrder, VerifierKind } from '../../schema.gen';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Choice, Filters, oneOf, SearchBox } from '../../ui/Filters';
import { Page } from '../../ui/Page';
import { Pager, perPage, Table } from '../../ui/Table';
import { words } from '../../ui/words';
import { useView } from '../../useView';
import { SuitesDocument } from './suites.gen';

const verifiers: VerifierKind[] = ['LLM_JUDGE', 'DETERMINISTIC', 'STRUCTURED_RUBRIC'];
const orders: SuiteOrder[] = ['CREATED_AT', 'UPDATED_AT', 'NAME'];

export default function Suites() {
  const { get, page } = useSearch();
  const filter = {
    nameContains: get('q') || undefined,
    verifierKind: oneOf(get('verifier'), verifiers),
    archived: get('archived') === 'yes',
  };
  const view = useView(SuitesDocument, { page, perPage, filter, orderBy: oneOf(get('sort'), orders) ?? 'CREATED_AT' }, ['suite.', 'run.']);
  return (
    <Page view={view} find={(data) => data.suites} title="Suites" lead="What skills should do, as cases, with every change kept.">
      {({ nodes, pageInfo }) => (
        <>
          <Filters>
            <SearchBox label="Name contains" />
            <Choice label="Verifier" name="verifier" options={[{ value: '', label: 'any' }, ...verifiers]} />
            <Choice label="Show" name="archived" options={[{ value: '', label: 'in use' }, { value: 'yes', label: 'archived' }]} />
            <Choice label="Sort by" name="sort" options={[{ value: '', label: 'created' }, { value: 'UPDATED_AT', label: 'changed' }, 'NAME']} />
          </Filters>
          <section className="card" aria-label="Suites">
            <Table
              label="Suites"
              rows={nodes}
              id={(s) => s.id}
              empty={get('q') || get('verifier') || get('archived') ? 'No suite matches.' : 'No suite yet: the playground has an example that makes one.'}
              columns={[
                { head: 'Suite', cell: (s) => <Link to={`suites/${s.id}`}>{s.name}</Link> },
                { head: 'Cases', number: true, cell: (s) => s.caseCount },
                { head: 'Last run', cell: (s) => s.runs.nodes[0] ? <Rate rate={s.runs.nodes[0].passRate} /> : <span className="muted">never run</span> },
                { head: 'Kind', wide: true, cell: (s) => words(s.suiteKind) },
                { head: 'Verifier', wide: true, cell: (s) => words(s.verifierKind) },
                { head: 'Source', wide: true, cell: (s) => s.source ? <Link to={`sources/${s.source.id}`}>{s.source.label}</Link> : words(s.sourceKind) },
                { head: 'Runnable', wide: true, cell: (s) => s.archivedAt ? <Badge value="ARCHIVED" /> : s.runnable ? 'yes' : <span className="muted">no</span> },
                { head: 'Revision', wide: true, number: true, cell: (s) => s.revision },
                { head: 'Changed', wide: true, cell: (s) => <Time at={s.updatedAt} /> },
              ]}
            />
            <Pager info={pageInfo} />
          </section>
        </>
      )}
    </Page>
  );
}

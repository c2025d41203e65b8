import { Link, useSearch } from '../../router';
import type { EntryOrder, EntryType, Visibility } from '../../schema.gen';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Choice, Filters, oneOf, SearchBox } from '../../ui/Filters';
import { Page } from '../../ui/Page';
import { Pager, perPage, Table } from '../../ui/Table';
import { words } from '../../ui/words';
import { useView } from '../../useView';
import { RegistryDocument } from './registry.gen';

const types: EntryType[] = ['SKILL', 'SKILL_SET', 'AGENT', 'COMMAND'];
const visibilities: Visibility[] = ['PUBLIC', 'ORG', 'UNLISTED'];
const orders: EntryOrder[] = ['CREATED_AT', 'UPDATED_AT', 'NAME'];

export default function Registry() {
  const { get, page } = useSearch();
  const everybody = get('of') === 'everybody';
  const filter = { nameContains: get('q') || undefined, entryType: oneOf(get('type'), types), visibility: oneOf(get('visibility'), visibilities) };
  const view = useView(
    RegistryDocument,
    { page, perPage, filter, orderBy: oneOf(get('sort'), orders) ?? 'CREATED_AT', public: everybody, query: get('q') || undefined },
    ['entry.', 'version.'],
  );
  return (
    <Page view={view} find={(data) => data.entries ?? data.publicEntries} title="Registry" lead="What is published, and what is installed.">
      {({ nodes, pageInfo }) => (
        <>
          <Filters>
            <Choice label="Entries of" name="of" options={[{ value: '', label: 'this organization' }, { value: 'everybody', label: 'everybody, public' }]} />
            <SearchBox label={everybody ? 'Search' : 'Name contains'} />
            {!everybody && (
              <>
                <Choice label="Type" name="type" options={[{ value: '', label: 'any' }, ...types]} />
                <Choice label="Visibility" name="visibility" options={[{ value: '', label: 'any' }, ...visibilities]} />
                <Choice label="Sort by" name="sort" options={[{ value: '', label: 'created' }, { value: 'UPDATED_AT', label: 'changed' }, 'NAME']} />
              </>
            )}
          </Filters>
          <section className="card" aria-label="Entries">
            <Table
              label="Entries"
              rows={nodes}
              id={(e) => e.id}
              empty={get('q') || get('type') || get('visibility') ? 'No entry matches.' : 'Nothing is published yet: push a folder with POST /api/v1/registry.'}
              columns={[
                { head: 'Entry', cell: (e) => <><Link to={`registry/${e.id}`}>{e.name}</Link><div className="small muted wide">{e.description}</div></> },
                { head: 'Current', cell: (e) => e.currentVersion?.version ?? <span className="muted">none</span> },
                { head: 'Installs', number: true, cell: (e) => e.installationCount.toLocaleString('en') },
                { head: 'Pass rate', wide: true, cell: (e) => <Rate rate={e.evidence.passRate} /> },
                { head: 'Type', wide: true, cell: (e) => words(e.entryType) },
                { head: 'Visibility', wide: true, cell: (e) => <Badge value={e.visibility} /> },
                ...(everybody ? [{ head: 'Of', wide: true, cell: (e: (typeof nodes)[number]) => e.organizationName }] : []),
                { head: 'Changed', wide: true, cell: (e) => <Time at={e.updatedAt} /> },
              ]}
            />
            <Pager info={pageInfo} />
          </section>
        </>
      )}
    </Page>
  );
}

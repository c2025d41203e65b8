import { Link, useSearch } from '../../router';
import type { SkillOrder, SkillStatus } from '../../schema.gen';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Choice, Filters, oneOf, SearchBox } from '../../ui/Filters';
import { Page } from '../../ui/Page';
import { Pager, perPage, Table } from '../../ui/Table';
import { useView } from '../../useView';
import { SkillsDocument } from './skills.gen';

const statuses: SkillStatus[] = ['HEALTHY', 'WARNING', 'CRITICAL', 'UNKNOWN'];
const orders: SkillOrder[] = ['LAST_SEEN', 'NAME'];

export default function Skills() {
  const { get, page } = useSearch();
  const filter = { status: oneOf(get('status'), statuses), nameContains: get('q') || undefined };
  const view = useView(
    SkillsDocument,
    { page, perPage, filter, orderBy: oneOf(get('sort'), orders) ?? 'LAST_SEEN' },
    ['skill.', 'telemetry.', 'version.', 'entry.'],
  );
  return (
    <Page title="Skills" view={view} find={(data) => data.skills}>
      {({ nodes, pageInfo }) => (
        <>
          <Filters>
            <SearchBox label="Name contains" />
            <Choice label="Health" name="status" options={[{ value: '', label: 'any' }, ...statuses]} />
            <Choice label="Sort by" name="sort" options={[{ value: '', label: 'last seen' }, 'NAME']} />
          </Filters>
          <section className="card" aria-label="Skills">
            <Table
              label="Skills"
              rows={nodes}
              id={(s) => s.id}
              empty={get('q') || get('status') ? 'No skill matches.' : 'No skill has been seen yet: send telemetry.'}
              columns={[
                { head: 'Skill', cell: (s) => <Link to={`skills/${s.id}`}>{s.name}</Link> },
                { head: 'Health', cell: (s) => <Badge value={s.status} /> },
                { head: 'Pass rate', cell: (s) => <Rate rate={s.rates.passRate} /> },
                { head: 'Trigger rate', wide: true, cell: (s) => <Rate rate={s.rates.triggerRate} /> },
                { head: 'Confidence', wide: true, cell: (s) => <Rate rate={s.rates.avgConfidence} /> },
                { head: 'Sessions', wide: true, number: true, cell: (s) => s.uniqueSessions.toLocaleString('en') },
                { head: 'Version', wide: true, cell: (s) => s.registryEntry && <Link to={`registry/${s.registryEntry.id}`}>{s.registryEntry.currentVersion?.version ?? 'none'}</Link> },
                { head: 'Last seen', wide: true, cell: (s) => <Time at={s.lastSeenAt} /> },
              ]}
            />
            <Pager info={pageInfo} />
          </section>
        </>
      )}
    </Page>
  );
}

import { Link, useSearch } from '../../router';
import type { SourceType } from '../../schema.gen';
import { Badge, Time } from '../../ui/Bits';
import { Choice, Filters, oneOf, SearchBox } from '../../ui/Filters';
import { Page } from '../../ui/Page';
import { Pager, perPage, Table } from '../../ui/Table';
import { count, words } from '../../ui/words';
import { useView } from '../../useView';
import { SourcesDocument } from './sources.gen';

const types: SourceType[] = ['UPLOAD', 'REPOHOST'];

export default function Sources() {
  const { get, page } = useSearch();
  const filter = { type: oneOf(get('type'), types), labelContains: get('q') || undefined };
  const view = useView(SourcesDocument, { page, perPage, filter }, ['source.', 'snapshot.', 'suggestion.']);
  return (
    <Page
      view={view}
      find={(data) => data.sources}
      title="Sources and review"
      lead="Where skills are written. Open one to review the cases that its sessions suggest."
    >
      {({ nodes, pageInfo }) => (
        <>
          <Filters>
            <SearchBox label="Label contains" />
            <Choice label="Type" name="type" options={[{ value: '', label: 'any' }, ...types]} />
          </Filters>
          <section className="card" aria-label="Sources">
            <Table
              label="Sources"
              rows={nodes}
              id={(s) => s.id}
              empty={get('q') || get('type') ? 'No source matches.' : 'No source yet: upload a skill folder with POST /api/v1/cloud-sources/upload.'}
              columns={[
                { head: 'Source', cell: (s) => <Link to={`sources/${s.id}`}>{s.label}</Link> },
                { head: 'To review', number: true, cell: (s) => s.suggestions.totalCount || <span className="muted">none</span> },
                { head: 'Validation', cell: (s) => s.currentSnapshot ? <Badge value={s.currentSnapshot.report.status} /> : <span className="muted">no files</span> },
                { head: 'Skill', wide: true, cell: (s) => s.skill && <Link to={`skills/${s.skill.id}`}>{s.skill.name}</Link> },
                { head: 'From', wide: true, cell: (s) => s.__typename === 'RepohostSource' ? <code>{s.repoFullName}/{s.skillPath}</code> : words(s.sourceType) },
                { head: 'Files', wide: true, cell: (s) => s.currentSnapshot && `${count(s.currentSnapshot.fileCount, 'file')}, snapshot ${s.currentSnapshot.number}` },
                { head: 'Changed', wide: true, cell: (s) => <Time at={s.currentSnapshot?.createdAt ?? s.createdAt} /> },
              ]}
            />
            <Pager info={pageInfo} />
          </section>
        </>
      )}
    </Page>
  );
}

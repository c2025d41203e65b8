import { Link, useSearch } from '../../router';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Pager, Table } from '../../ui/Table';
import type { EntryQuery } from './entry.gen';

export type EntryData = NonNullable<EntryQuery['entry']>;
type Row = EntryData['versions']['nodes'][number];

const state = (v: Row) => (v.revokedAt ? 'REVOKED' : v.isCurrent ? 'CURRENT' : v.rolledBack ? 'ROLLED_BACK' : v.prerelease ? 'PRERELEASE' : '');

export function Versions({ entry }: { entry: EntryData }) {
  const { link } = useSearch();
  return (
    <Section title="Versions">
      <Table
        label="Versions"
        rows={entry.versions.nodes}
        id={(v) => v.id}
        empty="No version is left."
        columns={[
          { head: 'Version', cell: (v) => <Link to={link({ version: v.version, from: null, file: null })}>{v.version}</Link> },
          { head: 'State', cell: (v) => state(v) && <Badge value={state(v)} /> },
          { head: 'Installs', number: true, cell: (v) => v.installationCount },
          { head: 'Pass rate', cell: (v) => <Rate rate={v.quality.passRate} /> },
          { head: 'Trigger rate', wide: true, cell: (v) => <Rate rate={v.quality.triggerRate} /> },
          { head: 'Sessions', wide: true, number: true, cell: (v) => v.quality.sessions.toLocaleString('en') },
          { head: 'Pushed', wide: true, cell: (v) => <><Time at={v.pushedAt} /> {v.pushedBy && <span className="muted small">{v.pushedBy.email}</span>}</> },
        ]}
      />
      <Pager info={entry.versions.pageInfo} />
    </Section>
  );
}

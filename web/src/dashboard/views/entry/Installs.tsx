import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Empty, Needs } from '../../ui/State';
import { Table } from '../../ui/Table';
import { count, percent } from '../../ui/words';
import type { EntryData } from './Versions';

/** Which versions are out there: the current one first, in the strongest colour. */
export function Installs({ entry }: { entry: EntryData }) {
  const parts = entry.versions.nodes.filter((v) => v.installationCount > 0);
  const known = parts.reduce((n, v) => n + v.installationCount, 0);
  return (
    <Section title="Installs by version" aside={count(entry.installationCount, 'install')}>
      {known === 0 && <Empty>Nobody has installed a version yet.</Empty>}
      {known > 0 && (
        <>
          <div className="stacked" aria-hidden="true">
            {parts.map((v, i) => (
              <span key={v.id} style={{ flexGrow: v.installationCount, opacity: Math.max(0.35, 1 - i * 0.2) }} className={v.revokedAt ? 'revoked' : undefined} />
            ))}
          </div>
          <ul className="legend">
            {parts.map((v) => (
              <li key={v.id}>
                <b>{v.version}</b> {v.installationCount} ({percent(v.installationCount / known)}) {v.revokedAt ? <Badge value="REVOKED" /> : v.isCurrent && <Badge value="CURRENT" />}
              </li>
            ))}
          </ul>
        </>
      )}
      {entry.isOwn && (
        <Needs plan="TEAM" to="see who has installed what">
          <details>
            <summary>Who has what</summary>
            <Table
              label="Installs"
              rows={entry.installations?.nodes ?? []}
              id={(i) => i.id}
              empty="Nobody."
              columns={[
                { head: 'Who', cell: (i) => i.user.email },
                { head: 'Device', cell: (i) => i.deviceId },
                { head: 'Version', cell: (i) => i.version?.version ?? 'unknown' },
                { head: 'State', cell: (i) => <Badge value={i.syncStatus} /> },
                { head: 'Last synced', wide: true, cell: (i) => <Time at={i.lastSyncedAt} /> },
                { head: 'Path', wide: true, cell: (i) => i.installPath && <code>{i.installPath}</code> },
              ]}
            />
          </details>
        </Needs>
      )}
    </Section>
  );
}

import { Link, useSearch } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { Locked, Page, Section } from '../../ui/Page';
import { useRefusal } from '../../ui/State';
import { Pager, Table } from '../../ui/Table';
import { words } from '../../ui/words';
import { useView } from '../../useView';
import { CodeHostDocument, type CodeHostQuery } from './codehost.gen';
import { Connect } from './Connect';
import { Connection } from './Connection';

export default function CodeHost() {
  const why = useRefusal({ plan: 'PRO', can: 'REGISTRY_PUSH' });
  return why ? <Locked title="Code host" why={why} /> : <Connections />;
}

function Connections() {
  const { page } = useSearch();
  const view = useView(CodeHostDocument, { page }, ['connection.', 'installation.', 'version.', 'organization.']);
  return (
    <Page view={view} find={(data) => data} title="Code host" lead="Repositories that publish to the registry, and what came of every attempt.">
      {(data) => (
        <>
          <p className="muted">
            Write-back: <b>{words(data.repohostSettings.writeBackMode)}</b> (<Link to="settings">Settings</Link>)
          </p>
          {data.repoLinks.nodes.map((link) => (
            <Connection key={link.id} link={link} />
          ))}
          <Pager info={data.repoLinks.pageInfo} />
          <Connect entries={data.entries.nodes} installations={data.repoInstallations.nodes} first={data.repoLinks.pageInfo.total === 0} />
          <SyncLog deliveries={data.repoDeliveries} />
          <Section title="Installations">
            <Table
              label="Installations"
              rows={data.repoInstallations.nodes}
              id={(i) => i.id}
              empty="No account of the code host is bound to this organization."
              columns={[
                { head: 'Account', cell: (i) => i.accountLogin },
                { head: 'Type', cell: (i) => words(i.accountType) },
                { head: 'State', cell: (i) => <Badge value={i.suspended ? 'SUSPENDED' : 'ACTIVE'} /> },
                { head: 'Changed', cell: (i) => <Time at={i.updatedAt} /> },
              ]}
            />
          </Section>
        </>
      )}
    </Page>
  );
}

/** What the code host told, newest first, and what came of it. */
function SyncLog({ deliveries }: { deliveries: CodeHostQuery['repoDeliveries'] }) {
  return (
    <Section title="Sync log" aside={deliveries.totalCount > 20 && `the newest 20 of ${deliveries.totalCount}`}>
      <Table
        label="Sync log"
        rows={deliveries.nodes}
        id={(d) => d.id}
        empty="The code host has told nothing yet: point its webhook at /api/v1/repohost/webhook."
        columns={[
          { head: 'Event', cell: (d) => [d.event, d.action].filter(Boolean).join(': ') },
          { head: 'State', cell: (d) => <Badge value={d.state} /> },
          { head: 'Repository', wide: true, cell: (d) => d.repoFullName && <code>{d.repoFullName}</code> },
          { head: 'Ref', wide: true, cell: (d) => d.ref && <code>{d.ref}</code> },
          { head: 'Outcome', wide: true, cell: (d) => d.outcome },
          { head: 'When', cell: (d) => <Time at={d.receivedAt} /> },
        ]}
      />
    </Section>
  );
}

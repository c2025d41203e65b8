import { useState } from 'react';
import { Link } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { Confirm } from '../../ui/Confirm';
import { Section } from '../../ui/Page';
import { Table } from '../../ui/Table';
import { words } from '../../ui/words';
import { useAct } from '../../useAct';
import { type CodeHostQuery, DisconnectDocument, SyncDocument } from './codehost.gen';

type LinkData = CodeHostQuery['repoLinks']['nodes'][number];

/** A repository that publishes an entry, and its attempts. */
export function Connection({ link }: { link: LinkData }) {
  const { act, busy } = useAct();
  const [asked, setAsked] = useState(false);
  return (
    <Section
      title={`${link.repoFullName} → ${link.entry.name}`}
      aside={
        <span className="row">
          <button type="button" disabled={busy} onClick={() => act(SyncDocument, { id: link.id }, 'Synced: the newest attempt is on top.')}>
            {busy ? 'At work…' : 'Sync now'}
          </button>
          <button type="button" className="danger" disabled={busy} onClick={() => setAsked(true)}>
            Disconnect
          </button>
        </span>
      }
    >
      <p className="small">
        <Link to={`registry/${link.entry.id}`}>{link.entry.name}</Link> from <code>{link.skillPath || '/'}</code> of branch <code>{link.defaultBranch}</code>
        {link.autoPublish ? `, published at every push and tag ${link.tagPattern}` : ', published by hand'}
        {link.writeBackEnabled ? ', tells the commit how it went' : ''}.
      </p>
      <Table
        label={`Attempts of ${link.repoFullName}`}
        rows={link.attempts.nodes}
        id={(a) => a.id}
        empty="Nothing was attempted yet."
        columns={[
          { head: 'Attempt', cell: (a) => a.message },
          { head: 'Status', cell: (a) => <Badge value={a.status} /> },
          { head: 'Version', wide: true, cell: (a) => a.versionName },
          { head: 'By', wide: true, cell: (a) => words(a.trigger) },
          { head: 'Ref', wide: true, cell: (a) => <code title={a.commit ?? undefined}>{a.sourceRef.replace(/^refs\/(heads|tags)\//, '').slice(0, 20)}</code> },
          { head: 'Write-back', wide: true, cell: (a) => <span title={a.writeBackMessage ?? undefined}><Badge value={a.writeBackStatus} /></span> },
          { head: 'When', wide: true, cell: (a) => <Time at={a.createdAt} /> },
        ]}
      />
      <Confirm
        open={asked}
        title={`Disconnect ${link.repoFullName}?`}
        verb="Disconnect"
        danger
        close={() => setAsked(false)}
        confirm={() => act(DisconnectDocument, { id: link.id }, 'Disconnected.')}
        reason={false}
      >
        <p>{link.entry.name} keeps its versions and installs; pushes to the repository publish nothing any more.</p>
      </Confirm>
    </Section>
  );
}

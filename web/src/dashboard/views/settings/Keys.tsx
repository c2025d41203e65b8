import { type FormEvent, useState } from 'react';
import type { Permission } from '../../schema.gen';
import { useSession } from '../../session';
import { Badge, Time } from '../../ui/Bits';
import { Confirm } from '../../ui/Confirm';
import { Section } from '../../ui/Page';
import { Needs } from '../../ui/State';
import { Pager, Table } from '../../ui/Table';
import { permission } from '../../ui/words';
import { useAct } from '../../useAct';
import { CreateKeyDocument, RevokeKeyDocument, type SettingsQuery } from './settings.gen';

type List = NonNullable<SettingsQuery['organization']['apiKeys']>;
type Key = List['nodes'][number];

export function Keys({ keys, own }: { keys?: List; own: string }) {
  return (
    <Section title="API keys">
      <Needs can="KEYS_MANAGE" to="see or make keys">
        {keys && <Listed keys={keys} own={own} />}
        <Create />
      </Needs>
    </Section>
  );
}

function state(key: Key) {
  if (key.revokedAt) return 'REVOKED';
  return key.expiresAt && Date.parse(key.expiresAt) < Date.now() ? 'EXPIRED' : 'ACTIVE';
}

function Listed({ keys, own }: { keys: List; own: string }) {
  const { act } = useAct();
  const [asked, setAsked] = useState<Key | null>(null);
  return (
    <>
      <Table
        label="API keys"
        rows={keys.nodes}
        id={(k) => k.id}
        empty="No key."
        columns={[
          { head: 'Key', cell: (k) => <>{k.name} <code className="muted">{k.prefix}…</code></> },
          { head: 'State', cell: (k) => <Badge value={state(k)} /> },
          { head: 'Of', wide: true, cell: (k) => k.user.email },
          { head: 'May', wide: true, cell: (k) => k.permissions ? k.permissions.map(permission).join(', ') || 'read only' : 'what its owner may' },
          { head: 'Last used', wide: true, cell: (k) => <Time at={k.lastUsedAt} /> },
          { head: 'Expires', wide: true, cell: (k) => <Time at={k.expiresAt} /> },
          { head: 'Revoke', cell: (k) => !k.revokedAt && <button type="button" className="danger" onClick={() => setAsked(k)} aria-label={`Revoke ${k.name}`}>Revoke</button> },
        ]}
      />
      <Pager info={keys.pageInfo} />
      <Confirm
        open={asked !== null}
        title={`Revoke the key ${asked?.name}?`}
        verb="Revoke"
        danger
        reason={false}
        close={() => setAsked(null)}
        confirm={() => act(RevokeKeyDocument, { id: asked!.id }, `${asked!.name} is revoked.`)}
      >
        <p>
          Whoever uses it is locked out at once, for good.{' '}
          {asked?.id === own && <b>It is the key that you are signed in with: you will be signed out.</b>}
        </p>
      </Confirm>
    </>
  );
}

function Create() {
  const { act, busy } = useAct();
  const { permissions } = useSession();
  const [made, setMade] = useState('');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const only = data.getAll('only') as Permission[];
    const name = String(data.get('name'));
    const answer = await act(CreateKeyDocument, { input: { name, permissions: only.length > 0 ? only : undefined } }, `Made the key ${name}.`);
    if (!answer?.createApiKey) return;
    setMade(answer.createApiKey.key);
    form.reset();
  };
  return (
    <>
      <form className="filters" onSubmit={submit}>
        <label>
          Name of a new key
          <input name="name" required maxLength={100} />
        </label>
        <details className="small">
          <summary>Only some permissions</summary>
          {permissions.map((p) => (
            <label key={p} className="check">
              <input type="checkbox" name="only" value={p} /> {permission(p)}
            </label>
          ))}
        </details>
        <button disabled={busy}>Make a key</button>
      </form>
      {made && (
        <p className="note" role="status">
          Copy it now, it is not shown again: <code>{made}</code>
        </p>
      )}
    </>
  );
}

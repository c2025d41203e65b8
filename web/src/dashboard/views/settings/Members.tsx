import { type FormEvent, useState } from 'react';
import type { Role } from '../../schema.gen';
import { useSession } from '../../session';
import { Time } from '../../ui/Bits';
import { Confirm } from '../../ui/Confirm';
import { Section } from '../../ui/Page';
import { Needs } from '../../ui/State';
import { Table } from '../../ui/Table';
import { count, words } from '../../ui/words';
import { useAct } from '../../useAct';
import { AddMemberDocument, ChangeRoleDocument, RemoveMemberDocument, type SettingsQuery } from './settings.gen';

type List = SettingsQuery['organization']['members'];
type Member = List['nodes'][number];

const roles: Role[] = ['VIEWER', 'MEMBER', 'ADMIN', 'OWNER'];

export function Members({ members }: { members: List }) {
  const { can, user } = useSession();
  const { act, busy } = useAct();
  const [leaving, setLeaving] = useState<Member | null>(null);
  const may = can('KEYS_MANAGE');
  return (
    <Section title="Members" aside={count(members.totalCount, 'member')}>
      <Table
        label="Members"
        rows={members.nodes}
        id={(m) => m.id}
        empty="Nobody."
        columns={[
          { head: 'Member', cell: (m) => m.email },
          {
            head: 'Role',
            cell: (m) =>
              may && m.id !== user.id ? (
                <select
                  aria-label={`Role of ${m.email}`}
                  value={m.role ?? ''}
                  disabled={busy}
                  onChange={(event) => act(ChangeRoleDocument, { userId: m.id, role: event.target.value as Role }, `${m.email} is ${words(event.target.value)} now.`)}
                >
                  {roles.map((role) => (
                    <option key={role} value={role}>
                      {words(role)}
                    </option>
                  ))}
                </select>
              ) : (
                words(m.role ?? 'none')
              ),
          },
          { head: 'Joined', wide: true, cell: (m) => <Time at={m.joinedAt} /> },
          { head: 'Remove', cell: (m) => may && m.id !== user.id && <button type="button" className="danger" onClick={() => setLeaving(m)} aria-label={`Remove ${m.email}`}>Remove</button> },
        ]}
      />
      <Needs can="KEYS_MANAGE" to="change who belongs to the organization">
        <Add />
      </Needs>
      <Confirm
        open={leaving !== null}
        title={`Remove ${leaving?.email}?`}
        verb="Remove"
        danger
        reason={false}
        close={() => setLeaving(null)}
        confirm={() => act(RemoveMemberDocument, { userId: leaving!.id }, `${leaving!.email} is removed.`)}
      >
        <p>Their keys stop working at once. What they made stays.</p>
      </Confirm>
    </Section>
  );
}

function Add() {
  const { act, busy } = useAct();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const email = String(data.get('email')).trim();
    if (await act(AddMemberDocument, { input: { email, role: data.get('role') as Role } }, `${email} is a member now.`)) form.reset();
  };
  return (
    <form className="filters" onSubmit={submit}>
      <label>
        E-mail
        <input name="email" type="email" required />
      </label>
      <label>
        Role
        <select name="role" defaultValue="MEMBER">
          {roles.map((role) => (
            <option key={role} value={role}>
              {words(role)}
            </option>
          ))}
        </select>
      </label>
      <button disabled={busy}>Add a member</button>
    </form>
  );
}

import type { Plan as PlanName } from '../../schema.gen';
import { useSession } from '../../session';
import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { permission, words } from '../../ui/words';
import type { SettingsQuery } from './settings.gen';

const plans: { name: PlanName; adds: string }[] = [
  { name: 'FREE', adds: 'telemetry, alerts, sources, suites, community' },
  { name: 'PRO', adds: 'the registry and code-host publishing' },
  { name: 'TEAM', adds: 'the list of who installed what' },
  { name: 'ENTERPRISE', adds: 'everything' },
];

/** What the organization's plan and the key's permissions open. */
export function Plan({ organization }: { organization: SettingsQuery['organization'] }) {
  const { role, permissions, has, user } = useSession();
  return (
    <Section title="Plan and permissions">
      <p>
        <b>{organization.name}</b> has the <Badge value={organization.plan} /> plan, since <Time at={organization.createdAt} />. You are {user.email}, {words(role)}.
      </p>
      <ul className="plain">
        {plans.map(({ name, adds }) => (
          <li key={name} className={has(name) ? undefined : 'muted'}>
            <span aria-hidden="true">{has(name) ? '✓' : '–'}</span> <b>{words(name)}</b>: {adds} {!has(name) && '(not in your plan)'}
          </li>
        ))}
      </ul>
      <p className="row small">
        Your key may: {permissions.length === 0 && 'read only'}
        {permissions.map((p) => (
          <code key={p}>{permission(p)}</code>
        ))}
      </p>
    </Section>
  );
}

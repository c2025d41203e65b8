import type { ReactNode } from 'react';
import type { CombinedError } from 'urql';
import type { Permission, Plan } from '../schema.gen';
import { useSession } from '../session';
import { reason } from '../useAct';
import { permission, words } from './words';

export function Loading({ what }: { what: string }) {
  return (
    <div className="loading" role="status">
      <span className="hidden">Loading {what}…</span>
      <i />
      <i />
      <i />
    </div>
  );
}

export function Missing({ what }: { what: string }) {
  return (
    <div className="card empty">
      <h1>Not here</h1>
      <p>There is no such {what}, or it belongs to somebody else.</p>
    </div>
  );
}

/** Says that there is nothing, and what would change that. */
export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty muted">{children}</p>;
}

export function Failed({ error }: { error: CombinedError }) {
  const code = error.graphQLErrors[0]?.extensions?.code;
  const refused = code === 'FORBIDDEN' || code === 'PLAN_REQUIRED';
  return (
    <div className={refused ? 'note locked' : 'note bad'} role="alert">
      <strong>{refused ? 'You may not see this.' : 'This did not work.'}</strong> {reason(error)}
    </div>
  );
}

type NeedsProps = { plan?: Plan; can?: Permission; to: string; children?: ReactNode };

/** Shows its children to whoever may use them, and tells everybody else what it would take. */
export function Needs({ plan, can, to, children }: NeedsProps) {
  const why = useRefusal({ plan, can });
  if (!why) return <>{children}</>;
  return (
    <p className="note locked">
      <strong>You cannot {to}.</strong> {why}
    </p>
  );
}

/** Why this is forbidden; empty when it is not. */
export function useRefusal({ plan, can }: { plan?: Plan; can?: Permission }) {
  const session = useSession();
  if (plan && !session.has(plan)) {
    return `It takes the ${words(plan)} plan; ${session.organization.name} has the ${words(session.plan)} plan.`;
  }
  if (can && !session.can(can)) return `It takes the permission ${permission(can)}; your key does not have it.`;
  return '';
}

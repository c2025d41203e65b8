import { createContext, useContext } from 'react';
import type { Client } from 'urql';
import type { Bus } from './bus';
import type { Permission, Plan, Role } from './schema.gen';

export type Viewer = {
  user: { id: string; email: string };
  organization: { id: string; name: string };
  plan: Plan;
  role: Role;
  permissions: Permission[];
};

export type SessionValue = Viewer & {
  client: Client;
  bus: Bus;
  can: (permission: Permission) => boolean;
  has: (plan: Plan) => boolean;
  signOut: () => void;
  say: (text: string, bad?: boolean) => void;
};

export const Session = createContext<SessionValue | null>(null);

/** Who is signed in, and what they may do. */
export const useSession = () => useContext(Session)!;

const plans: Plan[] = ['FREE', 'PRO', 'TEAM', 'ENTERPRISE'];

export const rights = (viewer: Viewer) => ({
  can: (permission: Permission) => viewer.permissions.includes(permission),
  has: (plan: Plan) => plans.indexOf(viewer.plan) >= plans.indexOf(plan),
});

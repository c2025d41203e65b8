import { useState } from 'react';
import { Confirm } from '../../ui/Confirm';
import { useRefusal } from '../../ui/State';
import { count } from '../../ui/words';
import { useAct } from '../../useAct';
import { RevokeDocument, RollbackDocument, type ShownFragment } from './entry.gen';
import type { EntryData } from './Versions';

/** Rollback and revocation. Both say beforehand what will happen to how many installs. */
export function Actions({ entry, version: v }: { entry: EntryData; version: ShownFragment }) {
  const { act, busy } = useAct();
  const [asked, setAsked] = useState<'rollback' | 'revoke' | null>(null);
  const noRollback = useRefusal({ plan: 'PRO', can: 'REGISTRY_ROLLBACK' });
  const noRevoke = useRefusal({ can: 'REGISTRY_ROLLBACK' });
  const close = () => setAsked(null);
  if (v.revokedAt) return null;
  const current = entry.currentVersion;
  return (
    <span className="row">
      {!v.isCurrent && (
        <button type="button" disabled={busy || Boolean(noRollback)} title={noRollback || undefined} onClick={() => setAsked('rollback')}>
          Make current
        </button>
      )}
      <button type="button" className="danger" disabled={busy || Boolean(noRevoke)} title={noRevoke || undefined} onClick={() => setAsked('revoke')}>
        Revoke
      </button>
      <Confirm
        open={asked === 'rollback'}
        title={`Make ${v.version} current?`}
        verb="Make current"
        close={close}
        confirm={(reason) => act(RollbackDocument, { id: entry.id, input: { targetVersion: v.version, reason } }, `${v.version} is current now.`)}
      >
        <p>
          It takes the place of {current?.version ?? 'none'}.{' '}
          <b>{count(entry.installationCount - v.installationCount, 'install')}</b> of {entry.installationCount} will be told to fetch {v.version} at the next sync;{' '}
          {count(v.installationCount, 'install')} {v.installationCount === 1 ? 'has' : 'have'} it already. Nothing is deleted.
        </p>
      </Confirm>
      <Confirm
        open={asked === 'revoke'}
        title={`Revoke ${v.version} for good?`}
        verb="Revoke"
        danger
        close={close}
        confirm={(reason) => act(RevokeDocument, { id: v.id, reason }, `${v.version} is revoked.`)}
      >
        <p>
          <b>{count(v.installationCount, 'install')}</b> of {entry.installationCount} {v.installationCount === 1 ? 'has' : 'have'} it and will be told at the next
          sync. It cannot be downloaded any more and is never current again.{' '}
          {v.isCurrent && 'It is current now: the entry falls back to the version that was current before. '}This cannot be undone.
        </p>
      </Confirm>
    </span>
  );
}

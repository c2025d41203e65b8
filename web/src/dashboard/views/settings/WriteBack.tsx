import type { WriteBackMode } from '../../schema.gen';
import { Section } from '../../ui/Page';
import { useRefusal } from '../../ui/State';
import { useAct } from '../../useAct';
import { WriteBackDocument } from './settings.gen';

const modes: { mode: WriteBackMode; says: string }[] = [
  { mode: 'OFF', says: 'Nothing' },
  { mode: 'CHECKS', says: 'Commit statuses and check-runs' },
  { mode: 'CHECKS_AND_PRS', says: 'The same; no pull requests are opened yet' },
];

/** What the server writes into the repositories that publish here. */
export function WriteBack({ mode }: { mode?: WriteBackMode }) {
  const { act, busy } = useAct();
  const why = useRefusal({ plan: 'PRO', can: 'REGISTRY_PUSH' });
  return (
    <Section title="Write-back">
      {why && <p className="note locked">You cannot change what is written into repositories. {why}</p>}
      {!why && (
        <fieldset disabled={busy}>
          <legend>What is written into connected repositories</legend>
          {modes.map((m) => (
            <label key={m.mode} className="check">
              <input type="radio" name="mode" checked={mode === m.mode} onChange={() => act(WriteBackDocument, { mode: m.mode }, 'Write-back changed.')} /> {m.says}
            </label>
          ))}
        </fieldset>
      )}
    </Section>
  );
}

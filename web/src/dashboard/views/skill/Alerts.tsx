import { type FormEvent, useState } from 'react';
import { useSession } from '../../session';
import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Empty, useRefusal } from '../../ui/State';
import { percent, words } from '../../ui/words';
import { useAct } from '../../useAct';
import { Slider } from './Slider';
import { type AlertFragment, CreateAlertDocument, type SkillQuery, UpdateAlertDocument } from './skill.gen';

type Skill = NonNullable<SkillQuery['skill']>;

const channels = {
  WEBHOOK: { field: 'webhook_url', label: 'Webhook', kind: 'url' },
  EMAIL: { field: 'email', label: 'E-mail', kind: 'email' },
  CHAT_A: { field: 'chat_a_webhook_url', label: 'Chat A', kind: 'url' },
  CHAT_B: { field: 'chat_b_webhook_url', label: 'Chat B', kind: 'url' },
} as const;

/** The alerts that watch this skill, and what another threshold would have done. */
export function Alerts({ skill, alerts, days, span }: { skill: Skill; alerts: AlertFragment[]; days: SkillQuery['alertDryRun']; span: number }) {
  const own = alerts.find((a) => a.type === 'PASS_RATE_BELOW');
  // An alert that watches every skill fires for some of them only.
  const open = new Set(skill.incidents.nodes.filter((i) => !i.resolvedAt).map((i) => i.alert.id));
  const [threshold, setThreshold] = useState(own?.threshold ?? 0.6);
  const refusal = useRefusal({ can: 'ALERTS_WRITE' });
  return (
    <Section title="Alerts">
      <div className="columns">
        <div>
          <Existing alerts={alerts.map((a) => (a.skillId ? a : { ...a, state: open.has(a.id) ? 'FIRING' : 'OK' }))} threshold={threshold} refusal={refusal} />
          <Incidents skill={skill} />
        </div>
        <div className="stack">
          <Slider threshold={threshold} change={setThreshold} days={days} span={span} />
          {refusal ? <p className="note locked">You cannot make alerts. {refusal}</p> : <Create skill={skill} threshold={threshold} />}
        </div>
      </div>
    </Section>
  );
}

function Existing({ alerts, threshold, refusal }: { alerts: AlertFragment[]; threshold: number; refusal: string }) {
  const { act, busy } = useAct();
  if (alerts.length === 0) return <Empty>No alert watches this skill.</Empty>;
  return (
    <ul className="plain">
      {alerts.map((alert) => (
        <li key={alert.id} className="row">
          <Badge value={alert.state} />
          <span>
            {alert.type === 'NO_DATA' ? `no data for ${alert.threshold} days` : `pass rate below ${percent(alert.threshold)}`}, tells{' '}
            {words(alert.channel)}
            {!alert.skillId && <span className="muted"> (watches every skill)</span>}
          </span>
          {alert.type === 'PASS_RATE_BELOW' && alert.threshold !== threshold && (
            <button
              type="button"
              disabled={busy || Boolean(refusal)}
              title={refusal || undefined}
              onClick={() => act(UpdateAlertDocument, { id: alert.id, input: { threshold } }, 'Threshold changed.')}
            >
              Change to {percent(threshold)}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Incidents({ skill }: { skill: Skill }) {
  if (skill.incidents.nodes.length === 0) return null;
  return (
    <>
      <h3>Incidents</h3>
      <ul className="plain">
        {skill.incidents.nodes.map((i) => (
          <li key={i.id}>
            {i.alert.type === 'NO_DATA' ? `No data for ${Math.floor(i.value)} days` : `Pass rate ${percent(i.value)}`}, opened{' '}
            <Time at={i.openedAt} />
            {i.resolvedAt ? <>, over <Time at={i.resolvedAt} /></> : ', still open'}
          </li>
        ))}
      </ul>
    </>
  );
}

function Create({ skill, threshold }: { skill: Skill; threshold: number }) {
  const { act, busy } = useAct();
  const { say } = useSession();
  const [channel, setChannel] = useState<keyof typeof channels>('WEBHOOK');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const address = new FormData(event.currentTarget).get('address');
    const config = { [channels[channel].field]: address };
    const made = await act(CreateAlertDocument, { input: { skillId: skill.id, type: 'PASS_RATE_BELOW', threshold, channel, config } }, 'Alert created.');
    const secret = made?.createAlert?.alert.signingSecret;
    if (secret) say(`Alert created. It signs what it sends with this secret, shown only now: ${secret}`);
  };
  return (
    <form className="filters" onSubmit={submit}>
      <label>
        Tell
        <select value={channel} onChange={(event) => setChannel(event.target.value as keyof typeof channels)}>
          {Object.entries(channels).map(([value, { label }]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        {channels[channel].kind === 'url' ? 'Address (https://…)' : 'Address'}
        <input name="address" required type={channels[channel].kind} />
      </label>
      <button className="primary" disabled={busy}>
        Alert below {percent(threshold)}
      </button>
    </form>
  );
}

import { Link, useSearch } from '../../router';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Choice, Filters } from '../../ui/Filters';
import { Section } from '../../ui/Page';
import { Empty, useRefusal } from '../../ui/State';
import { Pager } from '../../ui/Table';
import { percent, words } from '../../ui/words';
import { useAct } from '../../useAct';
import { statuses } from './Community';
import { ApplyProposalDocument, ApproveDocument, type CommunityQuery, RejectDocument } from './community.gen';

type Proposal = CommunityQuery['proposals']['nodes'][number];

export function Proposals({ proposals }: { proposals: CommunityQuery['proposals'] }) {
  const { get } = useSearch();
  return (
    <Section title="Proposals">
      <Filters>
        <Choice label="Status" name="status" options={[{ value: '', label: 'any' }, ...statuses]} />
      </Filters>
      {proposals.nodes.length === 0 && <Empty>{get('status') ? 'No proposal matches.' : 'Nothing to propose: signals show no skill that should change.'}</Empty>}
      <ul className="plain">
        {proposals.nodes.map((p) => (
          <Item key={p.id} proposal={p} />
        ))}
      </ul>
      <Pager info={proposals.pageInfo} />
    </Section>
  );
}

function Item({ proposal: p }: { proposal: Proposal }) {
  const what = p.proposalType === 'WORDING_CHANGE' ? 'Missed' : 'Triggered, last week';
  return (
    <li>
      <p className="row">
        <b>{p.skill ? <Link to={`skills/${p.skill.id}`}>{p.skillName}</Link> : p.skillName}</b> {words(p.proposalType)} <Badge value={p.status} />
        <span className="muted small">
          <Time at={p.createdAt} />
          {p.decidedBy && `, decided by ${p.decidedBy.email}`}
        </span>
      </p>
      <p>{p.reason}</p>
      <div className="row">
        <span className="muted">{what}</span> <Rate rate={p.evidence.rate} />
        <span className="muted small">
          confidence {percent(p.confidence)}; {p.evidence.totalSignals} signals, {p.evidence.triggeredCount} triggered, {p.evidence.missedCount} missed
        </span>
      </div>
      <Weeks weeks={p.evidence.weeks} />
      <Decide proposal={p} />
    </li>
  );
}

/** Triggers and misses of every week that was looked at. */
function Weeks({ weeks }: { weeks: Proposal['evidence']['weeks'] }) {
  return (
    <ul className="weeks" aria-label="By week">
      {weeks.map((w) => (
        <li key={w.week}>
          <span className="stacked" aria-hidden="true">
            <span style={{ flexGrow: w.triggeredCount }} />
            <span style={{ flexGrow: w.missedCount }} className="revoked" />
            <span style={{ flexGrow: w.totalSignals - w.triggeredCount - w.missedCount }} className="rest" />
          </span>
          <small>
            {w.week}: {w.triggeredCount} triggered, {w.missedCount} missed of {w.totalSignals}
          </small>
        </li>
      ))}
    </ul>
  );
}

function Decide({ proposal: p }: { proposal: Proposal }) {
  const { act, busy } = useAct();
  const refusal = useRefusal({ can: 'SOURCES_WRITE' });
  const blocked = { disabled: busy || Boolean(refusal), title: refusal || undefined };
  const current = p.skill?.registryEntry?.currentVersion;
  if (p.status === 'PENDING') {
    return (
      <p className="row">
        <button type="button" className="primary" {...blocked} onClick={() => act(ApproveDocument, { id: p.id }, 'Approved.')}>
          Approve
        </button>
        <button type="button" {...blocked} onClick={() => act(RejectDocument, { id: p.id }, 'Rejected.')}>
          Reject
        </button>
        {refusal && <span className="small muted">{refusal}</span>}
      </p>
    );
  }
  if (p.status !== 'APPROVED' || !current) return null;
  return (
    <p className="row">
      <button type="button" {...blocked} onClick={() => act(ApplyProposalDocument, { id: p.id, versionId: current.id }, 'Marked as applied.')}>
        Version {current.version} applies it
      </button>
    </p>
  );
}

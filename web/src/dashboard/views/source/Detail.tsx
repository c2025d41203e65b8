import { useState } from 'react';
import { Link } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { count, percent, words } from '../../ui/words';
import type { SourceData } from './Queue';
import type { SuggestionFragment } from './source.gen';
import type { Decisions } from './useDecisions';

type Props = { source: SourceData; suggestion: SuggestionFragment; decisions: Decisions; refusal: string };

/** One suggestion: what it asks, why it was suggested, and what to do with it. */
export function Detail({ source, suggestion: s, decisions, refusal }: Props) {
  return (
    <div className="detail stack" aria-live="polite">
      <h3 className="query">“{s.query}”</h3>
      <p className="row">
        <Badge value={s.status} />
        <span>
          {source.skill?.name ?? 'The skill'} <b>{s.shouldTrigger ? 'should trigger' : 'should not trigger'}</b> on this.
        </span>
      </p>
      {s.review && (
        <p className="small muted">
          {words(s.review.reviewStatus)} by {s.review.reviewedBy?.email ?? 'somebody'} <Time at={s.review.reviewedAt} />
          {s.review.appliedSuite && (
            <>
              , a case of <Link to={`suites/${s.review.appliedSuite.id}`}>{s.review.appliedSuite.name}</Link>
            </>
          )}
        </p>
      )}
      <div className="row">
        <button type="button" className="primary" disabled={decisions.busy || s.status === 'ACCEPTED'} title={refusal || undefined} onClick={() => decisions.decide('ACCEPTED')}>
          Accept
        </button>
        <button type="button" disabled={decisions.busy || s.status === 'REJECTED'} title={refusal || undefined} onClick={() => decisions.decide('REJECTED')}>
          Reject
        </button>
        <button type="button" disabled={!decisions.canUndo} onClick={decisions.undo}>
          Undo
        </button>
      </div>
      <ApplyToSuite source={source} suggestion={s} decisions={decisions} />
      <Why suggestion={s} />
    </div>
  );
}

function ApplyToSuite({ source, suggestion, decisions }: Omit<Props, 'refusal'>) {
  const suites = source.suites.nodes;
  const [chosen, setChosen] = useState('');
  const suite = chosen || suites[0]?.id;
  if (suggestion.review?.appliedSuite) return null;
  if (!suite) return <p className="small muted">No suite belongs to this source yet, so there is none to apply it to.</p>;
  return (
    <div className="row">
      <button type="button" disabled={decisions.busy} onClick={() => decisions.apply(suite)}>
        Apply to suite
      </button>
      <select aria-label="Suite" value={suite} onChange={(event) => setChosen(event.target.value)}>
        {suites.map((s) => (
          <option key={s.id} value={s.id}>
            {s.name} ({s.caseCount})
          </option>
        ))}
      </select>
    </div>
  );
}

function Why({ suggestion: s }: { suggestion: SuggestionFragment }) {
  return (
    <>
      <h3>Why it was suggested</h3>
      <p>{s.rationale}</p>
      <dl className="facts small">
        <dt>Reason</dt>
        <dd>{words(s.provenance)}</dd>
        <dt>Seen in</dt>
        <dd>{words(s.source)}</dd>
        <dt>Went wrong</dt>
        <dd>
          {count(s.observedCount, 'time')}, and well {count(s.handledCount, 'time')}
        </dd>
        <dt>Goes wrong at least</dt>
        <dd>{percent(s.confidence)} of the time, with 95 % certainty</dd>
        <dt>Last</dt>
        <dd>
          <Time at={s.lastObservedAt} />
        </dd>
      </dl>
      <h3>Evidence</h3>
      <ul className="sessions small">
        {s.evidence.nodes.map((e) => (
          <li key={e.observedAt + e.sessionKey}>
            {words(e.provenance)} <Time at={e.observedAt} />: {e.run ? <Link to={`suites/${e.run.suiteId}`}>run {e.run.runKey}</Link> : <code>{e.sessionKey}</code>}
          </li>
        ))}
        {s.evidence.totalCount > 5 && <li className="muted">and {s.evidence.totalCount - 5} more</li>}
        {s.evidence.totalCount === 0 && <li className="muted">The sessions are no longer kept.</li>}
      </ul>
      {s.similar.length > 0 && (
        <>
          <h3>Similar</h3>
          <ul className="sessions small">
            {s.similar.map(({ similarity, suggestion }) => (
              <li key={suggestion.id}>
                “{suggestion.query}” <Badge value={suggestion.status} /> <span className="muted">{percent(similarity)} alike</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

import { Link } from '../../router';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { count } from '../../ui/words';
import type { OverviewQuery } from './overview.gen';

/** Suggestions that nobody has decided on, by source. */
export function Waiting({ sources, total, proposals }: { sources: OverviewQuery['sources']['nodes']; total: number; proposals: number }) {
  const waiting = sources.filter((s) => s.suggestions.totalCount > 0);
  return (
    <Section title="Suggestions waiting" aside={total > 0 && `${total} in all`}>
      {waiting.length === 0 && <Empty>Everything is reviewed.</Empty>}
      <ul className="plain">
        {waiting.map((source) => (
          <li key={source.id}>
            <Link to={`sources/${source.id}`}>{source.label}</Link>: {count(source.suggestions.totalCount, 'suggestion')}
            <br />
            <span className="muted small">
              “{source.suggestions.nodes[0].query}” went wrong {count(source.suggestions.nodes[0].observedCount, 'time')}
            </span>
          </li>
        ))}
      </ul>
      {proposals > 0 && (
        <p>
          <Link to="community?status=PENDING">{count(proposals, 'proposal')}</Link> from signals wait for a decision.
        </p>
      )}
    </Section>
  );
}

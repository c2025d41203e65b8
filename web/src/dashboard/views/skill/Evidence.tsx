import { Link } from '../../router';
import { Badge, Time } from '../../ui/Bits';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { words } from '../../ui/words';
import type { SkillQuery } from './skill.gen';

type Suggestions = NonNullable<SkillQuery['skill']>['suggestions'];

/** Queries that go wrong, and the sessions that show it. */
export function Evidence({ suggestions }: { suggestions: Suggestions }) {
  return (
    <Section title="What goes wrong" aside={suggestions.totalCount > 5 && `5 of ${suggestions.totalCount}`}>
      {suggestions.nodes.length === 0 && <Empty>No query stands out. Connect a source to collect them.</Empty>}
      <ul className="plain">
        {suggestions.nodes.map((s) => (
          <li key={s.id}>
            <Link to={`sources/${s.cloudSource.id}?pick=${s.id}&status=${s.status}`}>“{s.query}”</Link> <Badge value={s.status} />
            <div className="small muted">{s.rationale}</div>
            <ul className="sessions small">
              {s.evidence.nodes.map((e) => (
                <li key={e.observedAt + e.sessionKey}>
                  {words(e.provenance)} <Time at={e.observedAt} />: {e.run ? <Link to={`suites/${e.run.suite.id}`}>run {e.run.runKey}</Link> : <code>{e.sessionKey}</code>}
                </li>
              ))}
              {s.evidence.totalCount > 3 && <li className="muted">and {s.evidence.totalCount - 3} more</li>}
            </ul>
          </li>
        ))}
      </ul>
    </Section>
  );
}

import { Link } from '../../router';
import { Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { count } from '../../ui/words';
import type { SkillQuery } from './skill.gen';

/** Skills that fired in its place. */
export function Confusion({ skill }: { skill: NonNullable<SkillQuery['skill']> }) {
  const most = Math.max(...skill.confusedWith.map((c) => c.sessions));
  return (
    <Section title="Confused with" aside="sessions in which another skill fired in its place">
      {skill.confusedWith.length === 0 && <Empty>No other skill fired in its place.</Empty>}
      <ul className="plain bars">
        {skill.confusedWith.map(({ skill: other, sessions }) => (
          <li key={other.id}>
            <span className="bar" style={{ width: `${(sessions / most) * 100}%` }} />
            <Link to={`skills/${other.id}`}>{other.name}</Link> <span className="muted">{count(sessions, 'session')}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

import { lazy, Suspense } from 'react';
import { Section } from '../../ui/Page';
import { Empty, Loading } from '../../ui/State';
import { words } from '../../ui/words';
import { rolling } from './rolling';
import type { SkillQuery } from './skill.gen';

const Chart = lazy(() => import('../../ui/Chart'));

type Skill = NonNullable<SkillQuery['skill']>;
type Release = NonNullable<Skill['registryEntry']>['releases']['nodes'][number];

const width = 7;

/** Pass and trigger rate over time, and when what was released. */
export function History({ days, releases, span }: { days: Skill['dailyStats']; releases: Release[]; span: number }) {
  const marks = releases.map((r) => ({
    at: Date.parse(r.createdAt) / 1000,
    label: r.kind === 'PUSH' ? (r.to?.version ?? '') : `${words(r.kind)} → ${r.to?.version ?? 'none'}`,
  }));
  return (
    <Section title={`${span} days`} aside={`each point counts the ${width} days up to it; the band is the 95 % interval`}>
      {days.length === 0 && <Empty>No session in these days.</Empty>}
      {days.length > 0 && (
        <div className="columns">
          <Suspense fallback={<Loading what="the charts" />}>
            <Chart title="Pass rate" points={rolling(days, span, width, (d) => (d.passRate ?? 0) * d.graded, (d) => d.graded)} marks={marks} />
            <Chart title="Trigger rate" points={rolling(days, span, width, (d) => d.triggeredSessions, (d) => d.sessions)} marks={marks} />
          </Suspense>
        </div>
      )}
    </Section>
  );
}

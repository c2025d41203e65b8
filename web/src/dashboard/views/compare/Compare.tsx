import { Link, useSearch } from '../../router';
import { Badge, Rate, Time } from '../../ui/Bits';
import { Page, Section } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { count, words } from '../../ui/words';
import { useView } from '../../useView';
import { CompareDocument, type ChangeFragment, type ResultFragment, type RunFragment } from './compare.gen';

/** Two runs, case by case. */
export default function Compare() {
  const { get } = useSearch();
  const view = useView(CompareDocument, { base: get('base'), head: get('head') }, ['run.']);
  return (
    <Page
      view={view}
      find={(data) => data.compareRuns}
      title={({ base, head }) => `${base.runKey} → ${head.runKey}`}
      up={{ to: 'suites', label: 'Suites' }}
    >
      {(c) => (
        <>
          <div className="columns">
            <Run title="Measured by" run={c.base} />
            <Run title="Measured" run={c.head} />
          </div>
          {c.caveat && <p className="note warn">{c.caveat}</p>}
          <div className="tiles">
            <Tile n={c.broken.length} label="broken" tone="bad" />
            <Tile n={c.fixed.length} label="fixed" tone="good" />
            <Tile n={c.passedTwice} label="passed twice" />
            <Tile n={c.failedTwice} label="failed twice" />
            <Tile n={c.notCompared} label="not compared" />
          </div>
          <p className="lead">
            {c.pValue < 0.05
              ? `Chance alone makes such a difference ${c.pValue.toPrecision(2)} of the time: this one is likely real.`
              : `Chance alone makes such a difference ${c.pValue.toPrecision(2)} of the time: too thin to tell.`}{' '}
            <span className="small">(McNemar’s exact test)</span>
          </p>
          <Changes title="Broken" changes={c.broken} empty="No case that passed before fails now." />
          <Changes title="Fixed" changes={c.fixed} empty="No case that failed before passes now." />
        </>
      )}
    </Page>
  );
}

function Tile({ n, label, tone = '' }: { n: number; label: string; tone?: string }) {
  return (
    <div className={`tile ${n ? tone : ''}`}>
      <b>{n}</b>
      <span>{label}</span>
    </div>
  );
}

function Run({ title, run }: { title: string; run: RunFragment }) {
  return (
    <Section title={`${title}: ${run.runKey}`}>
      <p className="row">
        <Badge value={run.status} /> <Rate rate={run.passRate} />
        <span className="muted">
          {words(run.variant)}, revision {run.revision}, <Time at={run.createdAt} />
        </span>
        <Link to={`suites/${run.suite.id}`}>{run.suite.name}</Link>
      </p>
    </Section>
  );
}

function Changes({ title, changes, empty }: { title: string; changes: ChangeFragment[]; empty: string }) {
  return (
    <Section title={title} aside={count(changes.length, 'case')}>
      {changes.length === 0 && <Empty>{empty}</Empty>}
      <ul className="plain">
        {changes.map((change) => (
          <li key={change.caseKey}>
            <b>{asks(change.head.case)}</b> <code className="muted">{change.caseKey}</code>
            <div className="columns">
              <Result result={change.base} />
              <Result result={change.head} />
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function asks(c: ResultFragment['case']) {
  if ('query' in c) return c.query;
  if ('prompt' in c) return c.prompt;
  return 'instruction' in c ? c.instruction : 'input' in c ? c.input : '';
}

function Result({ result }: { result: ResultFragment }) {
  return (
    <p>
      <Badge value={result.outcome} /> <span className="muted small">by the {words(result.judgedBy)}</span> {result.error ?? result.judgement}
      {result.outputExcerpt && <span className="output small">{result.outputExcerpt}</span>}
    </p>
  );
}

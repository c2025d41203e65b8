import { Link, useSearch } from '../../router';
import type { ViewProps } from '../../routes';
import { Badge, Time } from '../../ui/Bits';
import { Page } from '../../ui/Page';
import { count, words } from '../../ui/words';
import { useView } from '../../useView';
import { Cases } from './Cases';
import { Revisions } from './Revisions';
import { Runs } from './Runs';
import { SuiteDocument } from './suite.gen';

export default function Suite({ id }: ViewProps) {
  const { get, page } = useSearch();
  const diff = [get('from'), get('to')].filter(Boolean);
  const view = useView(SuiteDocument, { id, page, perPage: 10, diff, withDiff: diff.length === 2 }, ['suite.', 'run.']);
  return (
    <Page
      view={view}
      find={({ suite, nodes }) => suite && { suite, revisions: nodes ?? [] }}
      title={({ suite }) => suite.name}
      up={{ to: 'suites', label: 'Suites' }}
    >
      {({ suite, revisions }) => (
        <>
          <p className="lead">
            {count(suite.caseCount, 'case')} ({words(suite.suiteKind)}), judged by {words(suite.verifierKind)}, revision {suite.revision} of{' '}
            <Time at={suite.updatedAt} />
            {suite.createdBy && `, made by ${suite.createdBy.email}`}
            {suite.source && (
              <>
                , from <Link to={`sources/${suite.source.id}`}>{suite.source.label}</Link>
              </>
            )}
            . {suite.archivedAt && <Badge value="ARCHIVED" />}
          </p>
          {!suite.runnable && suite.notRunnableReason && <p className="note">It cannot be run: {suite.notRunnableReason}</p>}
          <Runs suite={suite} />
          <Cases cases={suite.cases} />
          <Revisions suite={suite} shown={revisions} />
        </>
      )}
    </Page>
  );
}

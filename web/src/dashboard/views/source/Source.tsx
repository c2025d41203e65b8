import { Link, useSearch } from '../../router';
import type { ViewProps } from '../../routes';
import type { Provenance, SuggestionOrder, SuggestionStatus } from '../../schema.gen';
import { Page } from '../../ui/Page';
import { perPage } from '../../ui/Table';
import { words } from '../../ui/words';
import { useView } from '../../useView';
import { Queue } from './Queue';
import { Snapshots } from './Snapshots';
import { SourceDocument } from './source.gen';
import { oneOf } from '../../ui/Filters';

export const statuses: SuggestionStatus[] = ['PENDING', 'ACCEPTED', 'REJECTED'];
export const provenances: Provenance[] = ['FAILED_EVALUATION', 'MISSED_QUERY', 'RUN_REGRESSION', 'RUN_FAILURE'];
export const orders: SuggestionOrder[] = ['OBSERVED_COUNT', 'LAST_OBSERVED', 'CONFIDENCE'];

export default function Source({ id }: ViewProps) {
  const { get, page } = useSearch();
  const filter = {
    // An address without a status means the queue.
    status: get('status') === 'ALL' ? undefined : (oneOf(get('status'), statuses) ?? 'PENDING'),
    provenance: oneOf(get('why'), provenances),
    queryContains: get('q') || undefined,
  };
  const orderBy = oneOf(get('sort'), orders) ?? 'OBSERVED_COUNT';
  const view = useView(SourceDocument, { id, page, perPage, filter, orderBy }, ['source.', 'snapshot.', 'suggestion.', 'suite.']);
  return (
    <Page view={view} find={(data) => data.source} title={(source) => source.label} up={{ to: 'sources', label: 'Sources' }}>
      {(source) => (
        <>
          <p className="lead">
            {source.__typename === 'RepohostSource' ? (
              <>
                Read from <code>{source.skillPath}</code> of <code>{source.repoFullName}</code>, branch <code>{source.defaultBranch}</code>
              </>
            ) : (
              words(source.sourceType)
            )}
            {source.skill && (
              <>
                {' '}· skill <Link to={`skills/${source.skill.id}`}>{source.skill.name}</Link>
              </>
            )}
            {source.suites.nodes.map((suite) => (
              <span key={suite.id}>
                {' '}· <Link to={`suites/${suite.id}`}>{suite.name}</Link>
              </span>
            ))}
          </p>
          <Queue source={source} />
          <Snapshots snapshots={source.snapshots} />
        </>
      )}
    </Page>
  );
}

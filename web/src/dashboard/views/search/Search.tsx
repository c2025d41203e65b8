import { Link, useSearch } from '../../router';
import type { SearchType } from '../../schema.gen';
import { Choice, Filters, oneOf } from '../../ui/Filters';
import { Page } from '../../ui/Page';
import { Empty } from '../../ui/State';
import { words } from '../../ui/words';
import { useView } from '../../useView';
import { SearchDocument, type SearchQuery } from './search.gen';

type Hit = SearchQuery['search'][number];

const types: SearchType[] = ['SKILL', 'SOURCE', 'SUITE', 'ENTRY', 'CONNECTION', 'SUGGESTION', 'ALERT', 'PROPOSAL', 'MEMBER'];

export default function Search() {
  const { get } = useSearch();
  const type = oneOf(get('type'), types);
  const view = useView(SearchDocument, { query: get('q'), types: type && [type] }, []);
  return (
    <Page view={view} find={(data) => data.search} title={get('q') ? `Search: ${get('q')}` : 'Search'}>
      {(hits) => (
        <>
          <Filters>
            <Choice label="Type" name="type" options={[{ value: '', label: 'everything' }, ...types]} />
          </Filters>
          <section className="card" aria-label="What was found">
            {hits.length === 0 && <Empty>{get('q') ? 'Nothing was found.' : 'Type what you look for at the top of the page.'}</Empty>}
            <ul className="plain">
              {hits.map((hit) => (
                <li key={hit.type + (hit.node?.id ?? hit.text)}>
                  <span className="badge">{words(hit.type)}</span> <Found hit={hit} />{' '}
                  {hit.match === 'FUZZY' && <span className="muted small">nearly</span>}
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
    </Page>
  );
}

function Found({ hit }: { hit: Hit }) {
  const text = hit.highlight.map((part, i) => (part.matched ? <mark key={i}>{part.text}</mark> : part.text));
  const to = hit.node && place(hit.node);
  return to ? <Link to={to}>{text}</Link> : <span>{text}</span>;
}

/** Where an object is shown. */
function place(node: NonNullable<Hit['node']>) {
  switch (node.__typename) {
    case 'Skill':
      return `skills/${node.id}`;
    case 'UploadSource':
    case 'RepohostSource':
      return `sources/${node.id}`;
    case 'EvalSuite':
      return `suites/${node.id}`;
    case 'RegistryEntry':
      return `registry/${node.id}`;
    case 'RepoLink':
      return 'codehost';
    case 'EvalSuggestion':
      return `sources/${node.cloudSource.id}?status=ALL&pick=${node.id}`;
    case 'Alert':
      return node.skill ? `skills/${node.skill.id}` : 'skills';
    case 'Proposal':
      return 'community';
    case 'User':
      return 'settings';
  }
}

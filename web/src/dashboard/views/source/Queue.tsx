import { useEffect, useState } from 'react';
import { useSearch } from '../../router';
import { Badge } from '../../ui/Bits';
import { Choice, Filters, SearchBox } from '../../ui/Filters';
import { Section } from '../../ui/Page';
import { Empty, useRefusal } from '../../ui/State';
import { Pager } from '../../ui/Table';
import { count } from '../../ui/words';
import { Detail } from './Detail';
import { orders, provenances, statuses } from './Source';
import type { SourceQuery, SuggestionFragment } from './source.gen';
import { useDecisions } from './useDecisions';
import { useShortcuts } from './useShortcuts';

export type SourceData = NonNullable<SourceQuery['source']>;

/** Suggestions to decide on, one after the other. The one that is picked is in the address. */
export function Queue({ source }: { source: SourceData }) {
  const { get, set } = useSearch();
  const { nodes, pageInfo } = source.suggestions;
  const [at, setAt] = useState(0);
  const found = nodes.findIndex((s) => s.id === get('pick'));
  // When the picked one has left the list, the next one has moved into its place.
  const index = found >= 0 ? found : Math.min(at, nodes.length - 1);
  const picked: SuggestionFragment | undefined = nodes[index];
  useEffect(() => setAt(Math.max(0, index)), [index]);

  const pick = (i: number) => nodes[i] && set({ pick: nodes[i].id });
  const refusal = useRefusal({ can: 'SOURCES_WRITE' });
  const decisions = useDecisions(source, picked, refusal);
  const [shortcuts, setShortcuts] = useShortcuts({
    a: () => decisions.decide('ACCEPTED'),
    r: () => decisions.decide('REJECTED'),
    u: () => decisions.undo(),
    j: () => pick(index + 1),
    k: () => pick(index - 1),
  });

  return (
    <Section title="Review queue" aside={`${count(source.pending.totalCount, 'suggestion')} waiting`}>
      <Filters>
        <SearchBox label="Query contains" />
        <Choice label="Status" name="status" options={[{ value: '', label: 'pending' }, ...statuses.slice(1), { value: 'ALL', label: 'all' }]} />
        <Choice label="Why" name="why" options={[{ value: '', label: 'any reason' }, ...provenances]} />
        <Choice label="Sort by" name="sort" options={[{ value: '', label: 'how often' }, ...orders.slice(1)]} />
        <label className="check keys">
          <input type="checkbox" checked={shortcuts} onChange={(event) => setShortcuts(event.target.checked)} />
          <span>
            Keys: <kbd>a</kbd> accept <kbd>r</kbd> reject <kbd>u</kbd> undo <kbd>j</kbd> <kbd>k</kbd> move
          </span>
        </label>
      </Filters>
      {refusal && <p className="note locked">You cannot review. {refusal}</p>}
      {picked ? (
        <div className="queue">
          <ol className="plain">
            {nodes.map((s, i) => (
              <li key={s.id}>
                <button type="button" aria-current={i === index ? 'true' : undefined} onClick={() => pick(i)}>
                  <span>{s.query}</span>
                  <span className="row small">
                    <Badge value={s.status} />
                    <span className="muted">
                      {s.shouldTrigger ? 'should trigger' : 'should not trigger'} · {s.observedCount}×
                    </span>
                  </span>
                </button>
              </li>
            ))}
          </ol>
          <Detail source={source} suggestion={picked} decisions={decisions} refusal={refusal} />
        </div>
      ) : (
        <Empty>
          {get('q') || get('status') || get('why') ? 'No suggestion matches.' : 'The queue is empty: everything is decided.'}{' '}
          {decisions.canUndo && (
            <button type="button" onClick={decisions.undo}>
              Undo the last decision
            </button>
          )}
        </Empty>
      )}
      <Pager info={pageInfo} />
    </Section>
  );
}

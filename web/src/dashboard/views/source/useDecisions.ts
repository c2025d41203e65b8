import { useState } from 'react';
import type { ReviewStatus } from '../../schema.gen';
import { useAct } from '../../useAct';
import type { SourceData } from './Queue';
import { ApplyDocument, ReviewDocument, type SuggestionFragment, UndoDocument } from './source.gen';

/** Decides on the suggestion that is picked, and remembers what was decided here so that it can be undone. */
export function useDecisions(source: SourceData, picked: SuggestionFragment | undefined, refusal: string) {
  const { act, busy } = useAct();
  const [decided, setDecided] = useState<string[]>([]);
  const last = decided.at(-1) ?? (picked?.review ? picked.id : undefined);
  const blocked = busy || Boolean(refusal);

  return {
    busy: blocked,
    canUndo: Boolean(last) && !blocked,

    async decide(reviewStatus: ReviewStatus) {
      if (!picked || blocked) return;
      const input = { suggestionId: picked.id, reviewStatus, ...facts(picked) };
      const word = reviewStatus === 'ACCEPTED' ? 'Accepted' : 'Rejected';
      const done = await act(ReviewDocument, { sourceId: source.id, input }, `${word}: ${picked.query}`);
      if (done) setDecided((ids) => [...ids, picked.id]);
    },

    async apply(suiteId: string) {
      if (!picked || blocked) return;
      const variables = { sourceId: source.id, suggestionId: picked.id, input: { suiteId, ...facts(picked) } };
      const name = source.suites.nodes.find((suite) => suite.id === suiteId)?.name;
      await act(ApplyDocument, variables, `Now a case of ${name}: ${picked.query}`);
    },

    async undo() {
      if (!last || blocked) return;
      const done = await act(UndoDocument, { sourceId: source.id, suggestionId: last }, 'Undone: it waits again.');
      if (done) setDecided((ids) => ids.slice(0, -1));
    },
  };
}

export type Decisions = ReturnType<typeof useDecisions>;

/** What a review keeps of its suggestion. */
function facts(s: SuggestionFragment) {
  const { query, shouldTrigger, source, provenance, rationale, observedCount, confidence, lastObservedAt, invocationType } = s;
  return { query, shouldTrigger, source, provenance, rationale, observedCount, confidence, lastObservedAt, invocationType };
}

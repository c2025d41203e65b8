// The review queue of a skill: lists which failed cases of eval runs wait for a decision, accepts one of them, and takes that back.
import { GraphQLClient } from 'graphql-request';
import { AcceptDocument, PendingDocument, UndoDocument, type PendingQuery } from './review.gen.js';

type Suggestion = NonNullable<PendingQuery['skill']>['suggestions']['nodes'][number];

const [skill = 'pdf-forms', wanted = ''] = process.argv.slice(2);
const client = new GraphQLClient(`${process.env.SKILLGRAPH_URL}/graphql`, {
  headers: { authorization: `Bearer ${process.env.SKILLGRAPH_KEY}` },
});

/** Everything that waits for a decision, asked for page by page, by the alphabet. */
async function pending(): Promise<Suggestion[]> {
  const all: Suggestion[] = [];
  for (let after: string | null | undefined; ; ) {
    const answer = await client.request(PendingDocument, { skill, after });
    const { nodes, pageInfo } = answer.skill!.suggestions;
    all.push(...nodes);
    if (!pageInfo.hasNextPage) return all.sort((a, b) => (a.query < b.query ? -1 : 1));
    after = pageInfo.endCursor;
  }
}

const waiting = await pending();
console.log(`${waiting.length} suggestions wait for ${skill}:`);
for (const { query, provenance, rationale } of waiting) {
  console.log(`  ${provenance.padEnd(14)}  ${query}\n${' '.repeat(18)}${rationale}`);
}

const found = waiting.find(({ query }) => query.includes(wanted));
if (!found) throw new Error(`no suggestion has "${wanted}" in it`);

const { id, cloudSource, query, shouldTrigger, source, provenance } = found;
const accepted = await client.request(AcceptDocument, {
  sourceId: cloudSource.id,
  input: { suggestionId: id, query, shouldTrigger, source, provenance, reviewStatus: 'ACCEPTED' },
});
const { reviewStatus, reviewedBy } = accepted.reviewSuggestion!.review;
console.log(`${reviewStatus} by ${reviewedBy?.email}: ${query}`);
console.log(`${(await pending()).length} wait now`);

await client.request(UndoDocument, { sourceId: cloudSource.id, suggestionId: id });
console.log(`Undone: ${(await pending()).length} wait again`);

// The clients of npm against a running server: what happens arrives, a client that comes back misses nothing, and a key that is revoked ends
// its streams. Environment: SKILLGRAPH_URL, SKILLGRAPH_KEY.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient as createSSE } from 'graphql-sse';
import { createClient as createWS } from 'graphql-ws';
import WebSocket from 'ws';

const { SKILLGRAPH_URL: base, SKILLGRAPH_KEY: key } = process.env;
const skip = !base || !key ? 'SKILLGRAPH_URL and SKILLGRAPH_KEY are not set' : false;
const events = 'subscription ($after: ID) { events(after: $after, kinds: ["suite.*", "key.*"]) { id kind objectId } }';

const clients = {
  'graphql-ws': (key) =>
    createWS({
      url: new URL('graphql', base).href.replace(/^http/, 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: `Bearer ${key}` },
      retryAttempts: 0,
    }),
  'graphql-sse': (key) =>
    createSSE({
      url: new URL('graphql', base).href,
      headers: { Authorization: `Bearer ${key}` },
      retryAttempts: 0,
    }),
};

async function run(query, variables) {
  const response = await fetch(new URL('graphql', base), {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return data;
}

const suite = (name) =>
  run(
    `mutation ($name: String!) { createSuite(input: {name: $name, sourceKind: MANUAL, verifierKind: LLM_JUDGE,
      casesJson: [{case_kind: "trigger_query", query: "q", expectation: "should_trigger"}]}) { suite { id } } }`,
    { name },
  ).then((data) => data.createSuite.suite.id);

const newest = () => run('{ events(first: 1) { nodes { id } } }').then((data) => data.events.nodes[0].id);

const next = (stream) => stream.next().then(({ value }) => value.data.events);

for (const [name, connect] of Object.entries(clients)) {
  test(name, { skip, timeout: 60_000 }, async (t) => {
    await t.test('what happens arrives, in order', async () => {
      const after = await newest();
      const stream = connect(key).iterate({ query: events, variables: { after } });
      for (const label of ['one', 'two', 'three']) {
        const id = await suite(label);
        const event = await next(stream);
        assert.deepEqual([event.kind, event.objectId], ['suite.created', id]);
      }
      await stream.return();
    });

    await t.test('who comes back misses nothing', async () => {
      let after = await newest();
      const made = [];
      for (let round = 0; round < 3; round++) {
        made.push(await suite('away'), await suite('away'));
        const stream = connect(key).iterate({ query: events, variables: { after } });
        for (const id of made.splice(0)) {
          const event = await next(stream);
          assert.equal(event.objectId, id);
          after = event.id;
        }
        await stream.return();
      }
    });

    await t.test('mistakes are told', async () => {
      const told = await connect(key)
        .iterate({ query: 'subscription { events(kinds: ["nonsense"]) { id } }' })
        .next()
        .then(
          ({ value }) => value.errors,
          (errors) => errors,
        );
      assert.equal(told[0].extensions.code, 'INVALID');
    });

    await t.test('a revoked key ends its streams', async () => {
      const made = await run('mutation { createApiKey(input: {name: "live"}) { key apiKey { id } } }');
      const stream = connect(made.createApiKey.key).iterate({ query: events, variables: { after: await newest() } });
      await suite('before');
      assert.equal((await next(stream)).kind, 'suite.created');
      await run('mutation ($id: ID!) { revokeApiKey(id: $id) { apiKey { id } } }', { id: made.createApiKey.apiKey.id });
      const start = Date.now();
      let why;
      try {
        for await (const { errors } of stream) why ??= errors;
      } catch (error) {
        why ??= error;
      }
      assert.match(JSON.stringify(why), /UNAUTHENTICATED|not valid/);
      assert.ok(Date.now() - start < 5000);
    });
  });
}

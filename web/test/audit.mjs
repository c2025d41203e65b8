// Runs every GraphQL-over-HTTP audit of graphql-http against a running server.
// Environment: SKILLGRAPH_URL, SKILLGRAPH_KEY.
import { auditServer } from 'graphql-http';

const { SKILLGRAPH_URL: base, SKILLGRAPH_KEY: key } = process.env;
if (!base || !key) {
  console.error('SKILLGRAPH_URL and SKILLGRAPH_KEY must be set');
  process.exit(1);
}

const results = await auditServer({
  url: new URL('graphql', base).href,
  fetchFn: (url, init) => fetch(url, { ...init, headers: { ...init?.headers, authorization: `Bearer ${key}` } }),
});

const bad = results.filter(({ status }) => status !== 'ok');
for (const { id, name, status, reason, response } of bad) {
  const body = await response?.text().catch(() => '(already read)');
  console.log(`${status.toUpperCase()} ${id} ${name}\n  ${reason}\n  HTTP ${response?.status} ${body}`);
}

console.log(`${results.length - bad.length} passed, ${bad.length} failed`);
// A new release may bring more audits, but fewer would mean that nothing was tried.
process.exit(bad.length > 0 || results.length < 61 ? 1 : 0);

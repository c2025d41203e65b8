// Drives the dashboard of a running server in a real browser, with the demo data. Environment, besides that of the
// harness: SKILLGRAPH_FREE_KEY, of an organization with the plan FREE.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, connect } from 'node:net';
import { ask, base, check, finish, fits, key, looks, refused, screenshots } from './harness.mjs';
import { entry, skill, source, suite, views } from './views.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const at = (path, from = base) => new URL(path, from).href;

/** Signs in without the form, which has a test of its own. */
const signedIn = (page, withKey = key) => page.addInitScript((k) => sessionStorage.setItem('skillgraph.key', k), withKey);

/** Opens a view and waits until all of it is there. */
async function open(page, { path, text, chart }, from = base) {
  await page.goto(at(path, from));
  await page.locator('main').getByText(text).first().waitFor();
  await page.locator('.page[aria-busy=false]').waitFor();
  if (chart) await page.locator('.chart canvas').nth(1).waitFor();
}

const view = (name) => views.find((v) => v.name === name);
const said = (page, text) => page.locator('.said').getByText(text).waitFor();

/** Tries until it holds: the page learns of a change a moment after the API. */
async function soon(holds) {
  for (let left = 50; left > 0; left--) {
    if (await holds()) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.ok(await holds(), `it never became true: ${holds}`);
}

await check('somebody without a key signs in, reloads and signs out', async (page) => {
  await page.goto(base);
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByText('ada@example.com').first().waitFor();
  assert.ok(!page.url().includes(key));
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes(key));
  await page.reload();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  assert.ok(!(await page.evaluate(() => JSON.stringify(sessionStorage))).includes(key));
});

await check(
  'a wrong key is refused',
  async (page) => {
    await page.goto(at('skills'));
    await page.getByLabel('API key').fill('sg_live_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('does not accept this key').waitFor();
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Skills' }).waitFor(); // the view that was asked for
  },
  { expected: refused },
);

await check(
  'a key that is revoked meanwhile leads back to the sign-in',
  async (page) => {
    const { createApiKey: made } = await ask('mutation { createApiKey(input: {name: "to be revoked"}) { key apiKey { id } } }');
    await signedIn(page, made.key);
    await page.goto(base);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await ask('mutation($id: ID!) { revokeApiKey(id: $id) { apiKey { id } } }', { id: made.apiKey.id });
    const headers = { Authorization: `Bearer ${made.key}` };
    await soon(async () => (await fetch(at('graphql?query={viewer{role}}'), { headers })).status === 401); // within seconds
    await page.getByRole('link', { name: 'Skills', exact: true }).click();
    await page.getByRole('alert').getByText('does not accept this key').waitFor();
  },
  { expected: /status of 401|WebSocket/ },
);

await check('the playground has the same session', async (page) => {
  await signedIn(page);
  await page.goto(base);
  await page.getByRole('link', { name: 'Playground' }).click();
  await page.getByRole('status').filter({ hasText: 'Signed in as' }).waitFor();
});

await check('every view opens by the menu, by its address, and after a reload', async (page) => {
  await signedIn(page);
  await page.goto(base);
  const menu = page.getByRole('navigation', { name: 'Views' });
  for (const label of ['Skills', 'Sources & review', 'Suites', 'Registry', 'Code host', 'Community & signals', 'Settings', 'Overview']) {
    await menu.getByRole('link', { name: label }).click();
    await page.locator('.page[aria-busy=false] h1').waitFor();
  }
  await open(page, view('skill'));
  await page.reload();
  await page.getByRole('heading', { name: skill.name }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto(at('skills/nonsense'));
  await page.locator('main').getByText(/not work|There is no such/).waitFor();
});

await check('the address holds the state of a list, and the server filters', async (page) => {
  await signedIn(page);
  await open(page, { path: 'skills', text: 'sql-review' });
  await page.getByLabel('Name contains').fill('con');
  await page.waitForURL(/q=con/);
  await page.getByText('sql-review').waitFor({ state: 'detached' });
  await page.getByLabel('Health').selectOption('HEALTHY');
  await page.waitForURL(/status=HEALTHY/);
  await page.reload();
  await page.getByRole('link', { name: 'unit-conversion' }).waitFor();
  assert.equal(await page.getByLabel('Name contains').inputValue(), 'con');
  assert.equal(await page.locator('tbody tr').count(), 1);
  await page.getByLabel('Name contains').fill('there is no such skill');
  await page.getByText('No skill matches.').waitFor();
});

await check('suggestions are accepted, undone, rejected and applied with keys and buttons', async (page) => {
  const status = async (query) => {
    const { source: s } = await ask(
      'query($id: ID!, $query: String) { source(id: $id) { suggestions(first: 5, filter: {queryContains: $query}) { nodes { query status review { appliedSuiteId } } } } }',
      { id: source.id, query },
    );
    return s.suggestions.nodes.find((n) => n.query === query);
  };
  await signedIn(page);
  await open(page, view('source'));
  const picked = page.locator('.detail .query');
  const query = async () => (await picked.innerText()).slice(1, -1);

  const first = await query();
  await page.keyboard.press('a');
  await said(page, 'Accepted');
  assert.equal((await status(first)).status, 'ACCEPTED');
  await soon(async () => (await query()) !== first); // the next one is picked

  await page.keyboard.press('u');
  await said(page, 'Undone');
  assert.equal((await status(first)).status, 'PENDING');

  await page.locator('.queue ol').getByText(first, { exact: true }).click();
  await soon(async () => (await query()) === first);
  await page.keyboard.press('r');
  await said(page, 'Rejected');
  assert.equal((await status(first)).status, 'REJECTED');

  await soon(async () => (await query()) !== first);
  const second = await query();
  await page.getByLabel('Suite').selectOption(suite.id);
  await page.getByRole('button', { name: 'Apply to suite' }).click();
  await said(page, 'Now a case of');
  const applied = await status(second);
  assert.equal(applied.status, 'ACCEPTED');
  assert.equal(applied.review.appliedSuiteId, suite.id);
  const { suite: after } = await ask('query($id: ID!) { suite(id: $id) { cases { ... on TriggerQueryCase { query } } } }', { id: suite.id });
  assert.ok(after.cases.some((c) => c.query === second));

  await page.getByLabel('Query contains').fill('a');
  await page.keyboard.press('a'); // somebody types: nothing is accepted
  await page.waitForURL(/q=aa/);
});

await check('the threshold slider tells what would have happened', async (page) => {
  await signedIn(page);
  await open(page, view('skill'));
  const slider = page.getByLabel(/Threshold/);
  await slider.fill('0');
  await page.getByText('It would not have fired').waitFor();
  await slider.fill('0.5');
  const { alertDryRun: days } = await ask(
    'query($id: ID!) { alertDryRun(input: {skillId: $id, type: PASS_RATE_BELOW, threshold: 0.5, days: 90}) { date } }',
    { id: skill.id },
  );
  await page.getByText(`on ${days.length} days in all`).waitFor();
});

await check('revoking says how many installs it is about, and then revokes', async (page) => {
  await signedIn(page);
  await open(page, { path: `registry/${entry.id}?version=1.0.0`, text: 'Version 1.0.0' });
  await page.getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 install of 3').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByLabel(/Reason/).fill('It signs twice');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('It signs twice').first().waitFor();
  const { entry: now } = await ask('query($id: ID!) { entry(id: $id) { version(version: "1.0.0") { revokedAt revokeReason } } }', { id: entry.id });
  assert.ok(now.version.revokedAt);
  assert.equal(now.version.revokeReason, 'It signs twice');
});

await check('a rollback makes the older version current', async (page) => {
  await signedIn(page);
  await open(page, { path: `registry/${entry.id}?version=1.1.0`, text: 'Version 1.1.0' });
  await page.getByRole('button', { name: 'Make current' }).click();
  await page.getByRole('dialog').getByText('2 installs of 3').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Make current' }).click();
  await said(page, '1.1.0 is current now');
  const { entry: now } = await ask('query($id: ID!) { entry(id: $id) { currentVersion { version } } }', { id: entry.id });
  assert.equal(now.currentVersion.version, '1.1.0');
});

await check('a repository is connected and synced', async (page) => {
  await signedIn(page);
  await open(page, view('codehost'));
  await page.getByLabel('Entry').selectOption('sql-review');
  await page.getByLabel('Repository', { exact: true }).fill('demo/skills');
  await page.getByLabel('Path of the skill').fill('skills/sql-review');
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  const made = page.locator('section').filter({ has: page.getByRole('heading', { name: 'demo/skills → sql-review' }) });
  await made.getByRole('button', { name: 'Sync now' }).click();
  await made.getByRole('region', { name: 'Attempts of demo/skills' }).locator('tbody tr').first().waitFor();
});

await check('what the permissions of a key forbid is said', async (page) => {
  const { createApiKey: made } = await ask('mutation { createApiKey(input: {name: "reader", permissions: []}) { key } }');
  await signedIn(page, made.key);
  await open(page, { path: 'settings', text: 'You cannot see or make keys' });
  await page.screenshot({ path: `${screenshots}/forbidden.png`, fullPage: true });
  await open(page, { path: 'codehost', text: 'It takes the permission registry:push' });
  await open(page, { path: `sources/${source.id}`, text: 'You cannot review' });
  assert.ok(await page.getByRole('button', { name: 'Accept' }).isDisabled());
});

await check('what the plan forbids is said', async (page) => {
  await signedIn(page, process.env.SKILLGRAPH_FREE_KEY);
  await page.goto(at('codehost'));
  await page.getByText('It takes the pro plan').waitFor();
  await open(page, { path: 'suites', text: 'No suite yet' });
  await page.screenshot({ path: `${screenshots}/empty.png` });
});

await check(
  'when the server is away the page says so, and goes on when it is back',
  async (page) => {
    const target = new URL(base);
    const sockets = new Set();
    const gate = createServer((socket) => {
      const other = connect(Number(target.port), target.hostname);
      for (const s of [socket, other]) sockets.add(s.on('error', () => {}).on('close', () => sockets.delete(s)));
      socket.pipe(other).pipe(socket);
      socket.on('close', () => other.destroy());
      other.on('close', () => socket.destroy());
    });
    const listen = (port) => new Promise((done) => gate.listen(port, '127.0.0.1', done));
    await listen(0);
    const { port } = gate.address();
    await signedIn(page);
    await open(page, view('skills'), `http://127.0.0.1:${port}/`);
    await page.evaluate(() => Object.assign(window, { same: true }));

    gate.close();
    for (const socket of sockets) socket.destroy();
    await page.getByLabel('Health').selectOption('CRITICAL');
    await page.getByText('The server does not answer').waitFor();
    await page.getByText('unit-conversion').waitFor(); // what was there stays
    await listen(port);
    await page.getByText('The server does not answer').waitFor({ state: 'detached' });
    await page.getByText('unit-conversion').waitFor({ state: 'detached' });
    await page.getByText('sql-review').waitFor();
    assert.ok(await page.evaluate(() => window.same), 'the page was reloaded');
    gate.close();
    for (const socket of sockets) socket.destroy();
  },
  { expected: /ERR_|WebSocket/, anywhere: true },
);

await check('what somebody else does appears without a reload', async (page) => {
  await signedIn(page);
  await open(page, { path: 'suites', text: 'Revision' });
  await page.locator('.top').getByText('Live', { exact: true }).waitFor();
  await page.evaluate(() => Object.assign(window, { same: true }));
  const input = { name: 'Made by somebody else', sourceKind: 'MANUAL', verifierKind: 'LLM_JUDGE', casesJson: [{ case_kind: 'trigger_query', query: 'Hello', expectation: 'should_trigger' }] };
  await ask('mutation($input: CreateSuiteInput!) { createSuite(input: $input) { suite { id } } }', { input });
  await page.getByRole('link', { name: input.name }).waitFor({ timeout: 5000 }); // asking by itself takes 30 seconds
  assert.ok(await page.evaluate(() => window.same), 'the page was reloaded');
});

await check('the first load stays below 200 KiB', async (page) => {
  await signedIn(page);
  let bytes = 0;
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  cdp.on('Network.loadingFinished', (event) => (bytes += event.encodedDataLength));
  const start = Date.now();
  await open(page, view('overview'));
  const took = Date.now() - start;
  console.log(`        ${Math.round(bytes / 1024)} KiB with all its data, after ${took} ms`);
  assert.ok(bytes < 200 * 1024, `${bytes} bytes`);
});

const looking = looks.map(({ name, options }) => {
  // Two looks have both widths and both themes between them.
  const thorough = ['light-1440', 'dark-390'].includes(name);
  return check(
    `every view is one query and looks right${thorough ? ' and has no serious accessibility problem' : ''}, ${name}`,
    async (page) => {
      const asked = [];
      page.on('request', (r) => r.url().endsWith('/graphql') && r.method() === 'POST' && asked.push(r.postDataJSON().operationName));
      await page.goto(base);
      await page.getByLabel('API key').waitFor();
      await page.screenshot({ path: `${screenshots}/sign-in-${name}.png` });
      if (thorough) await accessible(page, 'sign-in');
      await signedIn(page);
      for (const v of views) {
        asked.length = 0;
        await open(page, v);
        assert.equal(asked.filter((operation) => operation !== 'viewer').length, 1, `${v.name} asked ${asked}`);
        await fits(page);
        if (thorough) await accessible(page, v.name);
        await page.screenshot({ path: `${screenshots}/${v.name}-${name}.png`, fullPage: true });
      }
    },
    options,
  );
});
await Promise.all(looking); // side by side: they change nothing

async function accessible(page, name) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ['violations'], elementRef: false, preload: false }));
  const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact));
  assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' | ')}`), [], name);
}

await finish();

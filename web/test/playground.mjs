// Drives the playground of a running server in a real browser; the key may write suites.
import assert from 'node:assert/strict';
import { base, check, finish, fits, key, looks, refused, screenshots } from './harness.mjs';

/** Opens the playground and waits for the editors, which load after the buttons. */
async function open(page) {
  await page.goto(new URL('playground', base).href);
  await page.locator('.graphiql-query-editor .view-line').first().waitFor();
  await page.locator('.graphiql-response .monaco-editor').waitFor();
}

const status = (page, text) => page.getByRole('status').filter({ hasText: text }).waitFor();

async function signIn(page, withKey = key) {
  await page.getByLabel('API key').fill(withKey);
  await page.getByRole('button', { name: 'Use key' }).click();
}

async function openSignedIn(page) {
  await open(page);
  await signIn(page);
  await status(page, 'Signed in as');
}

/** Opens an example and waits until GraphiQL, a moment later, has read the operation's name. */
async function example(page, title, operation) {
  await page.getByRole('button', { name: 'Examples' }).click();
  await page.getByRole('menuitem', { name: title }).click();
  await page.getByRole('tab', { name: operation }).waitFor();
}

/** Presses the button and waits for an answer that holds the text. Monaco writes no-break spaces. */
async function execute(page, text) {
  await page.getByRole('button', { name: /^Execute query/ }).click();
  const answer = page.locator('.graphiql-response .view-lines');
  await answer.filter({ hasText: text }).waitFor();
  return (await answer.innerText()).replaceAll('\u00a0', ' ');
}

await check('without a key nothing is sent, and the page says why', async (page) => {
  let sent = 0;
  page.on('request', (request) => request.url().endsWith('/graphql') && sent++);
  await open(page);
  await status(page, 'No key');
  await execute(page, 'Paste an API key');
  assert.equal(sent, 0);
});

await check('the viewer example answers', async (page) => {
  await openSignedIn(page);
  await example(page, 'Who am I?', 'whoAmI');
  const answer = await execute(page, 'permissions');
  const email = JSON.parse(answer).data.viewer.user.email;
  await status(page, email);
});

await check('the create-suite example makes a suite', async (page) => {
  await openSignedIn(page);
  await example(page, 'Create an eval suite', 'createSuite');
  const answer = await execute(page, 'createSuite');
  assert.match(answer, /"id": "/);
  assert.match(answer, /TriggerQueryCase/);
});

await check('every other example is understood by the server', async (page) => {
  await openSignedIn(page);
  await example(page, 'List suites', 'listSuites');
  await execute(page, 'totalCount');
  await example(page, 'What happened lately', 'events');
  await execute(page, '"events"');
});

await check('the docs explorer shows the schema', async (page) => {
  await openSignedIn(page);
  await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  await page.getByRole('link', { name: 'Query', exact: true }).click();
  await page.getByRole('link', { name: 'suites', exact: true }).waitFor();
});

await check('the key stays in session storage, survives a reload and can be forgotten', async (page) => {
  await openSignedIn(page);
  await example(page, 'Who am I?', 'whoAmI');
  await execute(page, 'permissions');
  await page.waitForTimeout(1000); // GraphiQL stores its tabs after half a second
  assert.ok(!page.url().includes(key));
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes(key));
  await page.reload();
  await status(page, 'Signed in as');
  await page.getByRole('button', { name: 'Forget key' }).click();
  await status(page, 'No key');
  assert.ok(!(await page.evaluate(() => JSON.stringify(sessionStorage))).includes(key));
});

await check(
  'a bad key is refused, and a good one then works',
  async (page) => {
    await open(page);
    await signIn(page, 'sg_live_wrong');
    await status(page, 'Key refused (401)');
    await page.screenshot({ path: `${screenshots}/refused.png` });
    await signIn(page);
    await status(page, 'Signed in as');
  },
  { expected: refused },
);

await check('the reference shows what a route takes and answers', async (page) => {
  await page.goto(`${base}/reference`);
  await page.getByLabel('Filter the operations').fill('POST eval-suites');
  await page.getByRole('status').filter({ hasText: /^[1-9] operations$/ }).waitFor();
  await page.locator('#CreateSuite > summary').click();
  await page.locator('#CreateSuite').getByText('verifier_kind').first().waitFor();
  await page.screenshot({ path: `${screenshots}/reference.png` });
});

await check('the keyboard is enough', async (page) => {
  await open(page);
  await page.getByLabel('API key').focus();
  await page.keyboard.insertText(key);
  await page.keyboard.press('Enter');
  await status(page, 'Signed in as');
  await page.getByRole('button', { name: 'Examples' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('[role=menuitem]:focus', { hasText: 'Who am I?' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.locator('[role=menuitem]:focus', { hasText: 'Create' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'createSuite' }).waitFor();
});

for (const { name, options } of looks) {
  const shoot = (page, what) => page.screenshot({ path: `${screenshots}/${what}-${name}.png` });
  await check(
    `looks right, ${name}`,
    async (page) => {
      await open(page);
      await shoot(page, 'no-key');
      await signIn(page);
      await status(page, 'Signed in as');
      await example(page, 'Create an eval suite', 'createSuite');
      await execute(page, 'createSuite');
      await page.waitForTimeout(300); // the menu fades out
      await shoot(page, 'answer');
      await page.getByRole('button', { name: 'Examples' }).click();
      await page.getByRole('menuitem').first().waitFor();
      await shoot(page, 'examples');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await page.getByRole('link', { name: 'Query', exact: true }).waitFor();
      await shoot(page, 'docs');
      await fits(page);
    },
    options,
  );
}

await finish();

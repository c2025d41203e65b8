// What the browser tests share. Environment: SKILLGRAPH_URL, SKILLGRAPH_KEY, CHROMIUM.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const { SKILLGRAPH_URL: base, SKILLGRAPH_KEY: key, CHROMIUM = '/usr/bin/chromium' } = process.env;
if (!base || !key) {
  console.error('SKILLGRAPH_URL and SKILLGRAPH_KEY must be set');
  process.exit(1);
}
const home = new URL(base).origin;
export const screenshots = fileURLToPath(new URL('../screenshots', import.meta.url));
mkdirSync(screenshots, { recursive: true });

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
});

let passed = 0;
let failed = 0;

/** Runs one check on a fresh profile. What the page logs as an error, or asks of another origin, fails it too. */
export async function check(name, body, { expected, anywhere = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(15_000);
  const wrong = [];
  context.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
  context.on('weberror', (event) => wrong.push(String(event.error())));
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'data:' && url.origin !== home && !anywhere) wrong.push(request.url());
  });
  const start = Date.now();
  try {
    await body(await context.newPage());
    assert.deepEqual(wrong.filter((text) => !expected?.test(text)), []);
    passed++;
    console.log(`ok      ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
  await context.close();
}

/** What the browser itself reports of every answer 401. */
export const refused = /status of 401/;

/** Fails when the page can be scrolled sideways. */
export async function fits(page) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} px too wide`);
}

export const looks = ['light', 'dark'].flatMap((colorScheme) =>
  [390, 1440].map((width) => ({
    name: `${colorScheme}-${width}`,
    options: { colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } },
  })),
);

/** Asks the API, as any client does. */
export async function ask(query, variables = {}, withKey = key) {
  const response = await fetch(new URL('graphql', base), {
    method: 'POST',
    headers: { Authorization: `Bearer ${withKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined);
  return data;
}

export async function finish() {
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

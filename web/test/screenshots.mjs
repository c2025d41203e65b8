// Writes docs/images, for the README; each must stay below 100 KB.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { check, finish, key, base } from './harness.mjs';
import { views } from './views.mjs';

const folder = fileURLToPath(new URL('../../docs/images/', import.meta.url));
mkdirSync(folder, { recursive: true });

for (const [name, colorScheme] of [['overview', 'light'], ['skill', 'dark']]) {
  await check(
    name,
    async (page) => {
      const { path, text, chart } = views.find((view) => view.name === name);
      await page.addInitScript((k) => sessionStorage.setItem('skillgraph.key', k), key);
      await page.goto(new URL(path, base).href);
      await page.locator('main').getByText(text).first().waitFor();
      if (chart) await page.locator('.chart canvas').nth(1).waitFor();
      const browser = await page.context().newCDPSession(page);
      const { data } = await browser.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
      const image = Buffer.from(data, 'base64');
      assert.ok(image.length < 100_000, `${image.length} bytes`);
      writeFileSync(`${folder}${name}.webp`, image);
    },
    { colorScheme, viewport: { width: 1200, height: 800 } },
  );
}

await finish();

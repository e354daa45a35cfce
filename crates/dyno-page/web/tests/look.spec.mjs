// How the page looks: light, dark, on paper, narrow and wide; hostile names; accessibility; speed. Leaves
// screenshots in target/screenshots for people to judge.

import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { SHOTS, drawn, open } from './pages.mjs';
import { HOSTILE, LONG } from './runs.mjs';

const shot = (name) => join(SHOTS, `${name}.png`);
const plotIds = (tab) => tab.locator('figure.plot:visible').evaluateAll((all) => all.map((f) => f.dataset.plot));

/** The page may not be wider than the window. */
async function fits(tab) {
  const [scroll, width] = await tab.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  expect(scroll).toBeLessThanOrEqual(width);
}

for (const scheme of ['light', 'dark']) {
  test(`axe finds nothing serious, ${scheme}`, async ({ browser }) => {
    const context = await browser.newContext({ colorScheme: scheme });
    const tab = await context.newPage();
    // Some stacks are enough: every further row is more of the same, and axe looks at each for a while.
    const trouble = await open(tab, 'two', 'stack=floor-futex&stack=pipe&stack=tcp&stack=vsomeip');
    for (const id of await plotIds(tab)) await drawn(tab, id);
    const found = async (part = 'html') => {
      const { violations } = await new AxeBuilder({ page: tab }).include(part).analyze();
      return violations
        .filter((v) => ['serious', 'critical'].includes(v.impact))
        .map(
          (v) =>
            `${v.id}: ${v.nodes
              .slice(0, 4)
              .map((n) => `${n.target.join(' ')} ${n.failureSummary}`)
              .join('; ')}`,
        );
    };
    expect(await found()).toEqual([]);
    await tab.locator('details[data-facet="stacks"] summary').click();
    expect(await found('nav')).toEqual([]);
    await tab.keyboard.press('Escape');
    await tab.locator('#plot-percentiles').getByRole('button', { name: 'data as a table' }).click();
    await tab.locator('#matrix button.open').first().click();
    await expect(tab.getByRole('dialog').locator('.canvas svg').first()).toBeVisible();
    expect(await found('dialog')).toEqual([]);
    expect(trouble).toEqual([]);
    await context.close();
  });

  test(`screenshots, ${scheme}`, async ({ browser }) => {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1440, height: 900 } });
    const tab = await context.newPage();
    const trouble = await open(tab, 'rich');
    for (const id of await plotIds(tab)) {
      const figure = await drawn(tab, id);
      await figure.screenshot({ path: shot(`plot-${id}-${scheme}`) });
    }
    await tab.evaluate(() => window.scrollTo(0, 0));
    await tab.screenshot({ path: shot(`top-${scheme}`) });
    await tab.screenshot({ path: shot(`page-${scheme}`), fullPage: true });
    await tab.locator('#matrix').screenshot({ path: shot(`matrix-${scheme}`) });
    await tab.locator('#matrix').getByRole('button', { name: 'zenoh-tcp' }).first().click();
    await expect(tab.getByRole('dialog').locator('.canvas svg').first()).toBeVisible();
    await tab.screenshot({ path: shot(`dialog-${scheme}`) });
    expect(trouble).toEqual([]);
    await context.close();
  });
}

test('the toggle overrules the system, plots follow', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich');
  const ground = () => tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const figure = await drawn(tab, 'percentiles');
  const before = await figure.locator('.canvas').innerHTML();
  const light = await ground();
  await tab.getByLabel('Colours').selectOption('dark');
  expect(await ground()).not.toBe(light);
  await expect(async () => expect(await figure.locator('.canvas').innerHTML()).not.toBe(before)).toPass();
  await tab.reload();
  await tab.waitForSelector('html[data-ready]');
  expect(await ground()).not.toBe(light);
  await tab.getByLabel('Colours').selectOption('auto');
  expect(await ground()).toBe(light);
  expect(trouble).toEqual([]);
});

test('paper is light, whole and without controls', async ({ browser }) => {
  const context = await browser.newContext({ colorScheme: 'dark' });
  const tab = await context.newPage();
  const trouble = await open(tab, 'rich');
  const plots = await plotIds(tab);
  await tab.emulateMedia({ media: 'print' });
  await expect(tab.locator('#controls')).toBeHidden();
  await expect(tab.locator('.tools').first()).toBeHidden();
  await expect(tab.locator('.paper svg')).not.toHaveCount(0);
  expect(await tab.locator('.paper:visible > svg').count()).toBe(plots.length);
  expect(await tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
    'rgb(255, 255, 255)',
  );
  expect(await tab.locator('main details:not([open])').count()).toBe(await tab.locator('nav details').count());
  await tab.locator('#plots').screenshot({ path: shot('paper') });
  await tab.pdf({ path: join(SHOTS, 'page.pdf'), preferCSSPageSize: true, printBackground: true });
  await tab.emulateMedia({ media: 'screen' });
  await expect(tab.locator('.paper svg')).toHaveCount(0);
  await expect(tab.locator('#controls')).toBeVisible();
  expect(trouble).toEqual([]);
  await context.close();
});

for (const width of [360, 768, 1440, 2560]) {
  test(`nothing sticks out at ${width} px`, async ({ browser }) => {
    const context = await browser.newContext({ viewport: { width, height: 900 } });
    const tab = await context.newPage();
    const trouble = await open(tab, 'two');
    await fits(tab);
    for (const id of await plotIds(tab)) await drawn(tab, id);
    await fits(tab);
    await tab.evaluate(() => window.scrollTo(0, 0));
    await tab.screenshot({ path: shot(`width-${width}`), fullPage: width < 1000 });
    await tab.locator('#matrix button.open').first().click();
    await expect(tab.getByRole('dialog')).toBeVisible();
    const [scroll, inner] = await tab.getByRole('dialog').evaluate((d) => [d.scrollWidth, d.clientWidth]);
    expect(scroll).toBeLessThanOrEqual(inner);
    await tab.screenshot({ path: shot(`dialog-${width}`) });
    expect(trouble).toEqual([]);
    await context.close();
  });
}

test('hostile names are text, run nothing and break nothing', async ({ page: tab }) => {
  const trouble = await open(tab, 'hostile');
  for (const id of await plotIds(tab)) {
    const figure = await drawn(tab, id);
    const box = await figure.locator('.canvas').boundingBox();
    // Tooltips are HTML: look at some.
    for (const [x, y] of [
      [0.3, 0.4],
      [0.5, 0.5],
      [0.7, 0.4],
      [0.5, 0.7],
    ]) {
      await tab.mouse.move(box.x + box.width * x, box.y + box.height * y);
    }
    await figure.getByRole('button', { name: 'data as a table' }).click();
  }
  await fits(tab);
  const names = await tab.locator('#matrix tbody .name').evaluateAll((all) => all.map((e) => e.textContent));
  // What joins emoji may be taken out of a name; everything else stands as it was given.
  for (const name of HOSTILE.slice(0, 8).filter((n) => !n.includes('\u200d'))) expect(names).toContain(name);
  const long = tab.locator('#matrix tbody .name').filter({ hasText: LONG }).first();
  expect((await long.boundingBox()).width).toBeLessThan(500);
  expect(await long.getAttribute('title')).toBe(LONG);
  await tab.locator('#matrix button.open').first().click();
  await expect(tab.getByRole('dialog')).toBeVisible();
  const [scroll, inner] = await tab.getByRole('dialog').evaluate((d) => [d.scrollWidth, d.clientWidth]);
  expect(scroll).toBeLessThanOrEqual(inner);
  await tab.screenshot({ path: shot('hostile-dialog') });
  await tab.keyboard.press('Escape');
  await tab.evaluate(() => window.scrollTo(0, 0));
  await tab.screenshot({ path: shot('hostile'), fullPage: true });
  // Nothing that a name could have made stands in the page.
  expect(await tab.locator('img, b, iframe, body script:not([type])').count()).toBe(1);
  expect(await tab.evaluate(() => window.pwned)).toBe(undefined);
  const width = tab.viewportSize();
  await tab.setViewportSize({ width: 360, height: width.height });
  await fits(tab);
  expect(trouble).toEqual([]);
});

test('the time until the page can be used is told', async ({ page: tab }) => {
  const trouble = await open(tab, 'two');
  const times = await tab.evaluate(() => {
    const mark = performance.getEntriesByName('dyno-interactive')[0].startTime;
    const [nav] = performance.getEntriesByType('navigation');
    const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null;
    return {
      interactive: Math.round(mark),
      load: Math.round(nav.loadEventEnd),
      paint: paint && Math.round(paint),
      cells: document.querySelectorAll('#matrix tbody tr').length,
    };
  });
  console.log(
    `time to interactive ${times.interactive} ms, first paint ${times.paint} ms, load ${times.load} ms, ${times.cells} experiments`,
  );
  expect(times.interactive).toBeGreaterThan(0);
  expect(trouble).toEqual([]);
});

// What a reader does with the page: select, sort, hover, open, save, follow a link, use the keyboard.

import { readFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { address, drawn, open } from './pages.mjs';

const texts = (locator) => locator.evaluateAll((all) => all.map((e) => e.textContent.trim()));
const rowsOf = (tab, section) => tab.locator(`#${section} .table-block`).first().locator('tbody tr');

async function choose(tab, facet, only) {
  const list = tab.locator(`details[data-facet="${facet}"]`);
  await list.locator('summary').click();
  await list.getByRole('button', { name: 'None' }).click();
  for (const value of only) await list.getByLabel(value, { exact: true }).check();
  await tab.keyboard.press('Escape');
  await expect(list).not.toHaveAttribute('open');
}

async function savedBy(tab, button) {
  const [download] = await Promise.all([tab.waitForEvent('download'), button.click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

test('the answer stands on top in words and in one table', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich');
  await expect(tab.locator('#answers .sentences li').first()).toContainText(/fastest|cannot be distinguished/);
  const table = tab.locator('#answers table').first();
  await expect(table.locator('thead')).toContainText('× floor');
  await expect(table.locator('tbody tr').first()).toContainText(/\d \[\d.*\]/);
  expect(trouble).toEqual([]);
});

test('a selection reaches tables, plots, count and address, and a link keeps it', async ({ page: tab, context }) => {
  const trouble = await open(tab, 'rich');
  const all = await rowsOf(tab, 'matrix').count();
  await choose(tab, 'stacks', ['pipe', 'tcp']);
  await expect(rowsOf(tab, 'matrix')).toHaveCount(all / 4);
  await choose(tab, 'sizes', ['64 B']);
  await expect(tab.locator('#controls .status')).toContainText(' of ');
  const shown = await texts(tab.locator('#matrix tbody .stack .name'));
  expect(new Set(shown)).toEqual(new Set(['pipe', 'tcp']));
  await tab.locator('.segments label', { hasText: 'Linear' }).click();
  const url = tab.url();
  expect(url).toContain('stack=pipe');
  expect(url).toContain('payload=64');
  expect(url).toContain('scale=linear');

  const other = await context.newPage();
  await other.goto(url);
  await other.waitForSelector('html[data-ready]');
  expect(await texts(other.locator('#matrix tbody .stack .name'))).toEqual(shown);
  await expect(other.getByLabel('Linear')).toBeChecked();
  await other.close();

  await tab.getByRole('button', { name: 'Reset' }).click();
  await expect(rowsOf(tab, 'matrix')).toHaveCount(all);
  expect(tab.url()).not.toContain('stack=');
  expect(trouble).toEqual([]);
});

test('response and service time are told apart', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich', 'experiment=one-way');
  const first = rowsOf(tab, 'matrix').first().locator('td.num .v').nth(1);
  const response = await first.textContent();
  await tab.locator('.segments label', { hasText: 'Service' }).click();
  await expect(tab.locator('#matrix caption')).toContainText('service time');
  expect(await first.textContent()).not.toBe('');
  expect(response).not.toBe('');
  expect(tab.url()).toContain('metric=service_ns');
  expect(trouble).toEqual([]);
});

test('the matrix sorts by any column, both ways, unknown last', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich');
  const head = tab.locator('#matrix thead');
  const column = head.locator('th').filter({ has: tab.getByRole('button', { name: /^p99 / }) });
  const p99 = column.getByRole('button');
  await p99.click();
  await expect(column).toHaveAttribute('aria-sort', 'ascending');
  const at = await column.evaluate((th) => th.cellIndex);
  const values = async () =>
    (await texts(tab.locator(`#matrix tbody tr > :nth-child(${at + 1}) .v`))).map((t) =>
      t === '–' ? null : Number(t.replace('∞', 'Infinity')),
    );
  const up = await values();
  const known = up.filter((v) => v !== null);
  expect(known).toEqual([...known].sort((a, b) => a - b));
  expect(up.slice(known.length).every((v) => v === null)).toBe(true);
  await p99.click();
  await expect(column).toHaveAttribute('aria-sort', 'descending');
  const down = await values();
  expect(down[0]).toBe(Math.max(...known));
  expect(down.slice(known.length).every((v) => v === null)).toBe(true);
  expect(tab.url()).toContain('sort-matrix=-p99');
  expect(trouble).toEqual([]);
});

test('hovering a plot tells value, interval and number of samples', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich', 'experiment=one-way&stack=pipe&stack=tcp&payload=1024');
  const figure = await drawn(tab, 'percentiles');
  const canvas = figure.locator('.canvas');
  const box = await canvas.boundingBox();
  const tip = figure.locator('.tip');
  // Somewhere along the middle there is a point: go over it as a hand would.
  for (let x = 0.1; x < 0.95 && !(await tip.isVisible()); x += 0.03) {
    for (let y = 0.3; y < 0.8 && !(await tip.isVisible()); y += 0.05) {
      await tab.mouse.move(box.x + box.width * x, box.y + box.height * y);
    }
  }
  await expect(tip).toBeVisible();
  const said = await tip.textContent();
  expect(said).toMatch(/[nµm]s/);
  expect(said).toMatch(/\[|n /);
  expect(trouble).toEqual([]);
});

test('a cell opens its trials with environment and distribution, and Escape gives the focus back', async ({
  page: tab,
}) => {
  const trouble = await open(tab, 'rich');
  const button = tab.locator('#matrix tbody').getByRole('button', { name: 'zenoh-tcp' }).first();
  await button.click();
  const dialog = tab.getByRole('dialog');
  await expect(dialog).toBeVisible();
  await expect(dialog.getByRole('heading', { level: 2 })).toContainText('zenoh-tcp');
  await expect(dialog).toContainText('crash in window: echo ended with signal 11');
  await expect(dialog).toContainText('An example CPU');
  await expect(dialog.locator('figure .canvas svg').first()).toBeVisible();
  const trials = dialog.locator('section', { has: tab.getByRole('heading', { name: 'Trials' }) });
  await expect(trials.locator('tbody tr')).toHaveCount(5);
  await expect(trials.locator('tbody tr.failed')).toHaveCount(1);
  expect(tab.url()).toContain('open=');
  await tab.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(button).toBeFocused();
  expect(tab.url()).not.toContain('open=');
  expect(trouble).toEqual([]);
});

test('a link opens the dialog of its cell', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich', 'open=0.3');
  await expect(tab.getByRole('dialog').getByRole('heading', { level: 2 })).toContainText('tcp');
  expect(trouble).toEqual([]);
});

test('a click in the heat map opens the cell', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich');
  const figure = await drawn(tab, 'matrix');
  const box = await figure.locator('.canvas').boundingBox();
  const dialog = tab.getByRole('dialog');
  for (let x = 0.35; x < 0.9 && !(await dialog.isVisible()); x += 0.08) {
    for (let y = 0.3; y < 0.7 && !(await dialog.isVisible()); y += 0.08) {
      await tab.mouse.click(box.x + box.width * x, box.y + box.height * y);
    }
  }
  await expect(dialog).toBeVisible();
  await tab.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(figure.locator('.drawing')).toBeFocused();
  expect(trouble).toEqual([]);
});

test('every plot saves as SVG, PNG and CSV and shows its data as a table', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich');
  const ids = await tab.locator('figure.plot:visible').evaluateAll((all) => all.map((f) => f.dataset.plot));
  expect(ids.length).toBeGreaterThan(6);
  for (const id of ids) {
    const figure = await drawn(tab, id);
    const csv = await savedBy(tab, figure.getByRole('button', { name: 'save its data as CSV' }));
    expect(csv.name).toBe(`dyno-${id}-rich.csv`);
    const lines = csv.bytes.toString('utf8').split('\r\n');
    expect(lines.length, `${id}: ${lines[0]}`).toBeGreaterThan(2);
    expect(lines.at(-1)).toBe('');

    const svg = await savedBy(tab, figure.getByRole('button', { name: 'save as SVG' }));
    const picture = svg.bytes.toString('utf8');
    expect(svg.name).toBe(`dyno-${id}-rich.svg`);
    expect(picture).toContain('<svg');
    const parsed = await tab.evaluate((text) => {
      const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
      return {
        error: doc.querySelector('parsererror')?.textContent ?? null,
        paths: doc.querySelectorAll('path, text').length,
      };
    }, picture);
    expect(parsed.error).toBe(null);
    expect(parsed.paths).toBeGreaterThan(5);

    const png = await savedBy(tab, figure.getByRole('button', { name: 'save as PNG' }));
    expect(png.bytes.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a');
    expect(png.bytes.readUInt32BE(16)).toBe(1920);

    await figure.getByRole('button', { name: 'data as a table' }).click();
    const data = figure.locator('.plot-data table');
    await expect(data).toBeVisible();
    expect(await data.locator('tbody tr').count()).toBe(lines.length - 2);
    await figure.getByRole('button', { name: 'data as a table' }).click();
    await expect(data).toBeHidden();
  }
  expect(trouble).toEqual([]);
});

test('everything works by keyboard alone', async ({ page: tab }) => {
  const trouble = await open(tab, 'rich');
  await tab.keyboard.press('Tab');
  await expect(tab.locator('.skip')).toBeFocused();
  await tab.keyboard.press('Enter');
  await expect(tab.locator('#answers h2')).toBeFocused();

  const list = tab.locator('details[data-facet="stacks"]');
  await list.locator('summary').focus();
  await tab.keyboard.press('Enter');
  await expect(list).toHaveAttribute('open');
  await tab.keyboard.press('Tab');
  await tab.keyboard.press('Tab');
  await tab.keyboard.press('Enter'); // None
  await expect(tab.locator('#controls .status')).toContainText('0 of');
  await tab.keyboard.press('Tab');
  await tab.keyboard.press('Tab');
  await tab.keyboard.press('Space'); // the second stack
  await expect(tab.locator('#controls .status')).not.toContainText('0 of');
  await tab.keyboard.press('Escape');
  await expect(list.locator('summary')).toBeFocused();

  const sort = tab.locator('#matrix thead button').first();
  await sort.focus();
  await tab.keyboard.press('Enter');
  await expect(tab.locator('#matrix thead th').first()).toHaveAttribute('aria-sort', 'ascending');
  await expect(tab.locator('#matrix thead button').first()).toBeFocused();

  const opener = tab.locator('#matrix tbody button.open').first();
  await opener.focus();
  await tab.keyboard.press('Enter');
  await expect(tab.getByRole('dialog')).toBeVisible();
  for (let i = 0; i < 60; i += 1) {
    await tab.keyboard.press('Tab');
    // The browser's own chrome is the only other place that the focus may go.
    const inside = await tab.evaluate(
      () =>
        !document.activeElement ||
        document.activeElement === document.body ||
        document.activeElement.closest('dialog') !== null,
    );
    expect(inside).toBe(true);
  }
  await tab.keyboard.press('Escape');
  await expect(opener).toBeFocused();
  expect(trouble).toEqual([]);
});

test('two runs stand side by side with the verdicts of compare', async ({ page: tab }) => {
  const trouble = await open(tab, 'two');
  const section = tab.locator('#comparison');
  await expect(section.getByRole('heading', { level: 3 })).toContainText('B against A');
  await expect(section.locator('.verdicts')).toContainText('faster');
  await expect(section.locator('.verdicts')).toContainText('slower');
  const slower = section.locator('tbody tr.verdict-higher', { hasText: 'tcp' });
  await expect(slower.first()).toContainText('▲');
  const runs = await texts(tab.locator('#matrix tbody tr > td:nth-child(2)'));
  expect(new Set(runs)).toEqual(new Set(['A', 'B']));
  await choose(tab, 'runs', ['B']);
  expect(new Set(await texts(tab.locator('#matrix tbody tr > td:nth-child(2)')))).toEqual(new Set(['B']));
  expect(trouble).toEqual([]);
});

test('a run that cannot be read is named, and the others are shown', async ({ page: tab }) => {
  const trouble = await open(tab, 'unreadable');
  await expect(tab.locator('#unreadable')).toContainText('foreign');
  await expect(rowsOf(tab, 'matrix').first()).toBeVisible();
  expect(trouble).toEqual([]);
});

for (const name of ['golden', 'old']) {
  test(`the ${name} run has a page without errors`, async ({ page: tab }) => {
    const trouble = await open(tab, name);
    await expect(rowsOf(tab, 'matrix').first()).toBeVisible();
    await tab.locator('#matrix button.open').first().click();
    await expect(tab.getByRole('dialog')).toContainText('Environment');
    expect(trouble).toEqual([]);
  });
}

test('a 64-bit seed is shown digit by digit', async ({ page: tab }) => {
  await open(tab, 'golden');
  await expect(tab.locator('#runs')).toContainText('18446744073709551615');
});

test('a link to a place of the page is none to a selection', async ({ page: tab }) => {
  await tab.goto(address('rich', 'matrix'));
  await tab.waitForSelector('html[data-ready]');
  await expect(tab.locator('#controls .status')).not.toContainText(' of ');
  await expect(tab.locator('#matrix h2')).toBeInViewport();
});

test('a page with limits answers within the first screen, wide and narrow', async ({ page: tab }) => {
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    await tab.setViewportSize({ width, height });
    const trouble = await open(tab, 'limits');
    const lead = tab.locator('#requirements .lead');
    await expect(lead).toContainText('requirements of');
    await expect(tab.locator('#requirements tbody tr').first()).toContainText(/pass|fail|undecided/);
    const end = await lead.evaluate((e) => e.getBoundingClientRect().bottom);
    const first = await tab.locator('#requirements tbody tr').first().evaluate((e) => e.getBoundingClientRect().top);
    expect(end).toBeLessThan(height / 2);
    expect(first).toBeLessThan(height);
    const over = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(over).toBeLessThanOrEqual(0);
    expect(trouble).toEqual([]);
  }
});

test('the table of answers does not scroll sideways at 1,280 px', async ({ page: tab }) => {
  await tab.setViewportSize({ width: 1280, height: 800 });
  for (const name of ['rich', 'limits', 'golden']) {
    await open(tab, name);
    const over = await tab
      .locator('#answers .table-wrap')
      .first()
      .evaluate((e) => e.scrollWidth - e.clientWidth);
    expect(over, name).toBeLessThanOrEqual(0);
  }
});

test('two runs open with what changed most, in words', async ({ page: tab }) => {
  await open(tab, 'two');
  const first = tab.locator('#changes li').first();
  await expect(first).toContainText(/became [\d.]+ × (slower|faster|more expensive|cheaper)|measured|No longer measured/);
  await expect(tab.locator('#changes li', { hasText: 'worse,' })).toHaveCount(1);
});

test('a large page carries its data compressed; a browser that cannot unpack it says so and keeps the answers', async ({
  page: tab,
}) => {
  const trouble = await open(tab, 'two');
  const data = tab.locator('#dyno-data');
  expect(await data.getAttribute('data-encoding')).toBe('deflate');
  const kept = await tab.evaluate(async () => {
    const bytes = Uint8Array.from(atob(document.getElementById('dyno-data').textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    const doc = JSON.parse(await new Response(stream).text());
    return doc.runs.map((run) => run.details.flatMap((d) => d.trials).length);
  });
  expect(kept[0]).toBeGreaterThan(100);
  expect(trouble).toEqual([]);

  const old = await tab.context().newPage();
  await old.addInitScript(() => {
    delete window.DecompressionStream;
  });
  await old.goto(address('two'));
  await expect(old.getByRole('alert')).toContainText('too old to unpack it');
  await expect(old.locator('#answers table').first()).toBeVisible();
  await old.close();
});

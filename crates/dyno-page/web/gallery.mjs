// Draws the pictures of docs/gallery.md: `node gallery.mjs DIRECTORY REPORT.html...`
//
// Each plot is saved by the report's own button, once in light and once in dark, from the report that shows it
// best; and the top of the first report is photographed. What the directory held before is replaced. It ends
// with an error when a plot is in none of the reports, when a page prints an error, or when it asks for
// anything on a network.

import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from '@playwright/test';

/** Suites that show a plot best; of others, the first report that has it. */
const BEST = {
  size: 'iceperf',
  topology: 'rwth',
  'first-message': 'first-message',
  growing: 'rwth',
  throughput: 'stream',
};
/** The window of the photograph, in CSS pixels. */
const WINDOW = { width: 1200, height: 900 };

const [directory, ...reports] = process.argv.slice(2);
if (reports.length === 0) {
  console.error('usage: node gallery.mjs DIRECTORY REPORT.html...');
  process.exit(2);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // Chromium's sandbox refuses to run as root.
  args: ['--no-sandbox'],
});
const faults = [];
try {
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(directory)) {
    if (/\.(svg|png)$/.test(name)) await rm(join(directory, name));
  }
  for (const mode of ['light', 'dark']) await drawAll(mode);
} finally {
  await browser.close();
}
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}

async function drawAll(mode) {
  const context = await browser.newContext({
    acceptDownloads: true,
    colorScheme: mode,
    viewport: WINDOW,
  });
  const pages = [];
  for (const report of reports) pages.push(await opened(context, report));
  await pages[0].page.screenshot({ path: join(directory, `page-${mode}.png`) });
  const figures = pages[0].page.locator('figure[data-plot][id^="plot-"]');
  for (const id of await figures.evaluateAll((all) => all.map((f) => f.dataset.plot))) {
    const having = [];
    for (const p of pages) if (await figure(p, id).isVisible()) having.push(p);
    const best = having.find((p) => p.suite === BEST[id]) ?? having[0];
    if (!best) {
      if (mode === 'light') faults.push(`${id}: no report shows it`);
      continue;
    }
    const file = join(directory, `${id}-${mode}.svg`);
    await writeFile(file, small(await saved(best, id)));
    console.log(`${file}: ${best.suite}`);
  }
  await context.close();
}

async function opened(context, report) {
  const page = await context.newPage();
  page.on('pageerror', (error) => faults.push(`${report}: ${error}`));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${report}: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (/^(https?|wss?):/.test(request.url())) faults.push(`${report}: asks for ${request.url()}`);
  });
  await page.goto(pathToFileURL(resolve(report)).href);
  await page.locator('html[data-ready=true]').waitFor({ state: 'attached' });
  const text = await page.locator('#dyno-data').textContent();
  return { page, suite: JSON.parse(text).runs[0]?.show?.run?.suite };
}

/** The plot's figure; the drill-down has figures of its own, with a prefix in their id. */
function figure({ page }, id) {
  return page.locator(`#plot-${id}`);
}

async function saved(at, id) {
  const drawn = figure(at, id);
  const failed = drawn.locator('.message');
  const waiting = Promise.race([
    at.page.waitForEvent('download'),
    failed.waitFor().then(async () => Promise.reject(new Error(`${id}: ${await failed.textContent()}`))),
  ]);
  await drawn.getByRole('button', { name: /: save as SVG$/ }).click();
  const download = await waiting;
  return readFile(await download.path(), 'utf8');
}

/** Tenths of a pixel are enough for lines: a path's numbers take most of a picture. */
function small(svg) {
  const shorter = (path) => path.replace(/-?\d+\.\d{2,}/g, (number) => String(Number(Number(number).toFixed(1))));
  return svg.replace(/ d="[^"]*"/g, shorter);
}

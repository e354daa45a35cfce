// Draws the pictures of docs/gallery.md: `node gallery.mjs DIRECTORY REPORT.html...`
//
// Each plot is saved by the report's own button, once in light and once in dark, from the report that shows it
// best, narrowed to what can be looked at in a column of text; and the top of the first report is photographed. What the directory held before is replaced. It ends
// with an error when a plot is in none of the reports, when a page prints an error, or when it asks for
// anything on a network.

import { inflateSync } from 'node:zlib';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from '@playwright/test';

/**
 * The suites that show a plot best, the best first, and what is selected of each; of other reports, the first
 * that has the plot. What a report does not have is not selected, by the rules of the page's addresses.
 */
const ROUND_TRIP = ['quick', { experiment: ['round-trip'] }];
const ONE_TO_ONE = { experiment: ['imu'], placement: ['process'], topology: ['1-1'] };
const OF_RWTH = { stack: ['fastdds-shm-best-effort', 'fastdds-best-effort', 'zenoh-udp', 'vsomeip', 'vsomeip-udp'] };
const SHOWN = {
  matrix: [['quick', {}], ['rwth', { experiment: ['imu', 'camera'] }]],
  percentiles: [ROUND_TRIP, ['rwth', ONE_TO_ONE]],
  ecdf: [ROUND_TRIP, ['rwth', ONE_TO_ONE]],
  size: [['iceperf', {}]],
  topology: [['rwth', { ...OF_RWTH, experiment: ['imu', 'camera'] }]],
  'first-message': [
    [
      'first-message',
      { stack: ['iceoryx2', 'cyclonedds', 'fastdds-shm', 'vsomeip', 'vsomeip-defaults', 'zenoh-tcp'] },
    ],
  ],
  growing: [['rwth', OF_RWTH]],
  throughput: [['stream', {}], ['rwth', { ...OF_RWTH, experiment: ['imu', 'camera'] }]],
  time: [
    ['quick', { experiment: ['round-trip'], stack: ['tcp', 'vsomeip', 'zenoh-tcp'] }],
    ['rwth', { ...ONE_TO_ONE, stack: ['fastdds-shm-best-effort', 'vsomeip', 'zenoh-udp'] }],
  ],
  resources: [ROUND_TRIP, ['rwth', ONE_TO_ONE]],
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

/** The data of the page as text; a large page has it deflated. */
async function data(page) {
  const found = page.locator('#dyno-data');
  const text = await found.textContent();
  if ((await found.getAttribute('data-encoding')) === null) return text;
  return inflateSync(Buffer.from(text.trim(), 'base64')).toString();
}

async function drawAll(mode) {
  const context = await browser.newContext({ acceptDownloads: true, colorScheme: mode, viewport: WINDOW });
  const page = await context.newPage();
  const watched = watch(page);
  const found = [];
  for (const [at, report] of reports.entries()) {
    await open(page, report);
    if (at === 0) await page.screenshot({ path: join(directory, `page-${mode}.png`) });
    const text = await data(page);
    const having = page.locator('figure[data-plot][id^="plot-"]');
    const plots = await having.evaluateAll((all) => all.map((f) => [f.dataset.plot, !f.hidden]));
    found.push({ report, suite: JSON.parse(text).runs[0]?.show?.run?.suite, plots: new Map(plots) });
  }
  for (const id of found[0].plots.keys()) {
    const having = found.filter((f) => f.plots.get(id));
    const wanted = SHOWN[id] ?? [];
    const [suite, selected] = wanted.find(([name]) => having.some((f) => f.suite === name)) ?? [null, {}];
    const best = having.find((f) => f.suite === suite) ?? having[0];
    if (!best) {
      if (mode === 'light') faults.push(`${id}: no report shows it`);
      continue;
    }
    await open(page, best.report, selected);
    const file = join(directory, `${id}-${mode}.svg`);
    await writeFile(file, small(await saved(page, id)));
    console.log(`${file}: ${best.suite}`);
  }
  faults.push(...watched);
  await context.close();
}

/** What goes wrong on a page, as it goes on. */
function watch(page) {
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(`${page.url()}: ${error}`));
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(`${page.url()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (/^(https?|wss?):/.test(request.url())) wrong.push(`${page.url()}: asks for ${request.url()}`);
  });
  return wrong;
}

async function open(page, report, selected = {}) {
  const address = pathToFileURL(resolve(report));
  const pairs = Object.entries(selected).flatMap(([key, values]) => values.map((value) => [key, value]));
  address.hash = new URLSearchParams(pairs).toString();
  // From an address that differs in its fragment only, a browser does not load anew.
  await page.goto('about:blank');
  await page.goto(address.href);
  await page.locator('html[data-ready=true]').waitFor({ state: 'attached' });
}

async function saved(page, id) {
  // The figures of the drill-down have a prefix in their ids.
  const drawn = page.locator(`#plot-${id}`);
  const failed = drawn.locator('.message');
  const waiting = Promise.race([
    page.waitForEvent('download'),
    failed.waitFor().then(async () => Promise.reject(new Error(`${id}: ${await failed.textContent()}`))),
  ]);
  await drawn.getByRole('button', { name: /: save as SVG$/ }).click();
  const download = await waiting;
  return readFile(await download.path(), 'utf8');
}

/** Without what only the page needs (what is hovered, what is clicked), and to a tenth of a pixel. */
function small(svg) {
  const to = (digits) => (number) => String(Number(Number(number).toFixed(digits)));
  const shorter = (element) => {
    // A symbol is drawn small and then made larger.
    const digits = element.includes('matrix(') ? 2 : 1;
    return element
      .replace(/ (ecmeta_\w+|class|pointer-events)="[^"]*"/g, '')
      .replace(/ stroke="[^"]*" stroke-width="0"( stroke-opacity="[^"]*")?/, '')
      .replace(/ (d|points|transform)="[^"]*"/g, (list) => list.replace(/-?\d+\.\d{2,}/g, to(digits)));
  };
  return svg.replace(/<(path|g|text|rect|polyline|polygon|circle|line)\b[^>]*>/g, shorter);
}

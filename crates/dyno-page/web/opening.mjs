// How long a page takes until it can be used: `node opening.mjs PAGE.html [TIMES]`
//
// Each time in a browser of its own, with nothing kept: from navigation until a table and a plot are drawn, until the
// page has said that it is interactive, and from a click on a scale until the plots are drawn anew. It prints each time
// and the medians, in ms.

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from '@playwright/test';

const [page, times = '5'] = process.argv.slice(2);
if (!page) {
  console.error('usage: node opening.mjs PAGE.html [TIMES]');
  process.exit(2);
}

/** In the page, before its own scripts: notes when what a reader waits for first stands in a frame. */
function watch() {
  const wanted = { table: '#answers tbody tr', plot: 'figure[data-plot] .canvas svg' };
  window.opening = {};
  function look() {
    for (const [what, selector] of Object.entries(wanted)) {
      if (!(what in window.opening) && document.querySelector(selector)) window.opening[what] = performance.now();
    }
    if (Object.keys(window.opening).length < 2) requestAnimationFrame(look);
  }
  requestAnimationFrame(look);
}

/** In the page: clicks on the other scale and waits until the first plot has changed and a frame has shown it. */
async function click() {
  const plot = [...document.querySelectorAll('figure[data-plot]')].find((f) => f.querySelector('.canvas svg'));
  const other = [...document.querySelectorAll('.segments label')].find((l) => l.textContent.trim() === 'Linear');
  const changed = new Promise((done) => {
    new MutationObserver(done).observe(plot.querySelector('.canvas'), { attributes: true, childList: true, subtree: true });
  });
  const before = performance.now();
  other.click();
  await changed;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - before;
}

async function once() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // Chromium's sandbox refuses to run as root.
    args: ['--no-sandbox'],
  });
  try {
    const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await tab.addInitScript(watch);
    await tab.goto(pathToFileURL(resolve(page)).href);
    await tab.waitForSelector('html[data-ready]');
    await tab.locator('figure[data-plot]:not([hidden])').first().scrollIntoViewIfNeeded();
    await tab.waitForFunction(() => window.opening.table && window.opening.plot);
    const [interactive, opening] = await tab.evaluate(() => [
      performance.getEntriesByName('dyno-interactive')[0].startTime,
      window.opening,
    ]);
    return { interactive, ...opening, click: await tab.evaluate(click) };
  } finally {
    await browser.close();
  }
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return sorted.length % 2 ? sorted[Math.floor(half)] : (sorted[half - 1] + sorted[half]) / 2;
};
const all = [];
for (let n = 0; n < Number(times); n += 1) all.push(await once());
for (const what of ['interactive', 'table', 'plot', 'click']) {
  const each = all.map((one) => one[what]);
  console.log(`${what}: median ${Math.round(median(each))} ms of ${each.map(Math.round).join(', ')}`);
}

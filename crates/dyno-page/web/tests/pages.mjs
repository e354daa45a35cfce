// The pages that the tests look at, and how they look at them.

import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

export const DYNO = process.env.DYNO_BIN ?? join(ROOT, 'target', 'debug', 'dyno');
export const GOLDEN = join(ROOT, 'crates', 'dyno-store', 'tests', 'golden');
/** Runs and pages of the tests; made anew each time, unless DYNO_PAGES names a folder that has them. */
export const WORK = process.env.DYNO_PAGES ?? join(ROOT, 'target', 'page-tests');
export const SHOTS = join(ROOT, 'target', 'screenshots');

/** A page that setup.mjs made, by its name. */
export const page = (name) => join(WORK, `${name}.html`);
export const address = (name, hash = '') => `${pathToFileURL(page(name)).href}${hash ? `#${hash}` : ''}`;

/**
 * Opens a page, refuses the network, and waits until it is ready. Answers what went wrong: console errors,
 * exceptions, requests. Tests end with `expect(trouble).toEqual([])`.
 */
export async function open(tab, name, hash = '') {
  const trouble = [];
  tab.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') trouble.push(`console: ${message.text()}`);
  });
  tab.on('pageerror', (error) => trouble.push(`exception: ${error.message}`));
  tab.on('dialog', (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await tab.context().route(/^(https?|wss?|ftp):/, (route) => {
    trouble.push(`request: ${route.request().url()}`);
    return route.abort();
  });
  await tab.goto(address(name, hash));
  await tab.waitForSelector('html[data-ready]');
  return trouble;
}

/** Draws a plot by bringing it near, and waits until it is drawn. */
export async function drawn(tab, id) {
  const figure = tab.locator(`#plot-${id}`);
  await figure.scrollIntoViewIfNeeded();
  await figure.locator('.canvas svg').first().waitFor();
  return figure;
}

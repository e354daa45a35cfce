// What `dyno serve` shows, in a real browser: the list without a script, a comparison of two ticked runs, and a
// run that grows while it is looked at.

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '@playwright/test';
import { DYNO, WORK } from './pages.mjs';

/** What a test that failed would leave. */
const started = [];

/** A folder with some of setup.mjs's runs, and a server over it. */
async function serve(...names) {
  const folder = mkdtempSync(join(WORK, 'served-'));
  for (const name of names) cpSync(join(WORK, 'runs', name), join(folder, name), { recursive: true });
  const child = spawn(DYNO, ['serve', folder, '--listen', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  const line = await new Promise((resolve, reject) => {
    child.stdout.once('data', (data) => resolve(String(data)));
    child.once('exit', (code) => reject(new Error(`dyno serve ended with ${code}`)));
  });
  const url = /http:\/\/[^/]+/.exec(line)[0];
  const end = () =>
    new Promise((resolve) => {
      child.once('exit', (code) => resolve(code));
      child.kill('SIGTERM');
    });
  return { folder, url, end };
}

/** Everything that a page complains of. Tests end with `expect(trouble).toEqual([])`. */
function watch(tab) {
  const trouble = [];
  tab.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) trouble.push(`console: ${message.text()}`);
  });
  tab.on('pageerror', (error) => trouble.push(`exception: ${error.message}`));
  tab.on('dialog', (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return trouble;
}

async function accessible(tab) {
  const { violations } = await new AxeBuilder({ page: tab }).analyze();
  expect(
    violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes[0].html}`),
  ).toEqual([]);
}

for (const scheme of ['light', 'dark']) {
  test(`the list is accessible in ${scheme} mode`, async ({ page: tab }) => {
    const server = await serve('rich', 'hostile', 'foreign');
    const trouble = watch(tab);
    await tab.emulateMedia({ colorScheme: scheme });
    await tab.goto(server.url);
    await expect(tab.locator('#runs tbody tr')).toHaveCount(2);
    await expect(tab.locator('#closed')).toContainText('foreign');
    await accessible(tab);
    // Wide names scroll within the table, not the page.
    expect(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(trouble).toEqual([]);
    expect(await server.end()).toBe(0);
  });
}

test('without a script runs are filtered, ticked and compared', async ({ browser }) => {
  const server = await serve('rich', 'later', 'hostile');
  const context = await browser.newContext({ javaScriptEnabled: false });
  const tab = await context.newPage();
  await tab.goto(server.url);
  await tab.getByLabel('Search').fill('rich');
  await tab.keyboard.press('Enter');
  await expect(tab.locator('#runs tbody tr')).toHaveCount(1);
  await tab.getByRole('link', { name: 'Show all' }).click();
  await tab.getByLabel('Compare rich').check();
  await tab.getByLabel('Compare later').check();
  await tab.getByRole('button', { name: 'Compare' }).click();
  await expect(tab).toHaveURL(/\/compare\?base=rich&new=later$/);
  await expect(tab.locator('h1')).toHaveText('2 runs, side by side');
  await tab.getByRole('link', { name: 'B: later' }).click();
  await expect(tab.locator('#answers')).toContainText('fastest');
  await tab.getByRole('link', { name: 'All runs' }).click();
  await expect(tab.locator('#runs tbody tr')).toHaveCount(3);
  await context.close();
  expect(await server.end()).toBe(0);
});

test('a served report runs its script and nothing that a name says', async ({ page: tab }) => {
  const server = await serve('hostile');
  const trouble = watch(tab);
  await tab.goto(server.url);
  await tab.locator('#runs tbody a').first().click();
  await tab.waitForSelector('html[data-ready]');
  await expect(tab.locator('#dyno-bar progress')).toHaveCount(0);
  expect(trouble).toEqual([]);
  expect(await server.end()).toBe(0);
});

/** Milliseconds, for a slow machine. */
const PATIENCE = 130_000;

test('a run that is measured is followed in place', async ({ page: tab }) => {
  test.setTimeout(4 * PATIENCE);
  const server = await serve('rich');
  const whole = join(server.folder, 'rich', 'trials');
  const run = join(server.folder, 'live');
  mkdirSync(join(run, 'trials'), { recursive: true });
  cpSync(join(server.folder, 'rich', 'run.json'), join(run, 'run.json'));
  // Holds the lock as a runner does, until its standard input ends.
  const runner = spawn('flock', ['--exclusive', join(run, '.lock'), 'sh', '-c', 'echo locked; cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  started.push(runner);
  await new Promise((resolve) => runner.stdout.once('data', resolve));
  const files = readdirSync(whole);
  const store = (some) => {
    for (const file of some) {
      cpSync(join(whole, file), join(run, 'trials', `.tmp-${file}`));
      renameSync(join(run, 'trials', `.tmp-${file}`), join(run, 'trials', file));
    }
  };
  const trouble = watch(tab);
  await tab.goto(`${server.url}/runs/live#scale=linear`);
  await tab.waitForSelector('html[data-ready]');
  const bar = tab.locator('#dyno-done');
  await expect(bar).toHaveText(new RegExp(`^0 of ${files.length} trials`));
  await expect(tab.locator('#matrix tbody')).not.toContainText('[');
  const before = await tab.evaluate(() => (window.before = Math.random()));

  store(files.slice(0, files.length / 2));
  await expect(bar).toHaveText(/^[1-9]\d* of/);
  // After a pause of twenty times as long as a report takes to make.
  await expect(tab.locator('#matrix tbody')).toContainText('[', { timeout: PATIENCE });
  // Without another load, and with what was selected.
  expect(await tab.evaluate(() => window.before)).toBe(before);
  expect(tab.url()).toContain('scale=linear');

  store(files.slice(files.length / 2));
  runner.stdin.end();
  await expect(bar).toContainText('the runner has ended');
  await expect(tab.locator('.live')).toHaveText('The run has ended.', { timeout: PATIENCE });
  const shown = await tab.locator('#answers table').first().innerText();
  await tab.goto(`${server.url}/runs/rich`);
  await tab.waitForSelector('html[data-ready]');
  expect(shown).toBe(await tab.locator('#answers table').first().innerText());
  expect(trouble).toEqual([]);
  expect(await server.end()).toBe(0);
});

test.afterAll(() => {
  for (const child of started) child.kill();
  for (const entry of readdirSync(WORK)) {
    if (entry.startsWith('served-')) rmSync(join(WORK, entry), { recursive: true, force: true });
  }
});

// Tests in a real browser, on real pages: tests/setup.mjs lets the built `dyno` make them.
//
//   DYNO_BIN   the program; default: target/debug/dyno
//   CHROMIUM   the browser; default: Debian's, /usr/bin/chromium

import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: 'tests',
  testMatch: '*.spec.mjs',
  globalSetup: './tests/setup.mjs',
  outputDir: '../../../target/playwright',
  timeout: 300_000,
  expect: { timeout: 30_000 },
  // Two cores, and a browser that draws wants both.
  workers: 1,
  forbidOnly: true,
  reporter: [['list']],
  use: {
    acceptDownloads: true,
    locale: 'en-GB',
    timezoneId: 'UTC',
    viewport: { width: 1440, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // Chromium's sandbox refuses to run as root, which CI's containers are.
      args: ['--no-sandbox'],
    },
  },
});

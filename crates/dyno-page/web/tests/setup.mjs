// Makes the pages that the tests look at, with the built `dyno`.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DYNO, GOLDEN, SHOTS, WORK, page } from './pages.mjs';
import { hostileNames, writeRun } from './runs.mjs';

const LIMITS = join(WORK, 'limits.toml');
const LIMITS_TEXT = `
[[limit]]
name = "nothing lost"
metric = "loss"
at_most = 0

[[limit]]
name = "round trips in time"
metric = "rtt"
quantile = "p99"
at_most = "50 us"
`;

export default function setup() {
  mkdirSync(SHOTS, { recursive: true });
  if (process.env.DYNO_PAGES && existsSync(page('rich'))) return;
  if (!existsSync(DYNO)) {
    throw new Error(`there is no ${DYNO}: build it with \`cargo build -p dyno\`, or name another in DYNO_BIN`);
  }
  rmSync(WORK, { recursive: true, force: true });
  mkdirSync(WORK, { recursive: true });
  const template = join(GOLDEN, 'run-v2');
  const run = (name) => join(WORK, 'runs', name);
  writeRun(run('rich'), template, { id: 'rich' });
  writeRun(run('later'), template, {
    id: 'later',
    seed: 2,
    started: 1_763_795_923_999,
    slower: { tcp: 1.4, 'zenoh-tcp': 0.7 },
  });
  writeRun(run('hostile'), template, { id: 'hostile', rename: hostileNames() });
  mkdirSync(run('foreign'), { recursive: true });
  writeFileSync(join(run('foreign'), 'run.json'), '{"what": "something else"}');

  writeFileSync(LIMITS, LIMITS_TEXT);

  report('golden', [join(GOLDEN, 'run-v2')]);
  report('old', [join(GOLDEN, 'run-v1')]);
  report('rich', [run('rich')]);
  report('hostile', [run('hostile')]);
  report('two', [run('rich'), run('later')]);
  report('limits', [run('rich')], 0, ['--limits', LIMITS]);
  // One that can be read, one that cannot: exit code 5, and the page is there.
  report('unreadable', [run('rich'), run('foreign')], 5);
}

function report(name, runs, code = 0, more = []) {
  let ended = 0;
  try {
    execFileSync(DYNO, ['report', '--quiet', ...runs, ...more, '-o', page(name)], { stdio: ['ignore', 'inherit', 'pipe'] });
  } catch (error) {
    ended = error.status;
    if (ended !== code) throw new Error(`dyno report of ${name} ended with ${ended}: ${error.stderr}`);
  }
  if (ended !== code) throw new Error(`dyno report of ${name} ended with ${ended}, expected ${code}`);
}

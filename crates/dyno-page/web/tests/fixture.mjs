// A small document by hand, for tests of pure functions. Tests of the page use pages that `dyno` made.

import { readFileSync } from 'node:fs';

/** The tables that every document has. */
export const TABLES = JSON.parse(readFileSync(new URL('tables.json', import.meta.url), 'utf8'));

/** An experiment with a p50, or failed without one. */
export function experiment(index, stack, p50, more = {}) {
  const at = (value) => (value === null ? null : { value, lo: value * 0.95, hi: value * 1.05, infinite: false });
  return {
    id: index,
    experiment: 'one-way',
    stack,
    workload: 'stream',
    load: { rate_hz: 1000, arrivals: 'fixed' },
    payload_bytes: 64,
    wait: 'block',
    access: 'stamp',
    placement: 'process',
    topology: '1-1',
    cpus: [0, 1],
    scheduling: 'other',
    mlock: false,
    window: { duration_ns: 300_000_000, messages: null },
    is_floor: false,
    is_loopback: false,
    trials: p50 === null ? 0 : 5,
    failed_trials: p50 === null ? 5 : 0,
    planned_trials: 5,
    failures: [],
    headline: 'response_ns',
    metrics:
      p50 === null
        ? {}
        : { response_ns: { n: 100, infinite: 0, p50: at(p50) }, service_ns: { n: 100, infinite: 0, p50: at(p50 / 2) } },
    counts: { offered: 100, received: 100, lost: 0 },
    ...more,
  };
}

/** A document of these experiments in one run. */
export function documentOf(experiments, answers = [], more = {}) {
  const run = {
    name: 'A',
    running: false,
    show: { format: 1, run: { id: 'A' }, experiments },
    problems: [],
    answers,
    details: [],
    published: [],
  };
  return {
    format: 1,
    dyno: '0.1.0',
    tables: TABLES,
    made_unix_ms: 0,
    grid: [0, 0.5, 1],
    runs: [run],
    studies: [],
    comparisons: [],
    unreadable: [],
    ...more,
  };
}

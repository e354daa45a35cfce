// Documents in the form of the page's data, made by hand, and the views that the page itself makes of them.

import { TABLES } from '../fixture.mjs';
import { themeOf } from '../../src/theme.js';
import { initialState, modelOf, viewOf, viewOfCell } from '../../src/view.js';

/** Ranks as Dyno shares them among curves. */
export const GRID = [
  0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95,
  0.97, 0.98, 0.99, 0.995, 0.999, 0.9999, 1,
];

/** Names that try to be more than names. */
export const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  "it's `odd` & {a|b} {b0}",
  'مرحبا \u202eevil\u202c',
  `${'🚗💨'.repeat(60)}`,
  `${'long '.repeat(100)}`,
  'two\nlines\u0000',
  '__proto__',
  'constructor',
];

export const estimate = (value, spread = 0.02) => ({
  value,
  lo: value * (1 - spread),
  hi: value * (1 + spread),
  infinite: false,
});
export const lost = (lo = 1e6) => ({ value: null, lo, hi: null, infinite: true });
export const spread = (median) => ({ median, min: median * 0.9, max: median * 1.2 });

/** A metric whose p50 is `p50` ns. `infinite` of `n + infinite` messages are lost. */
export function metric(p50, { n = 2000, infinite = 0, refused = [] } = {}) {
  const m = { n, infinite, saturated: 0, min: p50 * 0.8, mean: p50 * 1.1, max: p50 * 20 };
  const factors = { p50: 1, p90: 1.5, p99: 4, p999: 12 };
  const ranks = { p50: 0.5, p90: 0.9, p99: 0.99, p999: 0.999 };
  for (const [key, factor] of Object.entries(factors)) {
    if (refused.includes(key)) {
      m[key] = null;
      m[`${key}_refused`] = { have: n, need: 10 * n };
    } else if (ranks[key] > n / (n + infinite)) m[key] = lost(p50 * factor);
    else m[key] = estimate(p50 * factor);
  }
  return m;
}

/** The curve of such a metric at the ranks of the grid: null from where messages were lost. */
export function curve(p50, { n = 2000, infinite = 0 } = {}) {
  const share = n / (n + infinite);
  return GRID.filter((q) => q < 1 && 1 - q >= 1 / n).map((q) =>
    q > share ? null : p50 * (0.8 + 0.4 * q + (q > 0.95 ? 20 * (q - 0.95) : 0)),
  );
}

const firstMetrics = (ns) => ({
  first_message_ns: { n: 1, infinite: 0, min: ns, max: ns, p50: ns, p90: null, p99: null },
  open_ns: { n: 1, infinite: 0, min: ns * 0.3, max: ns * 0.3, p50: ns * 0.3, p90: null, p99: null },
  match_ns: { n: 1, infinite: 0, min: ns * 0.5, max: ns * 0.5, p50: ns * 0.5, p90: null, p99: null },
  first_delivery_ns: { n: 1, infinite: 0, min: ns * 0.2, max: ns * 0.2, p50: ns * 0.2, p90: null, p99: null },
});

/** A trial; what is given overrules. */
export function trial(number, name, p50, more = {}) {
  return {
    number,
    position: number,
    outcome: 'completed',
    counted: true,
    kind: null,
    step: null,
    message: null,
    disturbed: [],
    warnings: [],
    start_s: 2.5 * number,
    wall_s: 0.8,
    metrics: { [name]: { n: 400, infinite: 0, min: p50 * 0.8, max: p50 * 9, p50, p90: p50 * 1.4, p99: p50 * 3 }, ...firstMetrics(3e7 + 1e6 * number) },
    curve: curve(p50, { n: 400 }),
    blocks: [[p50, p50 * 2, p50 * 5], null, [p50 * 1.1, p50 * 2, null]],
    host: { stolen: 0.01, foreign: 0.004, gaps: 0.001 },
    offered_hz: 200,
    delivered_hz: 200,
    delivered_bytes_per_s: 2e5,
    lost: 0,
    cpu_ns_per_message: 9000,
    pss_bytes: 4e6,
    peak_rss_bytes: 6e6,
    processes: [],
    ...more,
  };
}

export const failedTrial = (number) =>
  trial(number, 'rtt_ns', 1, {
    outcome: 'failed',
    counted: false,
    kind: 'crash',
    step: 'ready',
    message: 'signal 11 <b>',
    metrics: {},
    curve: [],
    blocks: [],
    host: null,
    cpu_ns_per_message: null,
    pss_bytes: null,
    peak_rss_bytes: null,
  });

/**
 * An experiment and its details. `p50` in ns; `state` is ok, failed, or none (not run); `infinite` messages lost.
 */
export function cell(id, more = {}) {
  const {
    stack = 'tcp',
    workload = 'ping-pong',
    experiment = workload,
    p50 = 10_000,
    state = 'ok',
    infinite = 0,
    refused = [],
    daemons = [],
    ...rest
  } = more;
  const headline = { 'ping-pong': 'rtt_ns', call: 'rtt_ns', 'first-message': 'first_message_ns' }[workload] ?? 'response_ns';
  const open = headline === 'response_ns';
  const ok = state === 'ok';
  const options = { infinite, refused };
  const metrics = {};
  const curves = {};
  const box = {};
  if (ok) {
    for (const [name, value] of open ? [['response_ns', p50], ['service_ns', p50 * 0.9]] : [[headline, p50]]) {
      metrics[name] = metric(value, options);
      curves[name] = curve(value, options);
      const last = infinite > 0 ? null : value * 20;
      box[name] = { min: value * 0.8, p25: value * 0.9, p50: value, p75: value * 1.2, p95: value * 2, max: last };
    }
    metrics.first_message_ns ??= metric(3e7, { n: 5, refused: ['p50', 'p90', 'p99', 'p999'] });
  }
  const e = {
    id,
    suite: 'hand',
    experiment,
    stack,
    testbed: 'local',
    workload,
    paired: false,
    at_once: 1,
    load: { 'ping-pong': { gap_ns: 0, timeout_ns: 1e9 }, stream: { rate_hz: 200, arrivals: 'fixed' } }[workload] ?? {},
    payload_bytes: 64,
    wait: 'block',
    access: 'stamp',
    placement: 'process',
    topology: '1-1',
    cpus: [],
    scheduling: 'other',
    fifo_priority: null,
    mlock: false,
    window: { duration_ns: 300_000_000, messages: null },
    is_floor: stack.startsWith('floor'),
    is_loopback: false,
    is_base: false,
    base: null,
    trials: ok ? 3 : 0,
    failed_trials: state === 'failed' ? 3 : 0,
    disturbed_trials: ok ? 1 : 0,
    all_disturbed: false,
    planned_trials: 3,
    disturbances: [],
    failures: state === 'failed' ? [{ kind: 'crash', step: 'ready', message: 'signal 11 <b>', stderr: [], count: 3 }] : [],
    headline,
    metrics,
    floor: null,
    unstable: false,
    unstable_reason: null,
    repeat_within: 0.01,
    counts: { offered: 2000 + infinite, sent: 2000, received: 2000, lost: infinite },
    delivered_ratio: ok ? 2000 / (2000 + infinite) : null,
    throughput: ok && open
      ? {
          offered_hz: spread(200),
          sent_hz: spread(200),
          delivered_hz: spread((200 * 2000) / (2000 + infinite)),
          delivered_bytes_per_s: spread(2e5),
          blocked_share: spread(0),
        }
      : null,
    cost: ok
      ? {
          cpu_ns_per_message: spread(9000),
          switches_per_message: spread(2),
          pss_bytes: spread(8e6),
          peak_rss_bytes: spread(9e6),
          daemons: daemons.map((name) => ({ name, cpu_ns: spread(1), cpu_ns_per_message: spread(1000), switches: spread(1), pss_bytes: spread(5e6), peak_rss_bytes: spread(5e6) })),
        }
      : null,
    ...rest,
  };
  const d = {
    curves,
    box,
    trials: ok
      ? [trial(0, headline, p50), trial(1, headline, p50 * 1.1), trial(2, headline, p50, { counted: false, disturbed: ['stolen time'] })]
      : state === 'failed'
        ? [failedTrial(0)]
        : [],
  };
  if (ok && open) for (const t of d.trials) t.metrics.service_ns = { ...t.metrics.response_ns };
  return { e, d };
}

export const STUDY = {
  title: 'A study',
  authors: ['A. Author', 'B. Author'],
  year: 2025,
  where: 'somewhere <i>',
  testbed: 'four NUCs',
  flaws: [{ about: 'communication', says: 'no bound <b>' }, { about: 'first message', says: 'one sample' }],
};

/** A document of runs, each a list of cells, with a scaling factor where a list of ids is given. */
export function documentOf(runs, { scaling = [], published = [], capacity } = {}) {
  return {
    format: 1,
    tables: TABLES,
    dyno: '0.1.0',
    made_unix_ms: 0,
    grid: GRID,
    runs: runs.map((cells, i) => ({
      name: String.fromCharCode(65 + i),
      running: false,
      show: { format: 1, run: { id: `run-${i}`, suite: 'hand' }, experiments: cells.map((c) => c.e), scaling, ...(capacity ? { capacity } : {}) },
      problems: [],
      answers: [],
      details: cells.map((c) => c.d),
      published,
    })),
    studies: [STUDY],
    comparisons: [],
    unreadable: [],
  };
}

/** The view of a document that nobody has touched, with these fields of the state changed. */
export function view(doc, state = {}) {
  return viewOf(modelOf(doc), { ...initialState(), ...state });
}

/** The view of a single cell, as the dialog has it. */
export function viewOfOne(doc, index = 0, state = {}) {
  const all = view(doc, state);
  return viewOfCell(all, all.cellOf(0, index));
}

export const theme = (mode = 'light', width = 960) => themeOf(mode, width);

// ---- Documents ----

const STACKS = ['floor-futex', 'tcp', 'zenoh-tcp', 'fastdds-udp'];
export const S = { value: 0.25, lo: 0.2, hi: 0.3 };

/** Round trips over two topologies, a stream over four sizes with fits, starts, daemons, losses, a failure. */
export function rich() {
  const cells = [];
  const add = (more) => cells.push(cell(cells.length, more));
  for (const [k, stack] of STACKS.entries()) {
    for (const topology of ['1-1', '1-3']) add({ stack, topology, p50: 10_000 * (k + 1), daemons: k === 2 ? ['router'] : [] });
  }
  const sizes = [100_000, 1_000_000, 2_000_000, 4_000_000];
  const scaling = [];
  for (const [k, stack] of STACKS.slice(1).entries()) {
    const ids = [];
    for (const bytes of sizes) {
      ids.push(cells.length);
      add({ stack, workload: 'stream', experiment: 'scaling', payload_bytes: bytes, p50: 200_000 + (k + 1) * bytes * 0.25, infinite: k === 2 && bytes === 4_000_000 ? 1500 : 0 });
    }
    scaling.push({ experiment: 'scaling', stack, wait: 'block', placement: 'process', topology: '1-1', ids, sizes: 4, offered: 8000, received: 8000, s_ms_per_mb: k === 1 ? null : { value: S.value * (k + 1), lo: S.lo * (k + 1), hi: S.hi * (k + 1) }, intercept_ns: k === 1 ? null : 200_000, reason: k === 1 ? 'too few trials' : null });
  }
  for (const stack of STACKS.slice(1)) add({ stack, workload: 'first-message', p50: 3e7 });
  add({ stack: 'vsomeip', workload: 'stream', experiment: 'scaling', payload_bytes: 100_000, state: 'failed' });
  add({ stack: 'vsomeip', state: 'none' });
  add({ stack: 'late', refused: ['p50', 'p90', 'p99', 'p999'] });
  const published = [
    { experiment: 8, metric: 'service_ns', quantile: 'p50', value_ns: 119_000, text: '0.119 ms', study: 0, as: 'vsomeip <u>, C1-1' },
    { experiment: 20, metric: 'first_message_ns', quantile: 'p50', value_ns: 51_624_000, text: '51.624 ms', study: 0, as: 'FastDDS, D1-1' },
  ];
  return documentOf([cells], { scaling, published });
}

/** What came of a fault at a receiver that has a newer message so many ms after its end, or null where it never has. */
const end = (receiver, ms) => ({
  receiver,
  channel: 0,
  recovery_ns: ms === null ? null : ms * 1e6,
  arrivals_ms: [-20, -10, -0.5, ...(ms === null ? [] : [1000 + ms, 1010 + ms])],
});

/** A stream whose receiver was without a link: one stack recovers, the other is deaf in one trial and fails in another. */
export function unplugged() {
  const outage = (recovered) => ({ trials: 3, recovered, deaf: 3 - recovered, half_deaf: 0, faults: [], findings: [] });
  const outed = (number, ms) => ({ ...trial(number, 'recovery_ns', 1e8), fault_ms: 1000, outages: [end(1, ms)] });
  const of = (id, stack, trials, recovered) => {
    const made = cell(id, { stack, workload: 'stream', fault: 'receiver without a link for 1 s', outage: outage(recovered) });
    made.e.headline = 'recovery_ns';
    made.e.metrics.recovery_ns = made.e.metrics.response_ns;
    made.d.trials = trials;
    return made;
  };
  const good = [1, 2, 3].map((n) => outed(n, 100 * n));
  const bad = [outed(1, 150), outed(2, null), failedTrial(3)];
  return documentOf([[of(0, 'tcp', good, 3), of(1, 'zenoh-tcp', bad, 1)]]);
}

/** Exchanges and a probe that stand there twice, two of them also alone; the last copy of the second lost its messages. */
export function several() {
  const copy = (cpu, ns) => ({ cpus: [cpu], p50_ns: ns === null ? { median: null, min: 9, max: null } : spread(ns), p99_ns: spread(9) });
  const twice = (id, more) => cell(id, { topology: '1-1x2', at_once: 2, cpus: [0, 0, 1, 1], ...more });
  const futex = { stack: 'ground', workload: 'probe', probe: { text: 'switch by futex', kind: 'switch', cpus_each: 1 } };
  return documentOf([
    [
      cell(0, { cpus: [0, 0] }),
      twice(1, { copies: [copy(0, 11_000), copy(1, 13_000)] }),
      twice(2, { stack: HOSTILE[0], copies: [copy(0, 7_000), copy(1, null)] }),
      cell(3, { ...futex, copies: [copy(1, 2_000)] }),
      cell(4, { ...futex, at_once: 2, copies: [copy(0, 2_100), copy(1, 2_300)] }),
    ],
  ]);
}

/** One value of a search: its loss and its p99 in ns with their intervals, null where lost. */
function tried(id, value, rung, loss, p99, more = {}) {
  const held = (limit, status, at, by) => ({ limit, status, value: at, lo: at === null ? 9e8 : at * (1 - by), hi: at === null ? null : at * (1 + by), reason: `because <b> ${at}` });
  const late = p99 === null || p99 > 1e6;
  return {
    id,
    value,
    rung,
    confirms: false,
    trials: 2,
    failed: 0,
    confidence: 0.95,
    delivered_hz: value * (1 - loss),
    sent_share: null,
    limits: [held('nothing lost', loss > 0 ? 'fail' : 'pass', loss, 0.1), held(HOSTILE[0], late ? (rung === 'undecided' ? 'undecided' : 'fail') : 'pass', p99, 0.2)],
    ...more,
  };
}

/** A search for the highest rate: of one stack found, of one not even the first value, of one not finished. */
export function searched() {
  const rates = [1000, 2000, 3000, 4000];
  const names = ['tcp', HOSTILE[0], 'udp'];
  const cells = names.flatMap((stack, k) =>
    rates.map((rate_hz, i) => cell(4 * k + i, { stack, workload: 'stream', load: { rate_hz, arrivals: 'fixed' } })),
  );
  const limits = [
    { limit: 'nothing lost', measure: 'loss', metric: 'loss', required: 'loss ≤ 0', unit: '1', bound: 'at_most_count', bound_value: 0 },
    { limit: HOSTILE[0], measure: 'p99 response', metric: 'response', quantile: '0.99', required: 'p99 response ≤ 1.00 ms', unit: 'ns', bound: 'at_most', bound_value: 1e6 },
  ];
  const of = (stack, more) => ({ experiment: 'stream', stack, kept: null, confirmed: false, broken: null, broke_first: [], undecided: [], refused_above: null, limits, ...more });
  const capacity = {
    format: 1,
    kind: 'capacity',
    raised: 'rate',
    limits: 'limits.toml',
    required: limits.map((l) => l.required),
    confidence: 0.95,
    capacities: [
      of(names[0], {
        end: 'found',
        kept: 2000,
        confirmed: true,
        broken: 4000,
        broke_first: ['nothing lost, loss ≤ 0: 10 %'],
        undecided: [3000],
        curve: [
          tried(0, 1000, 'kept', 0, 1e5),
          tried(1, 2000, 'kept', 0, 2e5),
          tried(1, 2000, 'kept', 0, 3e5, { confirms: true, trials: 3 }),
          tried(2, 3000, 'undecided', 0, 1.1e6),
          tried(3, 4000, 'broken', 0.1, null),
        ],
      }),
      of(names[1], {
        end: 'first',
        broken: 1000,
        broke_first: ['the sources sent only 50 % of what was due'],
        curve: [tried(4, 1000, 'broken', 0, 5e6, { sent_share: 0.5 })],
      }),
      of(names[2], { end: 'unfinished', kept: 2000, curve: [tried(8, 1000, 'kept', 0, 1e5), tried(9, 2000, 'kept', 0, 1.5e5)] }),
    ],
  };
  return documentOf([cells], { capacity });
}

/** Hostile names everywhere. */
export function hostile() {
  const cells = [];
  HOSTILE.forEach((name, i) => {
    for (const workload of ['ping-pong', 'stream', 'first-message']) {
      cells.push(cell(cells.length, { stack: name, experiment: HOSTILE[(i + 1) % HOSTILE.length], workload, daemons: [name] }));
    }
    cells.push(cell(cells.length, { stack: name, experiment: name, workload: 'stream', payload_bytes: 4096, state: i % 2 ? 'failed' : 'ok' }));
  });
  return documentOf([cells]);
}

/** That many stacks in one question. */
export const stacks = (count) => documentOf([Array.from({ length: count }, (_, i) => cell(i, { stack: `stack-${i}`, p50: 10_000 + 100 * ((i * 7) % count) }))]);

/** That many cells: ten stacks, streams over sizes and topologies. */
export function many(count) {
  const cells = [];
  for (let i = 0; i < count; i += 1) {
    const question = Math.floor(i / 10);
    cells.push(cell(i, { stack: `stack-${i % 10}`, workload: 'stream', experiment: `e${question % 7}`, topology: ['1-1', '1-3', '2-2', '3-1'][question % 4], payload_bytes: 64 * 4 ** (question % 6) + question, p50: 10_000 + i, state: i % 17 === 3 ? 'failed' : 'ok' }));
  }
  return documentOf([cells]);
}

/** Everything that can be missing is. */
export function bare() {
  const cells = [
    cell(0, { infinite: 1e9 }),
    cell(1, { stack: 'failed', state: 'failed' }),
    cell(2, { stack: 'none', state: 'none' }),
    cell(3, { stack: 'refused', refused: ['p50', 'p90', 'p99', 'p999'] }),
    cell(4, { stack: 'clocks', workload: 'stream', one_way_resolvable: false, clock_bound_ns: 50_000 }),
    cell(5, { stack: 'costless', cost: null, throughput: null }),
  ];
  const none = { n: 0, infinite: 7, saturated: 0, min: null, mean: null, max: null, p50: lost(null), p90: lost(null), p99: lost(null), p999: lost(null) };
  cells[0].e.metrics.rtt_ns = none;
  cells[0].d.curves.rtt_ns = GRID.map(() => null);
  cells[0].d.box.rtt_ns = { min: null, p25: null, p50: null, p75: null, p95: null, max: null };
  cells[0].d.trials = [trial(0, 'rtt_ns', 1, { metrics: { rtt_ns: { n: 0, infinite: 7, min: null, max: null, p50: null, p90: null, p99: null } }, curve: GRID.map(() => null), blocks: [[null, null, null]] })];
  cells[3].d.trials = [];
  const doc = documentOf([cells]);
  doc.runs[0].details[2] = { curves: {}, box: {}, trials: [] };
  delete doc.runs[0].show.scaling;
  return doc;
}

/** Two runs of the same plan. */
export function two() {
  const cells = () => [cell(0, { stack: 'tcp' }), cell(1, { stack: 'uds', p50: 7000 }), cell(2, { stack: 'tcp', workload: 'stream' })];
  return documentOf([cells(), cells()]);
}

export const empty = () => documentOf([[]]);

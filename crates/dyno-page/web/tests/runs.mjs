// Run directories for the tests: written by hand in Dyno's format, read by the real `dyno`. One run has every
// workload, so that every plot has something to show; the numbers are made up, seeded, and look like a
// machine's. `hostile` gives the same run names that try to be something else than text.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { distribution } from './histogram.mjs';

/** mulberry32: small, seeded, good enough for made-up numbers. */
function random(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Stacks of the made-up run: base latency in ns, ns per byte, share of slow samples, daemons. */
const STACKS = {
  'floor-futex': { base: 4200, byte: 0.08, tail: 0.002, adapter: 'floor', floor: true },
  pipe: { base: 6100, byte: 0.35, tail: 0.004, adapter: 'pipe' },
  'uds-stream': { base: 6900, byte: 0.33, tail: 0.004, adapter: 'uds' },
  tcp: { base: 11_800, byte: 0.42, tail: 0.006, adapter: 'tcp' },
  iceoryx2: { base: 6400, byte: 0.001, tail: 0.003, adapter: 'iceoryx2' },
  iceoryx: { base: 6600, byte: 0.001, tail: 0.005, adapter: 'iceoryx', daemon: 'RouDi' },
  'zenoh-tcp': { base: 39_000, byte: 0.9, tail: 0.012, adapter: 'zenoh' },
  vsomeip: { base: 61_000, byte: 1.6, tail: 0.02, adapter: 'vsomeip', daemon: 'routing manager' },
};

const SIZES = [64, 1024, 16_384, 262_144];
const TOPOLOGIES = ['1-1', '1-3', '3-1'];
const TRIALS = 5;
const BLOCKS = 6;

/** Experiments as [name, workload, payload, topology], for every stack. */
const CELLS = [
  ['round-trip', { kind: 'ping-pong', gap: 0, timeout: 1_000_000_000 }, 64, '1-1'],
  ...SIZES.map((size) => ['one-way', { kind: 'stream', rate: 1000, arrivals: 'fixed' }, size, '1-1']),
  ...TOPOLOGIES.slice(1).map((t) => ['topologies', { kind: 'stream', rate: 500, arrivals: 'fixed' }, 1024, t]),
  ['topologies', { kind: 'stream', rate: 500, arrivals: 'fixed' }, 1024, '1-1'],
  ...[2000, 8000, 32_000].map((rate) => ['rates', { kind: 'stream', rate, arrivals: 'poisson' }, 1024, '1-1']),
  ['flood', { kind: 'flood' }, 1024, '1-1'],
  ['first-message', { kind: 'first-message', period: 20_000_000 }, 64, '1-1'],
];

const GAPS = { watched: 50_000_000, count: 5, longest: 61_000, lost: 240_000 };

/** Writes the run directory `dir`. `slower` maps stacks to factors; `rename` changes every name. */
export function writeRun(
  dir,
  template,
  { id, seed = 1, started = 1_763_695_923_999, slower = {}, rename = (n) => n, title },
) {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(join(dir, 'trials'), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(template, 'run.json'), 'utf8'));
  const plan = manifestPlan(manifest.plan, rename, title);
  const run = { ...manifest, id, started_unix_ms: started, command: ['dyno', 'run', plan.suite], plan };
  run.adapters = [...new Set(Object.values(STACKS).map((s) => s.adapter))].map((name) => ({
    ...manifest.adapters[0],
    name: rename(name),
    version: '1.2.3',
  }));
  run.environment = { ...manifest.environment, host: rename(manifest.environment.host) };
  writeFileSync(join(dir, 'run.json'), JSON.stringify(run, null, 1));
  let position = 0;
  for (let number = 0; number < TRIALS; number += 1) {
    for (const experiment of plan.experiments) {
      const own = Object.keys(STACKS).find((name) => rename(name) === experiment.stack);
      const record = trialOf(experiment, own, number, {
        position,
        started: started + 1000 + position * 700,
        factor: slower[own] ?? 1,
        next: random(seed * 1_000_003 + experiment.id * 131 + number),
      });
      const file = `e${String(experiment.id).padStart(4, '0')}-t${String(number).padStart(3, '0')}.json`;
      writeFileSync(join(dir, 'trials', file), JSON.stringify(record));
      position += 1;
    }
  }
}

function manifestPlan(plan, rename, title) {
  const stacks = Object.entries(STACKS).map(([stack, s]) => [
    rename(stack),
    {
      name: rename(stack),
      adapter: rename(s.adapter),
      description: 'made up',
      waits: ['block'],
      options: {},
      floor: Boolean(s.floor),
      loopback: false,
    },
  ]);
  const experiments = [];
  for (const [name, workload, payload, topology] of CELLS) {
    const floor = experiments.length;
    for (const stack of Object.keys(STACKS)) {
      experiments.push({
        ...plan.experiments[1],
        id: experiments.length,
        name: rename(name),
        stack: rename(stack),
        workload,
        payload,
        topology,
        window: { duration: 300_000_000 },
        scheduling: 'other',
        mlock: false,
        trials: TRIALS,
        raw_samples: 0,
        floor: experiments.length === floor ? null : floor,
        added: false,
        base: null,
      });
    }
  }
  return {
    ...plan,
    suite: rename('example'),
    title: title ?? rename('Every workload, made up for tests'),
    seed: 7,
    stacks: Object.fromEntries(stacks),
    experiments,
    refused: plan.refused.map((r) => ({
      ...r,
      experiment: rename('call'),
      stack: rename('pipe'),
      reason: rename('it has no requests'),
    })),
    against: null,
    precision: null,
  };
}

/** Samples of one trial in blocks. */
function samples(s, experiment, count, factor, next) {
  const [senders, receivers] = experiment.topology.split('-').map(Number);
  const base = (s.base + s.byte * experiment.payload) * factor * (1 + 0.12 * (senders + receivers - 2));
  const trial = 1 + 0.05 * (next() - 0.5);
  const blocks = [];
  for (let block = 0; block < BLOCKS; block += 1) {
    const values = [];
    for (let i = 0; i < count / BLOCKS; i += 1) {
      const usual = base * trial * (0.93 + 0.2 * next() ** 2);
      const slow = next() < s.tail ? 1 + 30 * next() ** 3 : 1;
      values.push(Math.round(usual * slow));
    }
    blocks.push(values);
  }
  return blocks;
}

function trialOf(experiment, stack, number, { position, started, factor, next }) {
  const s = STACKS[stack];
  const common = {
    format: 2,
    experiment: experiment.id,
    number,
    position,
    started_unix_ms: started,
    wall: 400_000_000 + Math.round(2e8 * next()),
  };
  const kind = experiment.workload.kind;
  // vsomeip does not manage the highest rate, and one trial of zenoh crashes.
  if (stack === 'vsomeip' && experiment.workload.rate === 32_000)
    return failed(common, 'hang', 'drain', 'sink 1 got nothing for 5 s; a queue is full', [
      'sink: queue full',
      'sink: giving up',
    ]);
  if (stack === 'zenoh-tcp' && kind === 'ping-pong' && number === 2)
    return failed(common, 'crash', 'window', 'echo ended with signal 11', []);
  const first = kind === 'first-message';
  const count = first ? 0 : 1200;
  const blocks = first ? [] : samples(s, experiment, count, factor, next);
  const lossy = stack === 'vsomeip' && experiment.topology === '3-1' ? 30 : 0;
  const rate = experiment.workload.rate ?? (kind === 'flood' ? Math.round(4e8 / s.base) : 5000);
  const delivered = kind === 'stream' ? rate * (1 - lossy / (count + lossy)) : rate * 0.998;
  return {
    ...common,
    outcome: 'completed',
    distributions: { ...latencies(kind, blocks, lossy, next), ...starts(s, factor, next) },
    counts: counts(count, lossy),
    flows: [],
    throughput: {
      offered_hz: rate,
      sent_hz: rate,
      delivered_hz: delivered,
      delivered_bytes_per_s: delivered * experiment.payload,
      blocked_share: kind === 'flood' ? 0.31 : 0,
    },
    cost: cost(s, count, next),
    open: 52_000,
    matching: 310_000,
    raw: [],
    warnings: number === 0 && stack === 'tcp' ? ['SCHED_FIFO not granted: needs CAP_SYS_NICE'] : [],
    warmup: 100_000_000,
    unsteady: false,
    noise: noise(next, stack === 'pipe' && number === 1),
    disturbed:
      stack === 'pipe' && number === 1
        ? ['other processes used 8.1 % of CPUs 0 and 1 during the window (`rustc` 41 ms)']
        : [],
    places: [],
    raw_samples: 0,
  };
}

function failed(common, kind, step, message, stderr) {
  return { ...common, outcome: 'failed', kind, step, message, stderr };
}

function latencies(kind, blocks, infinite, next) {
  if (kind === 'first-message') return {};
  if (kind === 'ping-pong')
    return {
      rtt_ns: distribution(
        blocks.map((b) => b.map((v) => 2 * v)),
        infinite,
      ),
    };
  const late = blocks.map((b) => b.map(() => Math.round(900 * next() ** 4)));
  return {
    response_ns: distribution(
      blocks.map((b, i) => b.map((v, k) => v + late[i][k])),
      infinite,
    ),
    service_ns: distribution(blocks, infinite),
    lateness_ns: distribution(late),
  };
}

function starts(s, factor, next) {
  const one = (ns) => distribution([[Math.round(ns * factor * (0.8 + 0.5 * next()))]]);
  return {
    first_message_ns: one(s.base * 300 + 2e6),
    open_ns: one(s.base * 120 + 8e5),
    match_ns: one(s.base * 150 + 9e5),
    first_delivery_ns: one(s.base * 30 + 3e5),
  };
}

function counts(received, lost) {
  const zero = { duplicated: 0, reordered: 0, corrupted: 0, truncated: 0, refused: 0, late: 0 };
  return { offered: received + lost, sent: received + lost, received, lost, ...zero };
}

function cost(s, messages, next) {
  const one = (label, cpu, pss, daemon = false) => ({
    label,
    user: Math.round(cpu * 0.6),
    system: Math.round(cpu * 0.4),
    pacing: 0,
    wall: 300_000_000,
    voluntary_switches: 900,
    involuntary_switches: 11,
    minor_faults: 120,
    major_faults: 0,
    peak_rss_bytes: Math.round(pss * 1.4),
    pss_bytes: Math.round(pss),
    daemon,
  });
  const each = (s.base * 0.8 + 3000) * Math.max(messages, 200) * (0.95 + 0.1 * next());
  const processes = [one('source', each * 0.55, 2.1e6 + s.base * 40), one('sink', each * 0.45, 2.3e6 + s.base * 40)];
  if (s.daemon) processes.push(one(`daemon ${s.daemon}`, each * 0.2, 6.6e7, true));
  const sum = (key) => processes.reduce((a, p) => a + p[key], 0);
  const cpu = sum('user') + sum('system');
  return {
    processes,
    cpu,
    cpu_ns_per_message: messages ? cpu / messages : null,
    switches_per_message: messages ? 1.5 : null,
    pss_bytes: sum('pss_bytes'),
    peak_rss_bytes: sum('peak_rss_bytes'),
  };
}

function noise(next, disturbed) {
  const lengths = distribution([[12_300, 12_300, 14_000, 25_000, Math.round(30_000 + 30_000 * next())]]).total;
  return {
    gaps: [0, 1].map((cpu) => ({ cpu, ...GAPS, lengths })),
    line_ns: 182.5,
    window: {
      wall: 300_000_000,
      cpus: [0, 1],
      stolen: Math.round(2e6 * next()),
      foreign: Math.round(disturbed ? 4.9e7 : 2.5e6 * next()),
      hungriest: [['rustc', disturbed ? 41_000_000 : 900_000]],
      interrupts: 412,
      context_switches: 1907,
      frequency_khz: {},
      throttled: null,
    },
  };
}

// ---- Names that are not nice ----

/** A name of 500 characters. */
export const LONG = 'a-name-of-five-hundred-characters-'.repeat(15).slice(0, 500);

/** What a hostile file could call things; each tries to become something else than text. */
export const HOSTILE = [
  '<img src=x onerror="window.pwned=1">',
  '"><script>window.pwned=2</script>',
  "';window.pwned=3;//",
  '</script><script>window.pwned=4</script>',
  LONG,
  '\u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645 (x) 12',
  '\u{1f697}\u{1f468}\u200d\u{1f469}\u200d\u{1f467} 100 % & <b>bold</b>',
  '${window.pwned=5}{{7*7}}{a|b}',
  'javascript:window.pwned=6',
  '=HYPERLINK("http://example.invalid","x")',
];

/** A renaming that gives every name another one of these, all different; stacks get the first. */
export function hostileNames() {
  const given = new Map();
  const rename = (name) => {
    if (!given.has(name)) {
      const at = given.size;
      const bad = HOSTILE[at % HOSTILE.length];
      given.set(name, at < HOSTILE.length ? bad : `${bad.slice(0, 480)} ${Math.floor(at / HOSTILE.length)}`);
    }
    return given.get(name);
  };
  for (const name of [...Object.keys(STACKS), ...CELLS.map(([name]) => name)]) rename(name);
  return rename;
}

// Numbers as people read them: the same digits, units and intervals as Dyno's terminal tables
// (crates/dyno-report/src/number.rs). Pure: values in, text out; never touches the page.
//
// Times are nanoseconds, sizes bytes, rates per second. `null` is infinite where a field may be
// infinite (a lost message is infinitely late), and unknown elsewhere.

import { factorNames, isBetweenHosts, isStart } from './tables.js';

export const NONE = '–';

/** `value` with three significant digits and without an exponent: `0.0312`, `12.3`, `12300`. */
export function sig3(value) {
  return significant(value, 3);
}

/** `value` with that many significant digits and without an exponent. */
export function significant(value, digits) {
  if (value === Infinity) return '∞';
  if (value === -Infinity) return '-∞';
  if (!Number.isFinite(value)) return NONE;
  if (value === 0) return '0';
  // The exponent is read from the rounded text, so that 9.996 counts as 10.0.
  const rounded = value.toExponential(Math.max(digits, 1) - 1);
  const exponent = Number(rounded.slice(rounded.indexOf('e') + 1));
  const places = Math.max(digits - 1 - exponent, 0);
  return Number(rounded).toFixed(Math.min(places, 100));
}

const TIMES = [
  { name: 's', ns: 1e9 },
  { name: 'ms', ns: 1e6 },
  { name: 'µs', ns: 1e3 },
  { name: 'ns', ns: 1 },
];

/** The largest unit of time in which `ns` is at least one: `{name, ns}`. */
export function timeUnit(ns) {
  return TIMES.find((unit) => Math.abs(ns) >= unit.ns) ?? TIMES[TIMES.length - 1];
}

/** One unit for all of these times: that of their median; microseconds for none. */
export function commonTimeUnit(times) {
  const finite = times.filter((ns) => Number.isFinite(ns)).sort((a, b) => a - b);
  return finite.length ? timeUnit(finite[Math.floor(finite.length / 2)]) : TIMES[2];
}

/** A duration with its unit: `12.3 µs`. `null` is infinite. */
export function duration(ns) {
  if (ns === null || ns === Infinity) return '∞';
  if (!Number.isFinite(ns)) return NONE;
  const unit = timeUnit(ns);
  return `${sig3(ns / unit.ns)} ${unit.name}`;
}

/** Ends that differ from the value only by what floating-point arithmetic rounds are the value. */
function snapped(end, value) {
  return Math.abs(end - value) <= 1e-9 * Math.abs(value) ? value : end;
}

/**
 * An estimate `{value, lo, hi, infinite}` in units of `scale`, as the two parts that tables align:
 * `{value: '5.10', interval: '[5.01, 5.30]'}`. An infinite value keeps its finite lower end.
 */
export function estimateParts(estimate, scale = 1) {
  if (!estimate) return { value: NONE, interval: '' };
  const lo = estimate.lo === null || estimate.lo === undefined ? Infinity : estimate.lo / scale;
  const hi = estimate.hi === null || estimate.hi === undefined ? Infinity : estimate.hi / scale;
  if (estimate.infinite || estimate.value === null) {
    return { value: '∞', interval: Number.isFinite(lo) ? `[${sig3(lo)}, ∞]` : '' };
  }
  const value = estimate.value / scale;
  return {
    value: sig3(value),
    interval: `[${sig3(snapped(lo, value))}, ${sig3(snapped(hi, value))}]`,
  };
}

/** An estimate of a time in one line, with its unit: `5.10 [5.01, 5.30] µs`. */
export function timeEstimate(estimate, unit) {
  if (!estimate) return NONE;
  const shown = unit ?? timeUnit(estimate.value ?? estimate.lo ?? 1e3);
  const { value, interval } = estimateParts(estimate, shown.ns);
  const lost = estimate.infinite || estimate.value === null ? ' (lost)' : '';
  return `${value}${lost}${interval ? ` ${interval}` : ''} ${shown.name}`;
}

/** A ratio with its interval: `1.40 [1.38, 1.43]`. */
export function ratioEstimate(estimate) {
  const { value, interval } = estimateParts(estimate);
  return interval ? `${value} ${interval}` : value;
}

/** Why a quantile has no value: too few samples, or an interval wider than a factor of ten. */
export function refusal(refused) {
  if (!refused) return '';
  const { wide } = refused;
  if (!wide) return `needs ${refused.need} samples, has ${refused.have}`;
  const end = (ns) => (ns === null ? '∞' : duration(ns));
  const takes = wide.need_trials === null ? '' : `, needs about ${wide.need_trials} trials, has ${wide.trials}`;
  return `its interval is too wide, ${end(wide.lo)} to ${end(wide.hi)}${takes}`;
}

const PREFIXES = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** A large number with an SI prefix and its unit: `1.23 MB/s`, `45.0 kHz`. */
export function withPrefix(value, unit = '') {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  const [scale, prefix] = PREFIXES.find(([scale]) => Math.abs(value) >= scale) ?? [1, ''];
  return `${sig3(value / scale)} ${prefix}${unit}`.trim();
}

/** A size of a payload exactly, in the largest unit (binary or decimal) that divides it: `64 B`, `4 KiB`, `1 MB`. */
export function payload(bytes) {
  if (!Number.isFinite(bytes)) return NONE;
  const units = [
    [2 ** 20, 'MiB'],
    [1e6, 'MB'],
    [2 ** 10, 'KiB'],
    [1e3, 'kB'],
  ];
  const [scale, unit] = units.find(([scale]) => bytes > 0 && bytes % scale === 0) ?? [1, 'B'];
  return `${bytes / scale} ${unit}`;
}

const MEMORY = [
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
];

/** An amount of memory in binary units: `66.1 MiB`. */
export function memory(bytes) {
  if (bytes === null || bytes === undefined || Number.isNaN(bytes)) return NONE;
  const [scale, unit] = MEMORY.find(([scale]) => bytes >= scale) ?? [1, 'B'];
  return `${sig3(bytes / scale)} ${unit}`;
}

/** A share of one as a percentage that says `100 %` only of the whole: 0.999999 is `>99.999 %`. */
export function share(part) {
  if (part === null || part === undefined || Number.isNaN(part)) return NONE;
  const percent = 100 * part;
  if (part >= 1) return `${percent.toFixed(0)} %`;
  if (percent > 99.999) return '>99.999 %';
  // Cut, not rounded: what is lost must show.
  if (percent >= 99) return `${Math.floor(percent * 1e3) / 1e3} %`;
  return `${sig3(percent)} %`;
}

/** A whole number with thin spaces between thousands: `1 500 000`. */
export function count(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** An instant, in the reader's time zone with its name: `2026-11-21 03:32:03 UTC`. */
export function instant(unixMs) {
  if (!Number.isFinite(unixMs)) return NONE;
  const date = new Date(unixMs);
  const two = (n) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const minutes = -date.getTimezoneOffset();
  const sign = minutes < 0 ? '-' : '+';
  const away = Math.abs(minutes);
  const zone = minutes === 0 ? 'UTC' : `UTC${sign}${two(Math.floor(away / 60))}:${two(away % 60)}`;
  return `${day} ${time} ${zone}`;
}

/** Why a one-way time must not be shown: the clocks of the hosts are too far apart for it. Null: it may. */
export function unresolvable(e, metric) {
  if (e.one_way_resolvable !== false || !isBetweenHosts(metric)) return null;
  return `not shown: the clocks of the hosts may differ by up to ${duration(e.clock_bound_ns)}, which is more than a tenth of the median`;
}

/** Names of the quantiles that experiments have. */
export const QUANTILES = { p50: 'p50', p90: 'p90', p99: 'p99', p999: 'p99.9' };

/** A rate of messages: `1 kHz`, `12.5 kHz`, `50 Hz`. */
export function rate(hz) {
  if (hz === null || hz === undefined || Number.isNaN(hz)) return NONE;
  const [scale, unit] = hz >= 1e6 ? [1e6, 'MHz'] : hz >= 1e3 ? [1e3, 'kHz'] : [1, 'Hz'];
  return `${Number((hz / scale).toPrecision(4))} ${unit}`;
}

/** Workload and load as the tables of the terminal have them: `stream 1 kHz`, `call (pair)`. */
export function exchange(e) {
  if (e.probe) return `${e.probe.text}${e.at_once > 1 ? `, ${e.at_once} at once` : ''}`;
  const l = e.load ?? {};
  const every = (ns) => (ns ? ` every ${duration(ns)}` : '');
  const parts = [
    Number.isFinite(l.rate_hz) ? ` ${rate(l.rate_hz)}` : '',
    Number.isFinite(l.messages) ? ` ${l.messages}` : '',
    every(l.period_ns ?? l.gap_ns),
    l.arrivals === 'poisson' ? ' poisson' : '',
    e.paired ? ' (pair)' : '',
  ];
  return `${e.workload}${parts.join('')}`;
}

/** The length of the measured part: `300 ms` or `1000 messages`. */
export function windowOf(e) {
  if (isStart(e)) return '';
  const w = e.window ?? {};
  if (Number.isFinite(w.duration_ns)) return duration(w.duration_ns);
  return Number.isFinite(w.messages) ? `${count(w.messages)} messages` : '';
}

/** What it is called as one of several flows that run at the same time; empty of an experiment that is none. */
export function flowOf(e) {
  if (!e.flow) return '';
  return e.flow.by_itself ? `${e.flow.name} alone` : e.flow.name;
}

/** How factors are shown that are data of the interface; the others come in words. */
const SHOWN = {
  flow: { of: flowOf },
  workload: { of: exchange },
  wait: { of: (e) => e.wait },
  payload: { of: (e) => e.flow?.payload ?? payload(e.payload_bytes) },
  access: { of: (e) => e.access },
  topology: { of: (e) => e.topology },
  placement: { of: (e) => e.placement },
  CPUs: { of: (e) => (e.cpus?.length ? `CPUs ${e.cpus.join(',')}` : 'not pinned') },
  scheduling: { of: (e) => (e.scheduling === 'fifo' ? `SCHED_FIFO ${e.fifo_priority}` : 'SCHED_OTHER') },
  memory: { of: (e) => (e.mlock ? 'memory locked' : ''), lead: '' },
  fault: { of: (e) => e.fault ?? '' },
  pacer: { of: (e) => e.pacer ?? '' },
  // A first message has no window; that makes no difference between those that have.
  window: { of: windowOf, optional: true },
};

/** The factors of an experiment, in the order of Dyno's tables: how each is called and shown. */
export function factors() {
  const told = (name) => ({ of: (e) => e.factors?.[name] ?? '', lead: '' });
  return factorNames().map(({ name, lead }) => ({
    key: name.toLowerCase(),
    title: name,
    lead,
    ...(SHOWN[name] ?? told(name)),
  }));
}

/** The factors that have the same value in all of these experiments, and those that have not. */
export function splitFactors(experiments) {
  const constant = [];
  const varying = [];
  for (const factor of factors()) {
    const values = experiments.map((e) => factor.of(e)).filter((value) => value || !factor.optional);
    const same = values.every((value) => value === values[0]);
    (same ? constant : varying).push(factor);
  }
  return { constant, varying };
}

/** The values of these factors in one line: `payload 64 B · access stamp`. */
export function conditions(of, e) {
  return of
    .map((f) => ({ f, value: f.of(e) }))
    .filter(({ value }) => value)
    .map(({ f, value }) => `${f.lead}${value}`)
    .join(' · ');
}

// What tables say of one experiment: quantiles with their intervals, or why there are none; cost, losses,
// trials. The same words in the answer, the matrix and the dialog.

import { button, name } from './dom.js';
import { NONE, QUANTILES, count, estimateParts, memory, refusal, share, sig3, timeUnit, unresolvable } from './format.js';
import { isStart } from './tables.js';

/** A quantile as {value, interval, unit, title, note}: in `unit`, or in its own, which then stands beside. */
export function quantileOf(e, metric, quantile, unit = null) {
  const m = e.metrics?.[metric];
  if (!m) return { value: NONE, interval: '' };
  const title = unresolvable(e, metric);
  if (title) return { value: NONE, interval: 'clocks', title, note: "not shown, because of the hosts' clocks" };
  const estimate = m[quantile];
  if (!estimate) {
    const refused = m[`${quantile}_refused`];
    return {
      value: NONE,
      interval: refused ? (refused.wide ? 'too wide' : `n ${refused.have}/${refused.need}`) : '',
      title: refused ? `withheld: ${refusal(refused)}` : null,
      note: refused ? `withheld, ${refused.wide ? 'the interval is too wide' : 'too few samples'}` : null,
    };
  }
  const own = unit ?? timeUnit(estimate.value ?? estimate.lo ?? 1e3);
  const parts = estimateParts(estimate, own.ns);
  const lost = estimate.infinite || estimate.value === null;
  return {
    ...parts,
    unit: unit ? null : own.name,
    title:
      `${QUANTILES[quantile]} ${parts.value} ${parts.interval} ${own.name}, 95 % interval, n ${m.n}` +
      (lost ? '; too many messages were lost for a finite value' : ''),
    note: lost ? 'lost' : null,
  };
}

/** The number that a quantile sorts by: infinite is largest, unknown null. */
export function quantileKey(e, metric, quantile) {
  const estimate = unresolvable(e, metric) ? null : e.metrics?.[metric]?.[quantile];
  if (!estimate) return null;
  return estimate.infinite || estimate.value === null ? Infinity : estimate.value;
}

/** × floor with its interval. */
export function floorOf(e) {
  const ratio = e.floor?.p50_ratio;
  if (e.is_floor) return { value: e.undercut_by?.length ? 'reference' : 'floor', interval: '' };
  if (!ratio) return { value: NONE, interval: '', title: e.floor?.why_none ? `none: ${e.floor.why_none}` : null };
  if (!e.floor.undercut_by?.length) return estimateParts(ratio);
  return { ...estimateParts(ratio), title: `relative to ${e.floor.stack}, which is not a floor here`, note: 'relative to a reference' };
}

export function floorKey(e) {
  const ratio = e.floor?.p50_ratio;
  if (!ratio) return null;
  return ratio.value === null ? Infinity : ratio.value;
}

/** CPU time per message that arrived, of a first message that of the start, ns; null where it is not known. */
export const cpuKey = (e) =>
  (isStart(e) ? e.cost?.cpu_ns : e.cost?.cpu_ns_per_message)?.median ?? null;
/** Memory of all processes, bytes. */
export const memoryKey = (e) => e.cost?.pss_bytes?.median ?? null;

/** A median with its extremes in the title. */
export function spread(of, write, per = '') {
  if (!of) return NONE;
  const range = `${write(of.min)} to ${write(of.max)}, smallest to largest trial`;
  return { value: `${write(of.median)}${per}`, interval: '', title: range };
}

export const memoryOf = (e) => spread(e.cost?.pss_bytes, memory);

/** Messages that never arrived: `12 (0.4 %)`, `0`; nothing where nothing was offered. */
export function lostOf(e) {
  const { lost, offered } = e.counts ?? {};
  if (!offered) return NONE;
  return lost > 0 ? `${count(lost)} (${share(lost / offered)})` : '0';
}

export function lostKey(e) {
  const { lost, offered } = e.counts ?? {};
  return offered ? lost / offered : null;
}

/** Trials that count, and what became of the others: `5`, `3 of 5 · 2 failed`. */
export function trialsOf(e) {
  const parts = [];
  const planned = e.planned_trials ?? 0;
  const left = e.failed_trials || e.disturbed_trials || e.trials < planned;
  parts.push(left ? `${e.trials} of ${Math.max(planned, e.trials)}` : String(e.trials));
  if (e.failed_trials) parts.push(`${e.failed_trials} failed`);
  if (e.all_disturbed) parts.push('all disturbed');
  else if (e.disturbed_trials) parts.push(`${e.disturbed_trials} disturbed`);
  const missing = planned - e.trials - e.failed_trials - (e.all_disturbed ? 0 : (e.disturbed_trials ?? 0));
  if (missing > 0) parts.push(`${missing} not run`);
  return parts.join(' · ');
}

/** Why the first failed trials failed, in one line; empty where none did. */
export function failureOf(e) {
  const first = e.failures?.[0];
  return first ? `${first.kind} in ${first.step}: ${first.message}` : '';
}

/** A marked name of a stack: yardsticks and rows that Dyno would not bet on are told apart by text. */
export function stackMarks(e) {
  const marks = [];
  if (e.is_floor) marks.push(e.undercut_by?.length ? 'reference' : 'floor');
  if (e.is_loopback) marks.push('loopback');
  if (e.is_base) marks.push('base');
  return marks;
}

/** What opens the dialog of a cell. */
export function opener(cell, open, content) {
  return button(content, () => open(cell), { class: 'open', title: `${cell.e.stack}: trials, environment, distribution` });
}

/** Columns of figures that several tables have, but for what they read. */
export const COLUMNS = {
  floor: {
    key: 'floor',
    title: '× floor',
    help: 'p50 divided by the p50 of the floor: the same exchange over bare shared memory, or over bare UDP between hosts',
    numeric: true,
  },
  cpu: {
    key: 'cpu',
    help: 'CPU time of all processes, including daemons, per message that arrived',
    numeric: true,
  },
  memory: {
    key: 'memory',
    title: 'Memory',
    help: 'proportional set size (PSS) of all processes, including daemons',
    numeric: true,
  },
};

/** Which cell it is, in words for headings: suite, experiment and stack isolated from each other. */
export function cellTitle(e) {
  return [name(e.experiment), ' · ', name(e.stack)];
}

/** `value` as a factor: `×1.40`. */
export function times(value) {
  return value === null ? '×∞' : `×${sig3(value)}`;
}

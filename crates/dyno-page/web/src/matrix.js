// The whole matrix as a table: every experiment with its conditions, quantiles, cost and state. What is the
// same in all of them stands in the caption, as in Dyno's terminal tables.

import { el, name } from './dom.js';
import {
  COLUMNS,
  cpuKey,
  failureOf,
  floorKey,
  floorOf,
  lostOf,
  memoryKey,
  opener,
  quantileKey,
  quantileOf,
  stackMarks,
  trialsOf,
} from './cells.js';
import {
  NONE,
  QUANTILES,
  commonTimeUnit,
  conditions,
  duration,
  share,
  sig3,
  splitFactors,
  windowOf,
} from './format.js';
import { rangeMark, rangeScale, swatch } from './marks.js';
import { groupBy, isYardstick, questionKey } from './plots/common.js';
import { keptTable, nameColumn, textColumn } from './table.js';
import { metricName } from './tables.js';

/** Fills the section and keeps it up to date. */
export function matrix(section, store, open) {
  const table = keptTable(store, {
    name: 'matrix',
    caption: 'All experiments',
    tall: true,
    explain: true,
    rowClass: (c) => (c.e.trials === 0 ? 'failed' : c.e.is_floor || c.e.is_loopback ? 'yardstick' : null),
  });
  section.append(table.element);
  store.watch((view) => table.fill({ ...columnsOf(view, open), rows: inBlocks(view.cells) }));
}

/** The cells question by question, each with its floors first: those under its conditions, and those that its ratios are of. */
export function inBlocks(cells) {
  const byId = new Map(cells.map((c) => [`${c.run}.${c.e.id}`, c]));
  const placed = new Set();
  const groups = groupBy(cells, questionKey).map(({ items }) => items);
  // Blocks of floors alone come last: most of them stand in others.
  groups.sort((a, b) => Number(a.every(isYardstick)) - Number(b.every(isYardstick)));
  for (const items of groups) {
    const floors = items.map((c) => byId.get(`${c.run}.${c.e.floor?.id}`)).filter(Boolean);
    for (const cell of [...items.filter(isYardstick), ...floors, ...items]) placed.add(cell);
  }
  return [...placed];
}

const sortText = (of) => (c) => of(c) || null;

/** How a factor sorts: sizes and rates by their number, the rest by their text. */
function factorKey(factor) {
  if (factor.key === 'payload') return (c) => c.e.payload_bytes;
  return sortText((c) => factor.of(c.e));
}

function columnsOf(view, open) {
  const cells = view.cells;
  const experiments = cells.map((c) => c.e);
  const { constant, varying } = splitFactors(experiments);
  const metrics = metricsOf(view);
  const told = metrics.every(({ workloads }) =>
    workloads.every((w) => metrics.filter((m) => m.workloads.includes(w)).length === 1),
  );
  const unit = commonTimeUnit(cells.map((c) => quantileKey(c.e, view.metricOf(c), 'p50')).filter((v) => v !== null));
  const cpuUnit = commonTimeUnit(cells.map((c) => cpuKey(c.e)).filter((v) => v !== null));
  const ranges = new Map(cells.map((c) => [c, rangeOf(c, view.metricOf(c))]));
  const scale = rangeScale([...ranges.values()], view.log);
  const names = new Set(experiments.map((e) => e.experiment));

  const quantile = (q) => ({
    key: q,
    title: QUANTILES[q],
    unit: unit.name,
    help: `${QUANTILES[q]} with its 95 % interval, in ${unit.name}`,
    numeric: true,
    cell: (c) => quantileOf(c.e, view.metricOf(c), q, unit),
    sort: (c) => quantileKey(c.e, view.metricOf(c), q),
  });

  const columns = [
    {
      key: 'stack',
      title: 'Stack',
      header: true,
      class: 'stack',
      cell: (c) => stackCell(c, open),
      sort: (c) => c.e.stack,
    },
    view.doc.runs.length > 1 && nameColumn('run', 'Run', (c) => view.doc.runs[c.run].name),
    names.size > 1 && nameColumn('experiment', 'Experiment', (c) => c.e.experiment),
    ...varying.map((factor) => ({
      key: factor.key,
      title: factor.title.charAt(0).toUpperCase() + factor.title.slice(1),
      class: 'factor',
      numeric: factor.key === 'payload',
      cell: (c) => factor.of(c.e) || NONE,
      sort: factorKey(factor),
    })),
    // Where the workload says which metric it is, the caption does, too.
    !told && textColumn('metric', 'Metric', (c) => metricName(view.metricOf(c)), { class: 'factor' }),
    scale && {
      key: 'range',
      title: 'p50 to p99.9',
      class: 'range',
      unit: `${duration(scale.lo)} … ${duration(scale.hi)}${view.log ? ', log' : ''}`,
      help: 'a dot at p50, ticks at p90, p99 and p99.9; an arrow where messages were lost',
      cell: (c) => rangeMark(ranges.get(c), scale, c.style),
    },
    ...Object.keys(QUANTILES).map(quantile),
    { ...COLUMNS.floor, cell: (c) => floorOf(c.e), sort: (c) => floorKey(c.e) },
    {
      key: 'delivered',
      title: 'Delivered',
      help: 'share of the offered messages that arrived',
      numeric: true,
      cell: (c) => ({ value: share(c.e.delivered_ratio), interval: '', title: `lost: ${lostOf(c.e)}` }),
      sort: (c) => c.e.delivered_ratio ?? null,
    },
    {
      ...COLUMNS.cpu,
      title: 'CPU/message',
      unit: cpuUnit.name,
      cell: (c) => (cpuKey(c.e) === null ? NONE : sig3(cpuKey(c.e) / cpuUnit.ns)),
      sort: (c) => cpuKey(c.e),
    },
    {
      ...COLUMNS.memory,
      unit: 'MiB',
      cell: (c) => (memoryKey(c.e) === null ? NONE : sig3(memoryKey(c.e) / 2 ** 20)),
      sort: (c) => memoryKey(c.e),
    },
    {
      key: 'trials',
      title: 'Trials',
      help: 'counted trials, then failed, disturbed and missing ones',
      class: 'trials',
      cell: (c) => trialsCell(c.e),
      sort: (c) => c.e.failed_trials * 1e6 + (c.e.disturbed_trials ?? 0),
      descendingFirst: true,
    },
  ].filter(Boolean);

  const named = metrics.map((m) =>
    metrics.length === 1 ? metricName(m.metric) : `${metricName(m.metric)} of ${m.workloads.join(', ')}`,
  );
  const what = told ? `${named.join('; ')}; ` : '';
  const like = experiments.find((e) => windowOf(e)) ?? experiments[0];
  const same = like ? `. In all: ${conditions(constant, like)}` : '';
  const many = `${cells.length} experiment${cells.length === 1 ? '' : 's'}`;
  const caption = `${many}: ${what}quantiles with 95 % intervals${same}`;
  return { columns, caption };
}

/** The metrics that are shown, each with the workloads that it is shown of. */
function metricsOf(view) {
  const known = new Map();
  for (const c of view.cells) {
    const metric = view.metricOf(c);
    if (!known.has(metric)) known.set(metric, new Set());
    known.get(metric).add(c.e.workload);
  }
  return [...known].map(([metric, workloads]) => ({ metric, workloads: [...workloads] }));
}

function rangeOf(cell, metric) {
  const at = (q) => quantileKey(cell.e, metric, q);
  return { p50: at('p50'), p90: at('p90'), p99: at('p99'), p999: at('p999') };
}

function stackCell(c, open) {
  const marks = stackMarks(c.e);
  return [
    opener(c, open, [swatch(c.style), name(c.e.stack)]),
    marks.length ? el('span', { class: 'marks' }, ` ${marks.join(', ')}`) : null,
    c.e.unstable && c.e.trials > 0
      ? el('abbr', { class: 'unstable', title: c.e.unstable_reason ?? 'a repeat may differ' }, ' ~')
      : null,
  ];
}

function trialsCell(e) {
  const text = trialsOf(e);
  const failure = failureOf(e);
  if (!failure) return text;
  return [el('span', { class: 'bad' }, `✕ ${text}`), el('span', { class: 'why', title: failure }, ` ${failure}`)];
}

// Every fresh start as a dot: from go to the first message at all receivers, as in Fig. 3 of Klüner et al. (2025).
// Beside it the medians of its parts: opening, matching, first delivery.

import { duration, unresolvable } from '../format.js';
import {
  fill,
  groupBy,
  isYardstick,
  limited,
  panelsOf,
  place,
  publishedOf,
  quantileOf,
  seriesName,
  styleOf,
} from './common.js';
import {
  CROSS,
  axisOf,
  categoryAxis,
  dots,
  hatch,
  onPanel,
  publishedSeries,
  scaleOf,
  stroke,
} from './chart.js';
import { column, plotOf, rounded, stackColumns } from './plot.js';
import { plural, short } from './text.js';
import { cellTip, publishedTip, tip } from './tip.js';
import { isStart } from '../tables.js';

const METRIC = 'first_message_ns';
const PARTS = [
  ['open_ns', 'open'],
  ['match_ns', 'match'],
  ['first_delivery_ns', 'first delivery'],
];
const MAX_ROWS = 32;
const MAX_TOPOLOGIES = 8;
/** Rows of all panels together. */
const MAX_ALL = 56;

/** One sample of a trial in ns, Infinity where the message never came, null where it was not recorded. */
function sampleOf(trial, metric) {
  const m = trial.metrics?.[metric];
  if (!m) return null;
  if (!(m.n > 0)) return m.infinite > 0 ? Infinity : null;
  return m.p50 ?? m.min ?? m.max ?? null;
}

export function median(values) {
  const sorted = values.filter((v) => v !== null).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** The starts of a cell's trials. */
function startsOf(cell) {
  if (unresolvable(cell.e, METRIC)) return [];
  return (cell.d?.trials ?? []).map((trial) => ({ cell, trial, ns: sampleOf(trial, METRIC) }));
}

const ran = (s) => s.ns !== null;

/** Panels of one topology, rows of one stack with all its starts. */
function drawn(view) {
  const own = view.cells.filter((c) => isStart(c.e));
  const cells = own.length > 0 ? own : view.cells;
  const keyOf = (c) => JSON.stringify([c.e.placement, c.e.topology]);
  const all = groupBy(cells, keyOf)
    .map((g) => ({ ...g, rows: rowsOf(view, g.items) }))
    .filter((g) => g.rows.some((r) => r.starts.some(ran)));
  const rowsTo = (n) => all.slice(0, n).reduce((sum, g) => sum + g.rows.length, 0);
  const fitting = all.filter((_, n) => n === 0 || rowsTo(n + 1) <= MAX_ALL).length;
  const several = own.length > 0 && Math.min(all.length, MAX_TOPOLOGIES, fitting) > 1;
  const { panels, shared, left, seriesLeft } = panelsOf(limited(all, Math.min(MAX_TOPOLOGIES, fitting)), {
    all: true,
    keep: (g) => limited(g.rows, MAX_ROWS),
    panel(rows, words, { items: [{ e }] }) {
      return { title: several ? words.join(', ') : `${e.placement}, ${e.topology}`, rows };
    },
  });
  const notes = [];
  if (own.length === 0 && panels.length > 0) {
    notes.push('No first-message experiment is selected: the plot shows the starts of the trials of all other workloads.');
  }
  if (left > 0) {
    notes.push(`${panels.length} of ${panels.length + left} topologies are drawn: choose topologies or placements above to see others.`);
  }
  if (seriesLeft > 0) notes.push(`${plural(seriesLeft, 'stack')} left out: choose stacks above to see others.`);
  const starts = panels.flatMap((p) => p.rows.flatMap((r) => r.starts));
  if (starts.some((s) => s.trial.outcome === 'completed' && s.trial.counted === false)) {
    notes.push('Hollow: the host disturbed the trial, so no median includes it.');
  }
  if (starts.some((s) => !ran(s) || s.ns === Infinity)) notes.push('✕ at the right: the trial failed, or its message never came.');
  return { panels, shared: own.length > 0 ? shared : '', notes };
}

function rowsOf(view, cells) {
  // A stack that waits in another way than most is compared with them, but not unmarked.
  const waits = groupBy(cells, (c) => c.e.wait).sort((a, b) => b.items.length - a.items.length);
  const usual = waits[0]?.key;
  const nameOf = (c) => (c.e.wait === usual ? seriesName(view, c) : `${short(seriesName(view, c), 17)} (${c.e.wait})`);
  return groupBy(cells, nameOf).map(({ key, items }) => {
    const starts = items.flatMap(startsOf);
    const counted = starts.filter((s) => s.trial.counted !== false && ran(s));
    return {
      name: key,
      cell: items[0],
      cells: items,
      starts,
      median: median(counted.map((s) => s.ns)),
      parts: PARTS.map(([metric]) => median(counted.map((s) => sampleOf(s.trial, metric)))),
    };
  });
}

const rowHeight = (d) => (d.panels.some((p) => p.rows.length > 12) ? 19 : 24);

/** Boxes in pairs: the starts, and the parts beside them; below each other where the page is narrow. */
function room(d) {
  const height = (i) => Math.max(56, d.panels[Math.floor(i / 2)].rows.length * rowHeight(d));
  return { height, minWidth: 400, left: 196, right: 26, below: 46 };
}

/** px up or down by which a dot stands aside of its row's middle: the same for the same trial. */
const jitter = (number, height) => (((number * 0.618034) % 1) - 0.5) * height * 0.62;

function starts(view, theme, d, panel, i) {
  const rows = [...panel.rows].reverse();
  const values = rows.flatMap((r) => r.starts.map((s) => s.ns)).filter((v) => v !== null);
  const others = rows.flatMap((r, n) =>
    r.cells.flatMap((cell) => publishedOf(view, cell, METRIC).map((o) => ({ ...o, cell, n }))),
  );
  const x = scaleOf(values.concat(others.map((o) => o.value_ns)), { log: view.log, ticks: 4 });
  const series = rows.map((row, n) => {
    const style = styleOf(view, row.cell, theme);
    const height = rowHeight(d);
    return dots(i, style, {
      id: `starts:${i}:${n}`,
      name: row.name,
      symbolSize: 7,
      data: row.starts.map(({ cell, trial, ns }) => {
        const lost = ns === null || ns === Infinity;
        const hollow = trial.counted === false || style.hollow;
        return {
          value: [lost ? x.max : ns, n],
          symbol: lost ? CROSS : style.symbol,
          symbolOffset: [lost ? 9 : 0, jitter(trial.number ?? 0, height)],
          itemStyle: lost ? { color: theme.bad } : { ...fill(style, hollow), opacity: 0.8 },
          open: place(cell),
          trial: trial.number,
        };
      }),
      z: 2,
    });
  });
  series.push(medians(theme, rows, i, rowHeight(d)));
  if (others.length > 0) {
    const marks = others.map((o) => ({ value: [o.value_ns, o.n], symbol: 'diamond', symbolSize: 12, open: place(o.cell), other: o }));
    series.push(publishedSeries(theme, i, marks));
  }
  return { series, x };
}

/** A line across each row at the median of its starts. */
function medians(theme, rows, i, height) {
  const known = rows.map((row, n) => ({ row, n })).filter(({ row }) => Number.isFinite(row.median));
  return {
    id: `medians:${i}`,
    name: 'median',
    type: 'custom',
    ...onPanel(i),
    z: 5,
    silent: true,
    itemStyle: { color: theme.text },
    encode: { x: 0, y: 1 },
    data: known.map(({ row, n }) => [row.median, n]),
    renderItem: (params, api) => {
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      return stroke(x, y - height * 0.42, x, y + height * 0.42, { color: theme.text, width: 2 });
    },
  };
}

/** Fills of the parts: shades of the text, so that no part looks like a stack, and a pattern for each. */
function partFill(theme, k) {
  const decals = [
    { symbol: 'none' },
    hatch(theme.text),
    { ...hatch(theme.muted), dashArrayY: [1, 6], rotation: -Math.PI / 4 },
  ];
  const fills = theme.dark ? ['#7f8a97', '#4a535e', '#2b323a'] : ['#6b747e', '#b4bac1', '#e4e6e9'];
  return { color: fills[k], decal: decals[k], borderColor: theme.muted, borderWidth: 1 };
}

function parts(view, theme, panel, i) {
  const rows = [...panel.rows].reverse();
  const sums = rows.map((r) => r.parts.reduce((sum, p) => sum + (Number.isFinite(p) ? p : 0), 0));
  // Lengths of stacked bars add up on a linear scale only.
  const x = scaleOf(sums, { log: false, ticks: 4 });
  const series = PARTS.map(([, title], k) => ({
    id: `parts:${i}:${k}`,
    name: title,
    type: 'bar',
    stack: `parts:${i}`,
    ...onPanel(i),
    barMaxWidth: 14,
    itemStyle: partFill(theme, k),
    data: rows.map((r, n) => ({
      value: [Number.isFinite(r.parts[k]) ? r.parts[k] : 0, n],
      open: place(r.cell),
      row: n,
    })),
  }));
  return { series, x };
}

function hover(view, theme, d, { cell, data, seriesId: id }) {
  if (data.other) return publishedTip(view, data.other, seriesName(view, cell));
  const bar = /^parts:(\d+):/.exec(id);
  if (bar) {
    const panel = d.panels[(Number(bar[1]) - 1) / 2];
    const row = [...panel.rows].reverse()[data.row];
    const text = (ns) => (ns === null ? '–' : duration(ns));
    return tip({
      title: row.name,
      style: styleOf(view, row.cell, theme),
      rows: [
        ...PARTS.map(([, title], k) => [`${title}, median`, text(row.parts[k])]),
        ['first message, median', text(row.median)],
        ['starts', String(row.starts.filter(ran).length)],
      ],
      notes: ['Medians of parts need not add up to the median of the whole.'],
    });
  }
  const trial = cell.d.trials.find((t) => t.number === data.trial);
  const ns = sampleOf(trial, METRIC);
  return cellTip(view, cell, theme, {
    metric: METRIC,
    first: [
      [`trial ${trial.number}`, ns === null ? '✕ failed' : ns === Infinity ? '∞ (never came)' : duration(ns)],
      ...PARTS.map(([metric, title]) => {
        const part = sampleOf(trial, metric);
        return [title, part === null ? null : duration(part)];
      }),
    ],
    notes: [trial.message, ...(trial.disturbed ?? []).slice(0, 2)],
  });
}

const partsOf = (view, theme, d) =>
  d.panels.flatMap((panel, p) => {
    const [left, right] = [starts(view, theme, d, panel, 2 * p), parts(view, theme, panel, 2 * p + 1)];
    const names = [...panel.rows].reverse().map((r) => r.name);
    return [
      {
        title: panel.title,
        xAxis: axisOf(theme, 2 * p, left.x, { log: view.log, title: 'start to first message', gap: 26 }),
        yAxis: categoryAxis(theme, 2 * p, names, { length: 28 }),
        series: left.series,
      },
      {
        subtitle: 'parts',
        xAxis: axisOf(theme, 2 * p + 1, right.x, { log: false, title: 'median of each part', gap: 26 }),
        yAxis: categoryAxis(theme, 2 * p + 1, names, { length: 28 }),
        series: right.series,
      },
    ];
  });

/** Rows are named at the axis: the legend explains the rest. */
const entries = (view, theme, d, series) => [
  ...PARTS.map(([, title]) => ({ name: title })),
  ...(series.some((s) => s.id.startsWith('published')) ? [{ name: 'published by others' }] : []),
];

const columns = (view) => [
  ...stackColumns(view),
  column('placement', ({ cell }) => cell.e.placement),
  column('topology', ({ cell }) => cell.e.topology),
  column('experiment', ({ cell }) => cell.e.experiment),
  column('trial', ({ trial }) => trial.number),
  column('counted', ({ trial, ns }) => (trial.counted === false || ns === null ? 'no' : 'yes')),
  rounded('first message', ({ ns }) => ns, 'ns'),
  ...PARTS.map(([metric, title]) => rounded(title, ({ trial }) => sampleOf(trial, metric), 'ns')),
  column('remark', ({ trial }) => trial.message ?? trial.disturbed?.[0]),
];

const rows = (d) => d.panels.flatMap((p) => p.rows).flatMap((row) => row.starts);

function summary(view) {
  const { panels } = drawn(view);
  const known = panels.flatMap((p) => p.rows).filter((r) => Number.isFinite(r.median));
  const stacks = known.filter((r) => !isYardstick(r.cell));
  // Floors alone are better than nothing.
  const rows = stacks.length > 0 ? stacks : known;
  if (rows.length === 0) return 'First message: no start of the selected stacks was recorded.';
  const best = rows.reduce((a, b) => (b.median < a.median ? b : a));
  const count = panels.flatMap((p) => p.rows).reduce((sum, r) => sum + r.starts.filter(ran).length, 0);
  const p50 = quantileOf(best.cell.e.metrics?.[METRIC], 'p50');
  const interval = best.cells.length === 1 && p50.state === 'known' ? p50.text : duration(best.median);
  return `${plural(count, 'start')}, stack by stack and topology by topology: the fastest median is that of ${short(best.name, 60)}, ${interval}.`;
}

export const firstMessage = plotOf({
  id: 'first-message',
  title: 'First message',
  question: 'How long does it take from the start until every receiver has a message from every sender?',
  kinds: { log: true, response: false },
  empty: 'No start of the selected stacks was recorded.',
  drawn,
  boxes: 2,
  room,
  partsOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

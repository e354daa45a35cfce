// Several at once: the p50 of each copy of a probe or an exchange over the CPUs that it was on, and the same alone as
// a line through all of them, as L4Re's page on performance has it. Flat, and on the line, is ideal.

import { duration, exchange } from '../format.js';
import {
  MAX_PANELS,
  MAX_SERIES,
  OUTLINES,
  allConditions,
  conditionKey,
  fill,
  groupBy,
  leftOut,
  limited,
  metricOf,
  metricTitle,
  panelsOf,
  place,
  quantileOf,
  seriesName,
  styleOf,
} from './common.js';
import { UP, asideOf, axisOf, categoryAxis, dots, scaleOf, thinLine } from './chart.js';
import { column, plotOf, stackColumns } from './plot.js';
import { plural, short } from './text.js';
import { cellTip } from './tip.js';

/** What makes up the copies, and what is a series of its own. */
const WITHIN = ['workload', 'topology', 'cpus'];

const cpusText = (cpus) => [...new Set(cpus)].join('+') || 'not pinned';
const whatOf = (e) => (e.probe ? e.probe.text : exchange(e));
const infinite = (value) => (value === null ? Infinity : value);

/** What a series is called: the stack, or what the probe measures. */
const nameOf = (view, cell) => (cell.e.probe ? `${seriesName(view, cell)}, ${cell.e.probe.text}` : seriesName(view, cell));

/** The copies of a cell: `[{ cpus, ns, min, max }]` in ns, Infinity where lost. */
function copiesOf(cell) {
  return (cell.e.copies ?? []).map((c) => ({
    cpus: cpusText(c.cpus),
    ns: infinite(c.p50_ns.median),
    min: infinite(c.p50_ns.min),
    max: infinite(c.p50_ns.max),
  }));
}

/** What one alone took, or null: `{ cell, cpus, ns }`. */
function aloneOf(view, cells) {
  const cell = cells.find((c) => c.e.at_once === 1);
  if (!cell) return null;
  const [copy] = copiesOf(cell);
  const ns = copy?.ns ?? quantileOf(metricOf(view, cell).figures, 'p50').value;
  return ns === null ? null : { cell, cpus: copy?.cpus ?? cpusText(cell.e.cpus), ns };
}

function drawn(view) {
  const groups = groupBy(view.cells, (c) => conditionKey(c.e, WITHIN)).map((g) => {
    const series = groupBy(g.items, (c) => JSON.stringify([nameOf(view, c), whatOf(c.e)])).flatMap(({ items }) =>
      items
        .filter((c) => c.e.at_once > 1 && copiesOf(c).length > 1)
        .map((cell) => ({ cell, copies: copiesOf(cell), alone: aloneOf(view, items) })),
    );
    return { ...g, series };
  });
  const within = limited(
    groups.filter((g) => g.series.length > 0),
    MAX_PANELS,
  );
  const { panels, shared, ...rest } = panelsOf(within, {
    without: WITHIN,
    first: (g) => g.series[0].cell,
    keep: (g) => limited(g.series, MAX_SERIES),
    panel(series, words) {
      const labels = series.flatMap((s) => [...s.copies.map((c) => c.cpus), ...(s.alone ? [s.alone.cpus] : [])]);
      const cpus = [...new Set(labels)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
      return { title: words.join(', '), series, cpus, metric: metricTitle(view, series.map((s) => s.cell)) };
    },
  });
  const notes = [
    'Filled marks: p50 of each copy while all copies run, median over its trials. Hollow marks and lines: one copy alone.',
    ...leftOut({ panels, ...rest }),
  ];
  return { panels, shared, notes };
}

/** Stacks have marks of their own; probes, which have one stack, those of their place in the panel. */
function lookOf(view, theme, cell, k) {
  const own = styleOf(view, cell, theme);
  if (!cell.e.probe) return own;
  const marks = Object.keys(OUTLINES);
  return { ...own, color: theme.colors[k % theme.colors.length], symbol: `path://${OUTLINES[marks[k % marks.length]]}` };
}

function panelOf(view, theme, panel, i) {
  const values = panel.series.flatMap((s) => [...s.copies.map((c) => c.ns), ...(s.alone ? [s.alone.ns] : [])]);
  const y = scaleOf(values, { log: view.log, headroom: values.includes(Infinity) });
  const series = panel.series.flatMap(({ cell, copies, alone }, k) => {
    const style = lookOf(view, theme, cell, k);
    const common = { name: nameOf(view, cell), clip: false };
    // Marks of several series on one CPU stand beside each other.
    const aside = asideOf(k, panel.series.length, 9, 60);
    const mark = (owner, c, hollow) => ({
      value: [panel.cpus.indexOf(c.cpus), c.ns === Infinity ? y.max : c.ns],
      open: place(owner),
      copy: c,
      symbolOffset: [aside, 0],
      itemStyle: fill(style, hollow),
      ...(c.ns === Infinity ? { symbol: UP } : {}),
    });
    const marks = copies.map((c) => mark(cell, c, style.hollow));
    if (alone) marks.push(mark(alone.cell, alone, true));
    const itemStyle = { color: style.color };
    const all = [dots(i, style, { ...common, id: `copies:${i}:${k}`, symbolSize: 9, itemStyle, data: marks })];
    if (alone && Number.isFinite(alone.ns)) {
      const data = panel.cpus.map((_, at) => [at, alone.ns]);
      const lineStyle = { color: style.color, type: style.dash, width: 1.4 };
      all.push(thinLine(i, style, { ...common, id: `copies:${i}:${k}:alone`, data, lineStyle }));
    }
    return all;
  });
  const axis = { name: 'CPUs of each copy', nameLocation: 'middle', nameGap: 28, nameTextStyle: { color: theme.muted, fontSize: 12 } };
  return {
    xAxis: categoryAxis(theme, i, panel.cpus, { length: 12, ...axis }),
    yAxis: axisOf(theme, i, y, { log: view.log, title: `p50, ${panel.metric}`, gap: 56 }),
    series,
  };
}

function hover(view, theme, d, { cell, data }) {
  const { cpus, ns, min, max } = data.copy;
  const shown = (value) => (value === Infinity ? '∞ (lost)' : duration(value));
  const range = min === undefined ? [] : [['over its trials', `${shown(min)} to ${shown(max)}`]];
  const first = [['at once', String(cell.e.at_once)], ['CPUs', cpus], ['p50 of this copy', shown(ns)], ...range];
  return cellTip(view, cell, theme, { first });
}

const entries = (view, theme, d) =>
  d.panels.flatMap((p) => p.series.map(({ cell }, k) => ({ name: nameOf(view, cell), style: lookOf(view, theme, cell, k) })));

const columns = (view) => [
  ...stackColumns(view),
  column('what', ({ cell }) => whatOf(cell.e)),
  column('conditions', ({ cell }) => allConditions(cell)),
  column('at once', ({ cell }) => cell.e.at_once),
  column('CPUs', ({ copy }) => copy.cpus),
  column('p50', ({ copy }) => copy.ns, 'ns'),
  column('smallest p50 of a trial', ({ copy }) => copy.min, 'ns'),
  column('largest p50 of a trial', ({ copy }) => copy.max, 'ns'),
];

const rows = (d) =>
  d.panels
    .flatMap((p) => p.series)
    .flatMap(({ cell, copies, alone }) => [
      ...(alone ? [{ cell: alone.cell, copy: alone }] : []),
      ...copies.map((copy) => ({ cell, copy })),
    ]);

function summary(view) {
  const all = drawn(view).panels.flatMap((p) => p.series);
  if (all.length === 0) return 'Parallel copies: the selection has no experiment with parallel copies.';
  const said = all.slice(0, 6).map(({ cell, copies }) => {
    const all = copies.map((c) => c.ns);
    return `${short(nameOf(view, cell), 40)} ${duration(Math.min(...all))} to ${duration(Math.max(...all))}`;
  });
  return `The p50 of parallel copies, fastest to slowest, of ${plural(all.length, 'series')}: ${said.join('; ')}.`;
}

export const copies = plotOf({
  id: 'copies',
  title: 'Parallel copies',
  question: 'Does the latency change if all CPUs do the same at once?',
  kinds: { log: true, response: false },
  empty: 'The selection has no experiment with parallel copies.',
  drawn,
  room: () => ({ height: 220 }),
  panelOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

// What the percentile plot and the ECDF share: panels of one question each, the curves of the stacks in them,
// and the table of all points.

import {
  MAX_PANELS,
  MAX_SERIES,
  fastest,
  fill,
  groupBy,
  isYardstick,
  lacks,
  leftOut,
  limitedGroups,
  metricOf,
  metricTitle,
  panelsOf,
  place,
  publishedOf,
  quantileOf,
  questionKey,
  samplesOf,
  seriesId,
  seriesName,
  sourceText,
  styleOf,
  withFloors,
  withoutWait,
} from './common.js';
import { curve, exported, widthOf } from './chart.js';
import { cellColumns, column, plotOf, rounded } from './plot.js';
import { plural, rankName } from './text.js';
import { flawsOf, samplesText } from './tip.js';

/** The curve of a cell at the ranks of the document's grid, or null. */
function curveOf(view, cell) {
  const { metric, figures } = metricOf(view, cell);
  const curve = cell.d?.curves?.[metric];
  // One point is no curve.
  return figures && curve?.length > 1 ? curve : null;
}

/** How many nines a rank has, which is where the percentile plot draws it: 0.9 is 1, 0.99 is 2. */
export const nines = (q) => -Math.log10(1 - q);

/**
 * The points of a cell's curve: `{ points: [{ q, x, ns }], lost, end }`, x in nines. The largest sample stands at
 * the rank 1 - 1/n, as nothing is known beyond it; `lost` is the rank from which messages never arrived, or null.
 */
export function pointsOf(view, cell) {
  const { figures } = metricOf(view, cell);
  return points(view.doc.grid, curveOf(view, cell) ?? [], figures);
}

/** What the hover of a series at a rank says beside its value: `12 µs · n 1 500 · 5 trials`. */
export function besideRank(view, cell, text) {
  return `${text} · n ${samplesText(metricOf(view, cell).figures)} · ${cell.e.trials} trials`;
}

function points(grid, curve, figures) {
  const all = samplesOf(figures);
  const list = [];
  curve.forEach((ns, i) => {
    if (ns !== null && grid[i] < 1) list.push({ q: grid[i], x: nines(grid[i]), ns });
  });
  const last = list[list.length - 1];
  const lost = figures?.infinite > 0 || curve.includes(null) ? 1 - (figures?.infinite ?? 0) / (all || 1) : null;
  const largest = figures?.max ?? (curve.length === grid.length ? curve[curve.length - 1] : null);
  if (lost === null && largest !== null && all > 0) {
    const x = Math.max(Math.log10(all), last ? last.x : 0);
    list.push({ q: 1, x, ns: largest });
  } else if (lost !== null && largest !== null && last && lost > last.q) {
    list.push({ q: lost, x: nines(lost), ns: largest });
  }
  return { points: list, lost: lost === null ? null : Math.max(lost, last?.q ?? 0) };
}

/** The curves of a cell's single trials, of its headline metric: `[{ trial, points, lost }]`. */
export function trialCurves(view, cell) {
  const { metric } = metricOf(view, cell);
  if (!view.one || metric !== cell.e.headline) return [];
  return (cell.d?.trials ?? [])
    .filter((t) => t.curve?.length > 0)
    .map((trial) => ({ trial, ...points(view.doc.grid, trial.curve, trial.metrics?.[metric]) }));
}

/** What the plots draw of a view. */
function drawn(view) {
  const able = view.cells.filter((c) => curveOf(view, c));
  const all = withFloors(view, groupBy(view.cells, questionKey))
    .map((g) => ({ ...g, able: g.items.filter((c) => curveOf(view, c)) }))
    .filter((g) => g.able.length > 0);
  const shown = limitedGroups(all, MAX_PANELS);
  const p50 = (c) => quantileOf(metricOf(view, c).figures, 'p50').value;
  const { panels, shared, ...rest } = panelsOf(shown, {
    without: withoutWait(shown.shown.flatMap((g) => g.items)),
    all: true,
    keep: (g) => fastest(g.able, p50, MAX_SERIES),
    panel: (cells, words) => ({ title: words.join(', '), cells, metric: metricTitle(view, cells) }),
  });
  const notes = [
    ...leftOut({ panels, ...rest }, 'question'),
    ...(panels.length > 1 ? ['Each panel has its own scale.'] : []),
    ...lacks(view, rest.cells),
  ];
  return { panels, shared, notes, able };
}

/** Figures of others that have a rank, with it. */
export function publishedPoints(view, cell) {
  const ranks = { p50: 0.5, median: 0.5, p90: 0.9, p99: 0.99, p999: 0.999, 'p99.9': 0.999 };
  return publishedOf(view, cell, metricOf(view, cell).metric)
    .filter((p) => ranks[p.quantile] !== undefined && p.value_ns > 0)
    .map((p) => ({ ...p, q: ranks[p.quantile] }));
}

const columns = (view) => [
  ...cellColumns(view),
  column('metric', ({ metric }) => metric),
  column('rank', ({ q }) => (q === 1 ? 1 : exported(q))),
  column('latency', ({ ns }) => ns, 'ns'),
  rounded('lo', ({ interval }) => interval?.lo, 'ns'),
  rounded('hi', ({ interval }) => interval?.hi, 'ns'),
  column('samples', ({ figures }) => samplesOf(figures)),
];

/** Every point that is drawn; the interval where it is known. */
function rows(d, view) {
  const intervals = { 0.5: 'p50', 0.9: 'p90', 0.99: 'p99', 0.999: 'p999' };
  return d.panels
    .flatMap((p) => p.cells)
    .flatMap((cell) => {
      const row = { cell, ...metricOf(view, cell) };
      const { points: list, lost } = pointsOf(view, cell);
      const known = list.map(({ q, ns }) => {
        const interval = quantileOf(row.figures, intervals[Number(q.toPrecision(6))]);
        return { ...row, q, ns, interval };
      });
      return lost === null ? known : [...known, { ...row, q: 1, ns: Infinity }];
    });
}

/** The cells of the curves by the series that they are drawn as. */
const bySeries = (d) => new Map(d.panels.flatMap((p, i) => p.cells.map((cell) => [seriesId(cell, i, 'curve'), cell])));

/**
 * A plot of curves. `tall` and `flat` are px of one panel and of several, `axis` is the one along which a pointer
 * reads all curves; `one(view, theme, panel, index, box, labelled)` draws a panel, `said(view, theme, byId)` makes the
 * text of the tooltip, and `what` is what the summary says that it draws.
 */
export const curvePlot = ({ tall, flat, axis, one, said, what, ...plot }) =>
  plotOf({
    kinds: { log: true, response: true },
    empty: 'The selection has no samples.',
    drawn,
    room(d) {
      const alone = d.panels.length === 1;
      return { height: alone ? tall : flat, right: alone ? 172 : 28, minWidth: 430 };
    },
    panelOf: (view, theme, panel, i, box, d) =>
      one(view, theme, panel, i, box, d.panels.length === 1 && widthOf(theme) >= 620),
    tooltip: (view, theme, d) => ({
      trigger: 'axis',
      axisPointer: { type: 'line', axis, lineStyle: { color: theme.muted } },
      formatter: said(view, theme, bySeries(d)),
    }),
    columns,
    rows,
    summary: (view) => summaryOf(view, what),
    ...plot,
  });

/** What is drawn, in one sentence for those who do not see it. */
function summaryOf(view, what) {
  const { panels, able } = drawn(view);
  if (panels.length === 0) return `${what}: the selection has no samples.`;
  const cells = panels.flatMap((p) => p.cells);
  // Panels are different questions: what is lowest in one says nothing of another.
  const lowest = panels.map((panel) => {
    const [best] = panel.cells
      .filter((c) => !isYardstick(c))
      .map((c) => [c, quantileOf(metricOf(view, c).figures, 'p99')])
      .filter(([, q]) => q.state === 'known')
      .sort((a, b) => a[1].value - b[1].value);
    const where = panels.length > 1 && panel.title ? `${panel.title}: ` : '';
    return best ? `${where}${seriesName(view, best[0])}, ${best[1].text}` : null;
  });
  const known = lowest.filter(Boolean);
  const tail = known.length > 0 ? ` The lowest p99: ${known.join('; ')}.` : '';
  const lost = cells.filter((c) => metricOf(view, c).figures?.infinite > 0).length;
  return `${what} of ${plural(cells.length, 'curve')} in ${plural(panels.length, 'panel')}, out of ${plural(able.length, 'experiment')}.${tail}${lost ? ` ${plural(lost, 'curve')} lost messages.` : ''}`;
}

/** Text of a rank for hovers: `99.9 %`, `largest of 1500`. */
export function rankText(q, figures) {
  return q === 1 ? `largest of ${figures?.n ?? 0}` : rankName(q);
}

/** The curve of a cell in panel `i`. */
export function curveSeries(view, theme, cell, i, data) {
  const style = styleOf(view, cell, theme);
  return curve(i, style, {
    id: seriesId(cell, i, 'curve'),
    name: seriesName(view, cell),
    data,
    symbolSize: 7,
    showSymbol: true,
    triggerEvent: 'line',
  });
}

/** A figure of others beside the curves. */
export function publishedMark(view, theme, p, value) {
  const style = styleOf(view, p.cell, theme);
  return {
    value,
    symbol: style.symbol,
    itemStyle: fill(style, true),
    open: place(p.cell),
    said: `${p.as ?? 'published'}, not measured by Dyno: ${p.text} (${sourceText(p.source)})`,
    notes: flawsOf(p),
    q: p.q,
  };
}

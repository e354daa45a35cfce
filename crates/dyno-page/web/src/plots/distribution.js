// What the percentile plot and the ECDF share: panels of one question each, the curves of the stacks in them,
// and the table of all points.

import {
  MAX_PANELS,
  MAX_SERIES,
  allConditions,
  distinctions,
  fastest,
  fill,
  groupBy,
  isYardstick,
  lacks,
  leftOut,
  limitedGroups,
  metricOf,
  metricTitle,
  place,
  publishedOf,
  quantileOf,
  questionKey,
  runName,
  seriesId,
  seriesName,
  sourceText,
  styleOf,
  withFloors,
  withoutWait,
} from './common.js';
import { exported, onPanel } from './chart.js';
import { plural, rankName } from './text.js';
import { flawsOf } from './tip.js';

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

function points(grid, curve, figures) {
  const all = (figures?.n ?? 0) + (figures?.infinite ?? 0);
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
export function drawn(view) {
  const able = view.cells.filter((c) => curveOf(view, c));
  const all = withFloors(view, groupBy(view.cells, questionKey))
    .map((g) => ({ ...g, able: g.items.filter((c) => curveOf(view, c)) }))
    .filter((g) => g.able.length > 0);
  const { shown, left } = limitedGroups(all, MAX_PANELS);
  const { words, shared } = distinctions(
    shown.map((g) => g.items[0].e),
    withoutWait(shown.flatMap((g) => g.items)),
    shown.flatMap((g) => g.items.map((c) => c.e)),
  );
  let seriesLeft = 0;
  const panels = shown.map((g, i) => {
    const p50 = (c) => quantileOf(metricOf(view, c).figures, 'p50').value;
    const { shown: cells, left: over } = fastest(g.able, p50, MAX_SERIES);
    seriesLeft += over;
    return { title: words[i].join(', '), cells, metric: metricTitle(view, cells) };
  });
  const notes = [
    ...leftOut({ panels: panels.length, panelsLeft: left, seriesLeft }),
    ...(panels.length > 1 ? ['Each panel has its own scale.'] : []),
    ...lacks(view, shown.flatMap((g) => g.items)),
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

/** Every point that is drawn; the interval where it is known. */
export function curveTable(view) {
  const columns = [
    { name: 'run' },
    { name: 'stack' },
    { name: 'conditions' },
    { name: 'metric' },
    { name: 'rank' },
    { name: 'latency', unit: 'ns' },
    { name: 'lo', unit: 'ns' },
    { name: 'hi', unit: 'ns' },
    { name: 'samples' },
  ];
  const rows = [];
  const intervals = { 0.5: 'p50', 0.9: 'p90', 0.99: 'p99', 0.999: 'p999' };
  for (const cell of drawn(view).panels.flatMap((p) => p.cells)) {
    const { metric, figures } = metricOf(view, cell);
    const head = [runName(view, cell), cell.e.stack, allConditions(cell), metric];
    const samples = (figures?.n ?? 0) + (figures?.infinite ?? 0);
    const { points: list, lost } = pointsOf(view, cell);
    for (const { q, ns } of list) {
      const { lo, hi } = quantileOf(figures, intervals[Number(q.toPrecision(6))]);
      rows.push([...head, q === 1 ? 1 : exported(q), ns, exported(lo), exported(hi), samples]);
    }
    if (lost !== null) rows.push([...head, 1, Infinity, null, null, samples]);
  }
  return { columns, rows };
}

/** What is drawn, in one sentence for those who do not see it. */
export function curveSummary(view, what) {
  const { panels, able } = drawn(view);
  if (panels.length === 0) return `${what}: nothing is selected that has samples.`;
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
  return {
    id: seriesId(cell, i, 'curve'),
    name: seriesName(view, cell),
    type: 'line',
    ...onPanel(i),
    data,
    symbol: style.symbol,
    symbolSize: 7,
    showSymbol: true,
    itemStyle: fill(style),
    lineStyle: { color: style.color, type: style.dash, width: 2 },
    emphasis: { focus: 'series', blurScope: 'coordinateSystem' },
    triggerEvent: 'line',
    clip: false,
    z: 3,
  };
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

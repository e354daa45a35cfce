// Box plots by topology, the stacks side by side, as in Fig. 4 of Klüner et al. (2025): box from p25 to p75 with
// the median, whiskers from the smallest to p95, the stack's symbol at the largest.

import { duration } from '../format.js';
import {
  MAX_SERIES,
  OUTLINES,
  allConditions,
  conditionKey,
  entryOf,
  fastest,
  groupBy,
  lack,
  lacks,
  leftOut,
  limited,
  metricOf,
  metricTitle,
  panelsOf,
  place,
  publishedOf,
  quantileOf,
  samplesOf,
  seriesName,
  styleOf,
  yardsticksLast,
} from './common.js';
import { axisOf, categoryAxis, onPanel, scaleOf, stroke } from './chart.js';
import { column, plotOf, stackColumns } from './plot.js';
import { plural, short } from './text.js';
import { cellTip, publishedTip } from './tip.js';
import { isStart } from '../tables.js';

const MAX_BOX_PANELS = 5;
/** Conditions that differ with the topology, or make it up. */
const WITHIN = ['topology', 'placement', 'cpus'];

/** The ranks that a box has. */
const RANKS = ['min', 'p25', 'p50', 'p75', 'p95', 'max'];

/** The box of a cell's metric, Infinity where lost, or null. */
function boxOf(view, cell) {
  const { metric, figures } = metricOf(view, cell);
  const box = figures ? cell.d?.box?.[metric] : null;
  if (!box) return null;
  const at = (key) => (box[key] === null ? Infinity : box[key]);
  const values = RANKS.map((rank) => [rank, at(rank)]);
  return values.some(([, v]) => v === undefined) ? null : Object.fromEntries(values);
}

/** A start is measured a few times only; it has a plot of its own. */
const concerns = (view, cell) => !isStart(cell.e) || view.one;

function drawn(view) {
  const cells = view.cells.filter((c) => concerns(view, c));
  const groups = groupBy(cells, (c) => conditionKey(c.e, WITHIN));
  const all = yardsticksLast(groups.filter((g) => g.items.filter((c) => boxOf(view, c)).length > (view.one ? 0 : 1)));
  const shown = limited(all, MAX_BOX_PANELS);
  const placements = new Set(shown.shown.flatMap((g) => g.items.map((c) => c.e.placement)));
  const categoryOf = (e) => (placements.size > 1 ? `${e.placement} ${e.topology}` : e.topology);
  const median = (s) => Math.min(...s.map((c) => quantileOf(metricOf(view, c).figures, 'p50').value ?? Infinity));
  const { panels, shared, ...rest } = panelsOf(shown, {
    without: WITHIN,
    keep(g) {
      const stacks = groupBy(g.items, (c) => seriesName(view, c)).map((s) => s.items);
      return fastest(stacks, median, MAX_SERIES);
    },
    panel(stacks, words, g) {
      const categories = [...new Set(g.items.map((c) => categoryOf(c.e)))];
      return { title: words.join(', '), stacks, categories, categoryOf, metric: metricTitle(view, stacks.flat()) };
    },
  });
  const notes = [
    'Box: p25 to p75 with the median; whiskers: smallest to p95; symbol: largest. An arrow at the top: lost messages.',
    ...leftOut({ panels, ...rest }),
    ...(others(view, panels.flatMap((p) => p.stacks.flat())).length > 0
      ? ['White: published figures; a diamond for the median, a circle for the largest.']
      : []),
    ...lacks(view, rest.cells),
  ];
  return { panels, shared, notes };
}

/** Figures of others beside these cells that boxes have a place for. */
function others(view, cells) {
  return cells.flatMap((cell) =>
    publishedOf(view, cell, metricOf(view, cell).metric)
      .filter((o) => ['p50', 'median', 'max'].includes(o.quantile) && o.value_ns > 0)
      .map((o) => ({ ...o, cell })),
  );
}

const wide = (d) => d.panels.some((p) => p.categories.length * p.stacks.length > 12);

const room = (d) => ({ height: d.panels.length > 1 ? 210 : 320, minWidth: wide(d) ? 1e9 : 400, below: 40 });

/** Line segments and a rectangle of one box; `y` maps ns to px, infinite ones to the top. */
function drawBox(style, box, x, half, y, hollow) {
  const line = (x1, y1, x2, y2, width) => stroke(x1, y1, x2, y2, { color: style.color, width });
  // Narrow boxes are hit with their surroundings.
  const [low, high] = [y(box.min), y(box.max)];
  const around = { x: x - half - 2, y: high - 6, width: 2 * half + 4, height: low - high + 12 };
  const children = [{ type: 'rect', shape: around, style: { fill: 'transparent', stroke: 'none' } }];
  if (Number.isFinite(box.min)) {
    children.push(line(x, y(box.min), x, y(box.p25)), line(x - half / 2, y(box.min), x + half / 2, y(box.min)));
  }
  if (Number.isFinite(box.p75)) {
    children.push(line(x, y(box.p75), x, y(box.p95)));
    if (Number.isFinite(box.p95)) children.push(line(x - half / 2, y(box.p95), x + half / 2, y(box.p95)));
  }
  if (Number.isFinite(box.p25)) {
    const top = y(box.p75);
    const height = Math.max(1, y(box.p25) - top);
    children.push({
      type: 'rect',
      shape: { x: x - half, y: top, width: 2 * half, height },
      style: { stroke: style.color, lineWidth: 1.4, fill: hollow ? 'none' : style.color, fillOpacity: 0.3 },
    });
  }
  if (Number.isFinite(box.p50)) children.push(line(x - half, y(box.p50), x + half, y(box.p50), 2.6));
  if (Number.isFinite(box.max)) {
    // The stack's symbol, so that it is known without its colour.
    const size = Math.min(9, Math.max(4.5, 1.6 * half));
    const shape = { pathData: OUTLINES[style.mark] ?? OUTLINES.circle, x: x - size / 2, y: y(box.max) - size / 2, width: size, height: size };
    const paint = hollow ? { fill: 'none', stroke: style.color, lineWidth: 1.2 } : { fill: style.color, stroke: 'none' };
    children.push({ type: 'path', shape, style: paint });
  } else {
    const top = y(Infinity);
    const points = [[x, top - 7], [x + 5, top + 1], [x - 5, top + 1]];
    children.push({ type: 'polygon', shape: { points }, style: { fill: style.color, stroke: 'none' } });
  }
  return children;
}

/** A cross where a cell failed, at the bottom. */
function drawCross(theme, x, y) {
  const look = { color: theme.bad, width: 2 };
  return [stroke(x - 4, y - 10, x + 4, y - 2, look), stroke(x - 4, y - 2, x + 4, y - 10, look)];
}

/** px from the middle of a category to a stack's place in it, and half of a box's width. */
function slot(band, k, count) {
  const step = (band * 0.86) / count;
  return { offset: (k - (count - 1) / 2) * step, half: Math.max(1.5, Math.min(13, step * 0.36)) };
}

function panelOf(view, theme, panel, i, box) {
  const count = panel.stacks.length;
  const boxes = panel.stacks.flat().map((c) => boxOf(view, c)).filter(Boolean);
  const slots = new Map(panel.stacks.flatMap((stack, k) => stack.map((cell) => [cell, k])));
  const published = others(view, panel.stacks.flat()).map((o) => ({ ...o, k: slots.get(o.cell) }));
  const values = boxes.flatMap((b) => Object.values(b)).concat(published.map((o) => o.value_ns));
  const y = scaleOf(values, { log: view.log, headroom: boxes.some((b) => b.max === Infinity) });
  const series = panel.stacks.map((stack, k) => {
    const style = styleOf(view, stack[0], theme);
    const shown = stack.map((cell) => ({ cell, box: boxOf(view, cell) })).filter((s) => s.box || lack(s.cell)?.failed);
    return {
      id: `topology:${i}:${k}`,
      name: seriesName(view, stack[0]),
      type: 'custom',
      ...onPanel(i),
      clip: false,
      itemStyle: { color: style.color },
      encode: { x: 0, y: 1 },
      data: shown.map(({ cell, box }) => ({
        value: [panel.categories.indexOf(panel.categoryOf(cell.e)), Number.isFinite(box?.p50) ? box.p50 : y.max],
        open: place(cell),
      })),
      renderItem: (params, api) => {
        const entry = shown[params.dataIndex];
        const band = api.size([1, 0])[0];
        const { offset, half } = slot(band, k, count);
        const at = (ns) => api.coord([api.value(0), Math.min(Math.max(ns, y.min), y.max)])[1];
        const x = api.coord([api.value(0), y.min])[0] + offset;
        const children = entry.box ? drawBox(style, entry.box, x, half, at, style.hollow) : drawCross(theme, x, at(y.min));
        return { type: 'group', children };
      },
    };
  });
  if (published.length > 0) series.push(othersSeries(theme, panel, i, published, count));
  const length = Math.max(6, Math.floor(box.px / panel.categories.length / 6.5));
  return {
    xAxis: categoryAxis(theme, i, panel.categories, { length }),
    yAxis: axisOf(theme, i, y, { log: view.log, title: panel.metric, gap: 56 }),
    series,
  };
}

function othersSeries(theme, panel, i, published, count) {
  return {
    id: `published:${i}`,
    name: 'published by others',
    type: 'custom',
    ...onPanel(i),
    z: 4,
    itemStyle: { color: theme.text },
    encode: { x: 0, y: 1 },
    data: published.map((o) => ({
      value: [panel.categories.indexOf(panel.categoryOf(o.cell.e)), o.value_ns],
      open: place(o.cell),
      other: o,
    })),
    renderItem: (params, api) => {
      const o = published[params.dataIndex];
      const { offset } = slot(api.size([1, 0])[0], o.k, count);
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      const r = 4.5;
      // A hollow diamond for the median, a hollow circle for the largest.
      const style = { fill: theme.background, stroke: theme.text, lineWidth: 1.4 };
      const cx = x + offset;
      if (o.quantile === 'max') return { type: 'circle', shape: { cx, cy: y, r: r - 1 }, style };
      const points = [[cx, y - r], [cx + r, y], [cx, y + r], [cx - r, y]];
      return { type: 'polygon', shape: { points }, style };
    },
  };
}

function hover(view, theme, d, { cell, data }) {
  if (data.other) return publishedTip(view, data.other, seriesName(view, cell));
  const box = boxOf(view, cell);
  const first = box
    ? [
        ['smallest', duration(box.min)],
        ['p25 to p75', `${duration(box.p25)} to ${duration(box.p75)}`],
        ['p95', duration(box.p95)],
        ['largest', duration(box.max)],
      ]
    : [];
  return cellTip(view, cell, theme, { first });
}

function entries(view, theme, d, series) {
  const stacks = d.panels.flatMap((p) => p.stacks.map(([cell]) => entryOf(view, theme, cell)));
  const style = { symbol: 'diamond', color: theme.text, hollow: true };
  const published = series.some((s) => s.id.startsWith('published'));
  return published ? [...stacks, { name: 'published by others', style }] : stacks;
}

const columns = (view) => [
  ...stackColumns(view),
  column('topology', ({ cell }) => cell.e.topology),
  column('placement', ({ cell }) => cell.e.placement),
  column('conditions', ({ cell }) => allConditions(cell)),
  column('metric', ({ metric }) => metric),
  ...RANKS.map((rank) => column(rank, ({ box }) => box?.[rank], 'ns')),
  column('samples', ({ figures }) => samplesOf(figures)),
  column('trials', ({ cell }) => cell.e.trials),
  column('remark', ({ cell, metric }) => lack(cell, metric)?.text),
];

const rows = (d, view) =>
  d.panels
    .flatMap((p) => p.stacks.flat())
    .map((cell) => ({ cell, box: boxOf(view, cell), ...metricOf(view, cell) }));

function summary(view) {
  const { panels } = drawn(view);
  if (panels.length === 0) return 'Latency by topology: the selection has no samples.';
  const topologies = new Set(panels.flatMap((p) => p.categories));
  const stacks = new Set(panels.flatMap((p) => p.stacks.map((s) => seriesName(view, s[0]))));
  const list = [...topologies].slice(0, 8).join(', ');
  return `Box plots of latency of ${plural(stacks.size, 'stack')} over ${plural(topologies.size, 'topology').replace(/ys$/, 'ies')} (${short(list, 80)}) in ${plural(panels.length, 'panel')}.`;
}

export const topology = plotOf({
  id: 'topology',
  title: 'Latency by topology',
  question: 'How do more senders and receivers change the latency?',
  kinds: { log: true, response: true },
  empty: 'The selection has no samples.',
  drawn,
  room,
  panelOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

// What a stack costs: memory and CPU of all its processes, its daemons as a part of their own.

import { duration, memory } from '../format.js';
import {
  groupBy,
  isYardstick,
  lack,
  lacks,
  leftOut,
  limited,
  limitedGroups,
  panelsOf,
  place,
  questionKey,
  seriesName,
  styleOf,
  withFloors,
  withoutWait,
} from './common.js';
import { axisOf, categoryAxis, hatch, lettering, onPanel, scaleOf, stroke } from './chart.js';
import { cellColumns, column, plotOf, rounded } from './plot.js';
import { memoryTick, plural, short, timeTick } from './text.js';
import { cellTip } from './tip.js';
import { isStart } from '../tables.js';

const MAX_COST_PANELS = 4;
const MAX_ROWS = 30;
const DAEMONS = 'daemons';
const REST = 'participants';

const KINDS = [
  { key: 'pss_bytes', title: 'memory (proportional)', tick: memoryTick, text: memory, unit: 'bytes' },
  { key: 'cpu_ns_per_message', title: 'CPU time per message', tick: timeTick, text: duration, unit: 'ns' },
];

/** Where only the start is measured, it is one message that all of it is the cost of. */
function titleOf(kind, panel) {
  const start = panel.cells.every((c) => isStart(c.e));
  return start && kind.key === 'cpu_ns_per_message' ? 'CPU time of a start' : kind.title;
}

/** A cost of a cell: `{ all, daemons, rest, min, max, each }`, medians of its trials; or null. */
function costOf(cell, key) {
  const spread = cell.e.cost?.[key];
  if (!spread) return null;
  const each = (cell.e.cost.daemons ?? []).map((d) => ({ name: d.name, value: d[key]?.median ?? null }));
  const daemons = each.reduce((sum, d) => sum + (d.value ?? 0), 0);
  // Medians of parts need not add up to that of the whole; the whole is what is drawn.
  const part = Math.min(daemons, spread.median);
  return { all: spread.median, daemons: part, rest: spread.median - part, min: spread.min, max: spread.max, each };
}

const hasCost = (cell) => KINDS.some(({ key }) => costOf(cell, key));

function drawn(view) {
  const all = withFloors(view, groupBy(view.cells, questionKey)).filter((g) => g.items.some(hasCost));
  const shown = limitedGroups(all, MAX_COST_PANELS);
  const { panels, shared, left, seriesLeft, cells } = panelsOf(shown, {
    without: withoutWait(shown.shown.flatMap((g) => g.items)),
    all: true,
    keep: (g) => limited(g.items, MAX_ROWS),
    panel: (kept, words) => ({ title: words.join(', '), cells: kept }),
  });
  const notes = [
    'Bars: medians of the trials; lines: smallest to largest trial. Shared memory is divided among the processes that share it.',
    ...(panels.length > 1 ? ['All panels have the same scale for memory, and each panel has its own scale for CPU time.'] : []),
    ...leftOut({ panels, left }, 'question'),
    ...(seriesLeft > 0 ? [`${plural(seriesLeft, 'stack')} left out: choose stacks above to see others.`] : []),
    ...lacks(view, cells),
  ];
  return { panels, shared, notes };
}

const rowHeight = (d) => (d.panels.some((p) => p.cells.length > 14) ? 18 : 24);

function room(d) {
  const height = (i) => Math.max(48, d.panels[Math.floor(i / 2)].cells.length * rowHeight(d));
  return { height, minWidth: 400, left: 170, right: 76, below: 46 };
}

function panelOf(view, theme, panel, kind, x, i) {
  const cells = [...panel.cells].reverse();
  const costs = cells.map((c) => costOf(c, kind.key));
  const bars = (name, key, decal) => ({
    id: `cost:${i}:${key}`,
    name,
    type: 'bar',
    stack: `cost:${i}`,
    ...onPanel(i),
    barMaxWidth: 15,
    itemStyle: { color: theme.muted, decal },
    data: cells.map((cell, n) => {
      const cost = costs[n];
      const { color } = styleOf(view, cell, theme);
      const last = key === 'daemons';
      return {
        value: [cost ? cost[key] : 0, n],
        open: place(cell),
        kind: kind.key,
        itemStyle: { color, opacity: last ? 0.75 : 1, decal, borderColor: color, borderWidth: last && cost?.daemons > 0 ? 1 : 0 },
      };
    }),
  });
  const ends = cells.map((c, n) => ({
    n,
    cost: costs[n],
    text: costs[n] ? kind.text(costs[n].all) : lack(c)?.failed ? '✕ failed' : '–',
  }));
  const series = [bars(REST, 'rest', { symbol: 'none' }), bars(DAEMONS, 'daemons', hatch(theme.background)), spreads(theme, i, ends)];
  return { series, names: cells.map((c) => seriesName(view, c)) };
}

/** Ticks that are round in the unit that they are written in. */
function costScale(values, kind) {
  if (kind.key !== 'pss_bytes') return scaleOf(values, { log: false, ticks: 4 });
  const most = Math.max(1, ...values);
  const unit = 2 ** (10 * Math.floor(Math.log2(most) / 10));
  const { min, max, ticks } = scaleOf(values.map((v) => v / unit), { log: false, ticks: 4 });
  return { min: min * unit, max: max * unit, ticks: ticks.map((t) => t * unit) };
}

/** From the smallest trial to the largest, and the value at the right of the row. */
function spreads(theme, i, ends) {
  return {
    id: `spread:${i}`,
    name: 'smallest to largest trial',
    type: 'custom',
    ...onPanel(i),
    silent: true,
    z: 4,
    itemStyle: { color: theme.text },
    encode: { x: [0, 1], y: 2 },
    data: ends.map(({ n, cost }) => [cost?.min ?? 0, cost?.max ?? 0, n]),
    renderItem: (params, api) => {
      const [x1, y] = api.coord([api.value(0), api.value(2)]);
      const [x2] = api.coord([api.value(1), api.value(2)]);
      const line = (a, b, c, d) => stroke(a, b, c, d, { color: theme.text, width: 1.2 });
      const { x, width } = params.coordSys;
      const { cost, text } = ends[params.dataIndex];
      const spread = cost && x2 - x1 > 1 ? [line(x1, y, x2, y), line(x1, y - 3, x1, y + 3), line(x2, y - 3, x2, y + 3)] : [];
      return { type: 'group', children: [...spread, lettering(theme, text, x + width + 8, y)] };
    },
  };
}

function hover(view, theme, d, { cell }) {
  const first = [];
  for (const kind of KINDS) {
    const cost = costOf(cell, kind.key);
    if (!cost) continue;
    first.push([kind.title, `${kind.text(cost.all)} [${kind.text(cost.min)} to ${kind.text(cost.max)} over trials]`]);
    for (const daemon of cost.each) {
      if (daemon.value !== null) first.push([`daemon ${short(daemon.name, 30)}`, kind.text(daemon.value)]);
    }
  }
  const peak = cell.e.cost?.peak_rss_bytes?.median;
  if (peak) first.push(['peak resident', memory(peak)]);
  const switches = cell.e.cost?.switches_per_message?.median;
  if (switches !== undefined) first.push(['switches per message', String(Number(switches.toPrecision(3)))]);
  return cellTip(view, cell, theme, { quantiles: false, first });
}

function partsOf(view, theme, d) {
  const scaleOver = (cells, kind) => costScale(cells.map((c) => costOf(c, kind.key)?.max ?? 0), kind);
  // Memory is the same cost whatever is sent, so its bars are comparable across panels; the CPU time of a message
  // grows with it by orders of magnitude.
  const shared = scaleOver(d.panels.flatMap((p) => p.cells), KINDS[0]);
  return d.panels.flatMap((panel, p) =>
    KINDS.map((kind, k) => {
      const i = 2 * p + k;
      const x = k === 0 ? shared : scaleOver(panel.cells, kind);
      const { series, names } = panelOf(view, theme, panel, kind, x, i);
      return {
        title: k === 0 ? panel.title : undefined,
        xAxis: axisOf(theme, i, x, { log: false, format: kind.tick, title: titleOf(kind, panel), gap: 26 }),
        yAxis: categoryAxis(theme, i, names, { length: 25 }),
        series,
      };
    }),
  );
}

function entries(view, theme) {
  const box = (name, decal) => ({ name, icon: 'rect', itemStyle: { color: theme.muted, decal } });
  return [box(REST, { symbol: 'none' }), box(DAEMONS, hatch(theme.background))];
}

const columns = (view) => [
  ...cellColumns(view),
  ...KINDS.flatMap(({ key, unit }) => {
    const name = key.replace(/_(bytes|ns)/, '').replaceAll('_', ' ');
    const of = (read) => (row) => row[key] && read(row[key]);
    return [
      rounded(name, of((cost) => cost.all), unit),
      rounded(`${name} min`, of((cost) => cost.min), unit),
      rounded(`${name} max`, of((cost) => cost.max), unit),
      rounded(`${name} of daemons`, of((cost) => (cost.each.length ? cost.daemons : 0)), unit),
    ];
  }),
  column('daemons', ({ cell }) => (cell.e.cost?.daemons ?? []).map((d) => d.name).join(' ') || null),
  column('trials', ({ cell }) => cell.e.trials),
  column('remark', ({ cell }) => lack(cell)?.text),
];

const rows = (d) =>
  d.panels
    .flatMap((p) => p.cells)
    .map((cell) => ({ cell, ...Object.fromEntries(KINDS.map(({ key }) => [key, costOf(cell, key)])) }));

function summary(view) {
  const { panels } = drawn(view);
  const cells = panels.flatMap((p) => p.cells);
  const said = KINDS.map((kind) => {
    const stacks = cells.filter((c) => !isYardstick(c));
    const known = stacks.map((c) => [c, costOf(c, kind.key)]).filter(([, cost]) => cost);
    if (known.length === 0) return '';
    const [least] = known.sort((a, b) => a[1].all - b[1].all);
    return `lowest ${kind.title}: ${short(seriesName(view, least[0]), 60)}, ${kind.text(least[1].all)}`;
  }).filter(Boolean);
  if (said.length === 0) return 'Memory and CPU: the selection has no recorded cost.';
  return `Memory and CPU of ${plural(cells.length, 'experiment')} in ${plural(panels.length, 'question')}; ${said.join('; ')}.`;
}

export const resources = plotOf({
  id: 'resources',
  title: 'Memory and CPU',
  question: 'How much CPU time and memory does each stack use, including its daemons?',
  kinds: { log: false, response: false },
  empty: 'The selection has no recorded cost.',
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

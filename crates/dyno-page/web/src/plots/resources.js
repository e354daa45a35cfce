// What a stack costs: memory and CPU of all its processes, its daemons as a part of their own.

import { duration, memory } from '../format.js';
import {
  allConditions,
  distinctions,
  groupBy,
  isYardstick,
  lack,
  lacks,
  leftOut,
  limited,
  limitedGroups,
  openedBy,
  place,
  plotOf,
  questionKey,
  runName,
  seriesName,
  styleOf,
  withFloors,
  withoutWait,
} from './common.js';
import {
  axisOf,
  categoryAxis,
  compose,
  exported,
  gridAt,
  layout,
  legendOf,
  nothing,
  onPanel,
  panelTitle,
  scaleOf,
} from './chart.js';
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
  const { shown, left } = limitedGroups(all, MAX_COST_PANELS);
  const { words, shared } = distinctions(
    shown.map((g) => g.items[0].e),
    withoutWait(shown.flatMap((g) => g.items)),
    shown.flatMap((g) => g.items.map((c) => c.e)),
  );
  let rowsLeft = 0;
  const panels = shown.map((g, i) => {
    const { shown: cells, left: over } = limited(g.items, MAX_ROWS);
    rowsLeft += over;
    return { title: words[i].join(', '), cells };
  });
  const notes = [
    'Bars: medians of the trials; lines: smallest to largest trial. Memory that processes share is split between them.',
    ...(panels.length > 1 ? ['Memory has one scale in all panels, CPU time its own in each.'] : []),
    ...leftOut({ panels: panels.length, panelsLeft: left }),
    ...(rowsLeft > 0 ? [`${plural(rowsLeft, 'stack')} left out: choose stacks above to see others.`] : []),
    ...lacks(view, shown.flatMap((g) => g.items)),
  ];
  return { panels, shared, notes };
}

const rowHeight = (d) => (d.panels.some((p) => p.cells.length > 14) ? 18 : 24);

function placeOf(theme, d) {
  const height = (i) => Math.max(48, d.panels[Math.floor(i / 2)].cells.length * rowHeight(d));
  return layout(theme, d.panels.length * 2, {
    height,
    minWidth: 400,
    left: 170,
    right: 76,
    below: 46,
    caption: d.shared,
    notes: d.notes,
  });
}

/** A pattern that tells daemons from participants without colour. */
const hatch = (theme) => ({
  symbol: 'rect',
  symbolSize: 1,
  dashArrayX: [1, 0],
  dashArrayY: [2, 4],
  rotation: Math.PI / 4,
  color: theme.background ?? (theme.dark ? '#000000' : '#ffffff'),
});

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
  const series = [bars(REST, 'rest', { symbol: 'none' }), bars(DAEMONS, 'daemons', hatch(theme)), spreads(theme, i, ends)];
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
      const style = { stroke: theme.text, lineWidth: 1.2, fill: 'none' };
      const line = (a, b, c, d) => ({ type: 'line', shape: { x1: a, y1: b, x2: c, y2: d }, style });
      const { x, width } = params.coordSys;
      const { cost, text } = ends[params.dataIndex];
      const value = { text, x: x + width + 8, y, align: 'left', verticalAlign: 'middle', fill: theme.text, fontSize: 11 };
      const spread = cost && x2 - x1 > 1 ? [line(x1, y, x2, y), line(x1, y - 3, x1, y + 3), line(x2, y - 3, x2, y + 3)] : [];
      return { type: 'group', children: [...spread, { type: 'text', style: value }] };
    },
  };
}

function tooltip(view, theme) {
  return ({ data }) => {
    const cell = openedBy(view, data);
    if (!cell) return '';
    const first = [];
    for (const kind of KINDS) {
      const cost = costOf(cell, kind.key);
      if (!cost) continue;
      first.push([kind.title, `${kind.text(cost.all)} [${kind.text(cost.min)} to ${kind.text(cost.max)} over trials]`]);
      for (const d of cost.each) {
        if (d.value !== null) first.push([`daemon ${short(d.name, 30)}`, kind.text(d.value)]);
      }
    }
    const peak = cell.e.cost?.peak_rss_bytes?.median;
    if (peak) first.push(['peak resident', memory(peak)]);
    const switches = cell.e.cost?.switches_per_message?.median;
    if (switches !== undefined) first.push(['switches per message', String(Number(switches.toPrecision(3)))]);
    return cellTip(view, cell, theme, { quantiles: false, first });
  };
}

function option(view, theme) {
  const d = drawn(view);
  if (d.panels.length === 0) return nothing(theme, 'The cost of what is selected was not recorded.');
  const at = placeOf(theme, d);
  const parts = { grid: [], xAxis: [], yAxis: [], series: [], titles: [] };
  const scaleOver = (cells, kind) => costScale(cells.map((c) => costOf(c, kind.key)?.max ?? 0), kind);
  // Memory is the same cost whatever is sent, so its bars are comparable across panels; the CPU time of a message
  // grows with it by orders of magnitude.
  const shared = scaleOver(d.panels.flatMap((p) => p.cells), KINDS[0]);
  d.panels.forEach((panel, p) => {
    KINDS.forEach((kind, k) => {
      const i = 2 * p + k;
      const box = at.boxes[i];
      const x = k === 0 ? shared : scaleOver(panel.cells, kind);
      const { series, names } = panelOf(view, theme, panel, kind, x, i);
      parts.grid.push(gridAt(box));
      parts.xAxis.push(axisOf(theme, i, x, { log: false, format: kind.tick, title: titleOf(kind, panel), gap: 26 }));
      parts.yAxis.push(categoryAxis(theme, i, names, { length: 25 }));
      parts.series.push(...series);
      if (k === 0) parts.titles.push(panelTitle(theme, box, panel.title));
    });
  });
  const box = (name, decal) => ({ name, icon: 'rect', itemStyle: { color: theme.muted, decal } });
  const legend = legendOf(theme, []);
  legend.data = [box(REST, { symbol: 'none' }), box(DAEMONS, hatch(theme))];
  return compose(theme, at, {
    ...parts,
    caption: d.shared,
    notes: d.notes,
    summary: summary(view),
    legend,
    tooltip: { formatter: tooltip(view, theme) },
  });
}

function table(view) {
  const columns = [{ name: 'run' }, { name: 'stack' }, { name: 'conditions' }];
  for (const { key, unit } of KINDS) {
    const name = key.replace(/_(bytes|ns)/, '').replaceAll('_', ' ');
    columns.push(
      { name, unit },
      { name: `${name} min`, unit },
      { name: `${name} max`, unit },
      { name: `${name} of daemons`, unit },
    );
  }
  columns.push({ name: 'daemons' }, { name: 'trials' }, { name: 'remark' });
  const rows = drawn(view)
    .panels.flatMap((p) => p.cells)
    .map((cell) => {
      const costs = KINDS.map((kind) => costOf(cell, kind.key));
      const names = (cell.e.cost?.daemons ?? []).map((d) => d.name);
      return [
        runName(view, cell),
        cell.e.stack,
        allConditions(cell),
        ...costs.flatMap((c) => (c ? [c.all, c.min, c.max, c.each.length ? c.daemons : 0] : [null, null, null, null])),
        names.join(' ') || null,
        cell.e.trials,
        lack(cell)?.text ?? null,
      ].map(exported);
    });
  return { columns, rows };
}

function summary(view) {
  const { panels } = drawn(view);
  const cells = panels.flatMap((p) => p.cells);
  const said = KINDS.map((kind) => {
    const stacks = cells.filter((c) => !isYardstick(c));
    const known = stacks.map((c) => [c, costOf(c, kind.key)]).filter(([, cost]) => cost);
    if (known.length === 0) return '';
    const [least] = known.sort((a, b) => a[1].all - b[1].all);
    return `least ${kind.title}: ${short(seriesName(view, least[0]), 60)}, ${kind.text(least[1].all)}`;
  }).filter(Boolean);
  if (said.length === 0) return 'Memory and CPU: nothing was recorded of what is selected.';
  return `Memory and CPU of ${plural(cells.length, 'experiment')} in ${plural(panels.length, 'question')}; ${said.join('; ')}.`;
}

export const resources = plotOf({
  id: 'resources',
  title: 'Memory and CPU',
  question: 'What does it cost, daemons included?',
  kinds: { log: false, response: false },
  drawn,
  placeOf,
  option,
  table,
  summary,
});

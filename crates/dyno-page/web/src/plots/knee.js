// The way to a capacity: what each limit of a search is put on over the value that the search raised, with the limit as a line.
// Where the curve bends is the knee; a band leads from the highest value that is kept to the lowest that breaks a limit.

import { NONE, duration, memory, payload, rate, share, sig3, withPrefix } from '../format.js';
import {
  MAX_PANELS,
  MAX_SERIES,
  conditionKey,
  entryOf,
  fill,
  groupBy,
  leftOut,
  limited,
  panelsOf,
  place,
  seriesName,
  styleOf,
} from './common.js';
import {
  CROSS,
  UP,
  axisOf,
  dots,
  onPanel,
  scaleOf,
  stroke,
  thinLine,
  whiskers,
} from './chart.js';
import { cellColumns, column, plotOf, rounded } from './plot.js';
import { brief, memoryTick, plural, rateTick, shareTick, short, sizeTick, timeTick } from './text.js';
import { cellTip } from './tip.js';

/** What a search can raise: how a value reads, and the factor of an experiment that says it. */
const RAISED = {
  rate: { text: rate, tick: rate, title: 'rate of each sender', factor: 'workload', unit: '1/s' },
  payload: { text: payload, tick: sizeTick, title: 'payload', factor: 'payload', unit: 'bytes' },
  clients: { text: (n) => plural(n, 'client'), tick: brief, title: 'clients', factor: 'topology', unit: 'clients' },
};

const UNITS = {
  ns: { text: duration, tick: timeTick },
  '1/s': { text: (hz) => withPrefix(hz, '/s'), tick: rateTick },
  B: { text: memory, tick: memoryTick },
};
/** Shares begin at zero, which a logarithmic scale has not. */
const SHARE = { text: share, tick: shareTick, linear: true };
const RATIO = { text: sig3, tick: brief };

const unitOf = (limit) => (['loss', 'cpu_share'].includes(limit.metric) ? SHARE : (UNITS[limit.unit] ?? RATIO));

/** The line of a limit, or null where it is a number of messages and the figure a share. */
const lineOf = (limit) => (limit.bound === 'at_most_count' && limit.bound_value !== 0 ? null : limit.bound_value);

/** What was found for a limit at one value: `{ value, lo, hi }`, Infinity where lost; null where nothing can be said. */
function figureOf(point, name) {
  const held = point.limits.find((h) => h.limit === name);
  if (!held) return null;
  const lost = held.value === null && (held.status === 'fail' || held.lo !== null);
  if (held.value === null && !lost) return { value: null, lo: null, hi: null, held };
  return { value: held.value ?? Infinity, lo: held.lo ?? Infinity, hi: held.hi ?? Infinity, held };
}

/** The searches of the view's runs: what was found, and of what was tried that which is selected. */
function searchesOf(view) {
  const cells = new Map(view.cells.map((c) => [`${c.run}.${c.e.id}`, c]));
  return view.runs.flatMap((run) => {
    const found = run.show?.capacity;
    const raised = RAISED[found?.raised];
    if (!raised) return [];
    return found.capacities
      .map((capacity) => ({
        capacity,
        raised,
        points: capacity.curve
          .map((p) => ({ ...p, cell: cells.get(`${run.index}.${p.id}`) }))
          .filter((p) => p.cell),
      }))
      .filter((s) => s.points.length > 0)
      .map((s) => ({ ...s, cell: s.points[0].cell }));
  });
}

function drawn(view) {
  const searches = searchesOf(view);
  const all = searches.flatMap((s) => s.capacity.limits.map((limit) => ({ ...s, limit })));
  const keyOf = ({ cell, raised, limit }) =>
    JSON.stringify([raised.factor, limit.limit, limit.required, conditionKey(cell.e, [raised.factor])]);
  const groups = limited(groupBy(all, keyOf), MAX_PANELS);
  const { panels, shared, ...rest } = panelsOf(groups, {
    without: [...new Set(groups.shown.map((g) => g.items[0].raised.factor))],
    first: (g) => g.items[0].cell,
    keep: (g) => limited(g.items, MAX_SERIES),
    panel(kept, words, { items: [{ limit, raised }] }) {
      const series = kept.map((s) => ({
        ...s,
        marks: s.points.map((p) => ({ point: p, ...figureOf(p, limit.limit) })).filter((m) => m.held),
      }));
      return { title: [short(limit.required, 60), ...words].join(', '), limit, raised, series, unit: unitOf(limit) };
    },
  });
  const notes = [
    ...searches.slice(0, MAX_SERIES).map((s) => answerOf(view, s)),
    ...(panels.length > 0 ? ['Filled: all limits are met; large: confirmed by separate trials. ✕: a limit is violated. Hollow: undecided.'] : []),
    ...leftOut({ panels, ...rest }),
  ];
  return { searches, panels, shared, notes };
}

/** What a search found, in a sentence. */
function answerOf(view, { capacity, raised, cell }) {
  const { end, kept, broken, undecided } = capacity;
  const why = capacity.broke_first[0] ? ` (${short(capacity.broke_first[0], 90)})` : '';
  const from = broken === null ? '' : `, violated from ${raised.text(broken)}${why}`;
  const ends = undecided.length > 2 ? [undecided[0], undecided[undecided.length - 1]] : undecided;
  const open = undecided.length ? `; ${ends.map(raised.text).join(' to ')} undecided` : '';
  const said = {
    found: () => `met up to ${raised.text(kept)}${from}`,
    top: () => `${raised.text(kept)} meets all limits, and is the highest value that can be tried`,
    first: () => `not even ${raised.text(capacity.curve[0].value)} meets all limits with confidence${from}`,
    unfinished: () => `not finished; ${kept === null ? 'no value meets all limits so far' : `so far met up to ${raised.text(kept)}`}${from}`,
  }[end];
  return `${short(seriesName(view, cell), 40)}, ${short(cell.e.experiment, 30)}: ${said ? said() : NONE}${open}.`;
}

function panelOf(view, theme, panel, i) {
  const { limit, raised, unit, series: all } = panel;
  const log = view.log && !unit.linear;
  const marks = all.flatMap((s) => s.marks).filter((m) => m.value !== null);
  const bound = lineOf(limit);
  const x = scaleOf(all.flatMap((s) => s.points.map((p) => p.value)), { log: view.log });
  const y = scaleOf([...marks.flatMap((m) => [m.value, m.lo, m.hi]), ...(bound === null ? [] : [bound])], {
    log,
    headroom: marks.some((m) => m.value === Infinity),
  });
  const within = (value) => Math.min(Math.max(value, y.min), y.max);
  const series = [];
  if (bound !== null) {
    const color = theme.bad;
    const data = [x.min, x.max].map((at) => [at, within(bound)]);
    const lineStyle = { color, type: 'dashed', width: 1.4 };
    series.push(thinLine(i, { color, symbol: 'none' }, { id: `knee:${i}:limit`, name: 'limit', data, lineStyle, z: 1 }));
  }
  all.forEach((s, k) => {
    const style = styleOf(view, s.cell, theme);
    const common = { name: seriesName(view, s.cell), ...onPanel(i) };
    const known = s.marks.filter((m) => m.value !== null);
    // The last word on a value is its confirmation.
    const line = known.filter((m, at) => known[at + 1]?.point.value !== m.point.value);
    series.push(
      bandOf(`knee:${i}:${k}:band`, common, style, s.capacity, x, y),
      thinLine(i, style, {
        ...common,
        id: `knee:${i}:${k}:line`,
        data: line.map((m) => [m.point.value, within(m.value)]),
        lineStyle: { color: style.color, type: style.dash, width: 1.4 },
        clip: false,
      }),
      whiskers({
        id: `knee:${i}:${k}:intervals`,
        name: common.name,
        panel: i,
        points: known.filter((m) => m.lo !== Infinity).map((m) => ({ x: m.point.value, lo: within(m.lo), hi: m.hi })),
        color: style.color,
        top: y.max,
      }),
      dots(i, style, {
        ...common,
        id: `knee:${i}:${k}`,
        symbolSize: 8,
        itemStyle: { color: style.color },
        data: known.map((m) => markOf(style, m, [i, k, s.marks.indexOf(m)], within)),
      }),
    );
  });
  return {
    xAxis: axisOf(theme, i, x, { log: view.log, format: raised.tick, title: raised.title, gap: 28 }),
    yAxis: axisOf(theme, i, y, { log, format: unit.tick, title: short(limit.measure, 40), gap: 56 }),
    series,
  };
}

function markOf(style, { point, value }, at, within) {
  const { rung, confirms } = point;
  const hollow = rung !== 'kept' && rung !== 'broken';
  const symbol = value === Infinity ? { symbol: UP } : rung === 'broken' ? { symbol: CROSS } : {};
  return {
    value: [point.value, within(value)],
    open: place(point.cell),
    at,
    symbolSize: confirms ? 12 : 8,
    itemStyle: fill(style, hollow),
    ...symbol,
  };
}

/** From the highest value that is kept to the lowest that breaks a limit, over the height of the panel. */
function bandOf(id, common, style, { kept, broken }, x, y) {
  const known = kept !== null || broken !== null;
  return {
    ...common,
    id,
    type: 'custom',
    silent: true,
    tooltip: { show: false },
    itemStyle: { color: style.color },
    encode: { x: [0, 1], y: 2 },
    data: known ? [[kept ?? x.min, broken ?? x.max, y.min]] : [],
    z: 0,
    renderItem: (params, api) => {
      const { y: top, height } = params.coordSys;
      const [from] = api.coord([api.value(0), api.value(2)]);
      const [to] = api.coord([api.value(1), api.value(2)]);
      const edge = (at, dash) => stroke(at, top, at, top + height, { color: style.color, width: 1.2, opacity: 0.8, ...dash });
      return {
        type: 'group',
        children: [
          { type: 'rect', shape: { x: from, y: top, width: Math.max(0, to - from), height }, style: { fill: style.color, opacity: 0.12 } },
          ...(kept === null ? [] : [edge(from)]),
          ...(broken === null ? [] : [edge(to, { lineDash: [4, 3] })]),
        ],
      };
    },
  };
}

/** A figure with its interval in the unit of the limit. */
function figureText(unit, { value, lo, hi }) {
  if (value === null) return NONE;
  const text = (v) => (v === Infinity ? '∞' : unit.text(v));
  return `${text(value)} [${text(lo)}, ${text(hi)}]`;
}

const cameTo = ({ rung, confirms }) => `${rung}${confirms ? ', confirming' : ''}`;

function hover(view, theme, d, { data }) {
  const [i, k, n] = data.at;
  const panel = d.panels[i];
  const mark = panel.series[k].marks[n];
  const { point } = mark;
  const hz = point.delivered_hz;
  return cellTip(view, point.cell, theme, {
    first: [
      [panel.raised.title, panel.raised.text(point.value)],
      ['result', `${cameTo(point)}, by ${plural(point.trials, 'trial')}`],
      [panel.limit.measure, figureText(panel.unit, mark)],
      ['required', panel.limit.required],
      ['delivered', hz === null ? null : withPrefix(hz, '/s')],
      ['share of due messages that were sent', point.sent_share === null ? null : share(point.sent_share)],
    ],
    notes: [mark.held.reason],
  });
}

const entries = (view, theme, d) => d.panels.flatMap((p) => p.series.map((s) => entryOf(view, theme, s.cell)));

const columns = (view) => [
  ...cellColumns(view),
  rounded('value tried', ({ point }) => point.value),
  column('unit raised', ({ panel }) => panel.raised.unit),
  column('result', ({ point }) => cameTo(point)),
  column('trials', ({ point }) => point.trials),
  column('limit', ({ panel }) => panel.limit.limit),
  column('required', ({ panel }) => panel.limit.required),
  rounded('found', ({ value }) => value),
  rounded('lo', ({ lo }) => lo),
  rounded('hi', ({ hi }) => hi),
  column('unit', ({ panel }) => panel.limit.unit),
  rounded('delivered', ({ point }) => point.delivered_hz, '1/s'),
];

const rows = (d) =>
  d.panels.flatMap((panel) =>
    panel.series.flatMap((s) => s.marks.map((mark) => ({ ...mark, panel, cell: mark.point.cell }))),
  );

function summary(view) {
  const { searches } = drawn(view);
  if (searches.length === 0) return 'Search for the capacity: no search is selected.';
  return `Results of searches: ${searches
    .slice(0, 6)
    .map((s) => answerOf(view, s))
    .join(' ')}`;
}

export const knee = plotOf({
  id: 'knee',
  title: 'Search for the capacity',
  question: 'Up to which value are the limits met, and what happens there?',
  kinds: { log: true, response: false },
  empty: 'No search for a capacity is selected: see dyno run --search.',
  drawn,
  room: () => ({ height: 260 }),
  panelOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

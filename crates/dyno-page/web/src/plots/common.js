// What plots share about data: groups of cells and their names, figures with what they can be (known,
// lost, refused, absent), failures, marks of stacks, and figures of others. Pure; draws nothing.

import {
  NONE,
  conditions,
  factors,
  refusal,
  splitFactors,
  timeEstimate,
  unresolvable,
} from '../format.js';
import { name, plural, short } from './text.js';
import { metricName } from '../tables.js';

// ---- Cells, and what tells them apart ----

/** The stack of a cell, also where it is the base that another is compared with. */
export function stackName(cell) {
  return `${name(cell.e.stack)}${cell.way ? ` (${cell.way})` : ''}${cell.e.is_base ? ' (base)' : ''}`;
}

/** Whether the cells come from more than one run. */
export function severalRuns(view) {
  return new Set(view.cells.map((c) => c.run)).size > 1;
}

/** The short name of a cell's run. */
export function runName(view, cell) {
  const run = view.runs.find((r) => r.index === cell.run) ?? view.doc?.runs?.[cell.run];
  return name(run?.name ?? cell.run);
}

/** What a series of the cell is called: its stack, and its run where there are several. */
export function seriesName(view, cell) {
  return severalRuns(view) ? `${runName(view, cell)}: ${stackName(cell)}` : stackName(cell);
}

/** What a click on a mark of the cell opens; marks carry it as `open`. */
export function place(cell) {
  return { run: cell.run, experiment: cell.index };
}

/** An identity of a series that belongs to one cell, from which `pick` reads the cell. */
export function seriesId(cell, panel, what) {
  return `cell:${cell.run}.${cell.index}:${panel}:${what}`;
}

/**
 * All conditions of an experiment but its stack and those of `without` as one text, to group by. The
 * experiment's name in the suite counts as one, `experiment`.
 */
export function conditionKey(e, without = []) {
  const parts = factors().filter((f) => !without.includes(f.key)).map((f) =>
    // Sizes are rounded for display.
    f.key === 'payload' ? e.payload_bytes : f.of(e),
  );
  if (!without.includes('experiment')) parts.push(e.experiment);
  return JSON.stringify(parts);
}

/** What a cell is compared under: its conditions, or, where each stack waits in its own way, the question. */
export function questionKey(cell) {
  return cell.mixes ? cell.question : conditionKey(cell.e);
}

/**
 * The factors that say nothing of the question that these cells ask: the wait, and the CPUs that go with it. What polls is
 * asked apart from what sleeps, so that the wait tells the two apart where both are there.
 */
export function withoutWait(cells) {
  if (!cells.some((c) => c.mixes)) return [];
  return cells.some((c) => c.e.wait === 'spin' && !isYardstick(c)) ? ['cpus'] : ['wait', 'cpus'];
}

/** The conditions that a cell stands for: where each stack waits in its own way, none of the waits. */
export const meant = (cell) => (cell.mixes ? { ...cell.e, wait: 'its own' } : cell.e);

/** Groups in the order of their first element: `[{ key, items }]`. */
export function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return [...groups].map(([key, list]) => ({ key, items: list }));
}

/** Yardsticks are shown, but are no stacks that one could choose. */
export const isYardstick = (cell) => Boolean(cell.e.is_floor || cell.e.is_loopback);

/** Groups of yardsticks alone go last: they answer no question by themselves. */
export function yardsticksLast(groups, cellsOf = (g) => g.items) {
  const alone = (g) => cellsOf(g).every(isYardstick);
  return [...groups.filter((g) => !alone(g)), ...groups.filter(alone)];
}

/**
 * The groups with the floors of their cells beside them, also where a floor was measured under another wait
 * strategy; groups that then only repeat such floors are gone.
 */
export function withFloors(view, groups) {
  const byId = new Map(view.cells.map((c) => [`${c.run}.${c.e.id}`, c]));
  const placed = new Set();
  const full = groups.map((g) => {
    const items = [...g.items];
    for (const cell of g.items) {
      const floor = byId.get(`${cell.run}.${cell.e.floor?.id}`);
      if (!floor || floor === cell || items.includes(floor)) continue;
      items.push(floor);
      placed.add(floor);
    }
    return { ...g, items };
  });
  return yardsticksLast(full.filter((g) => !g.items.every((c) => isYardstick(c) && placed.has(c))));
}

/** The factors in the order in which they tell experiments apart best. */
const TELLING = ['flow', 'workload', 'payload', 'topology', 'placement', 'wait'];
const rank = (factor) => (TELLING.includes(factor.key) ? TELLING.indexOf(factor.key) : TELLING.length);

/**
 * What tells these experiments apart, and what `all` experiments that are meant share, in one line. Each has
 * `words`, the name in the suite first where names differ, and `rest`: without the name, and without what follows
 * from it. Factors of `without` are named nowhere, neither is the name where it says `experiment`.
 */
export function distinctions(experiments, without = [], all = experiments) {
  const kept = (factors) => factors.filter((f) => !without.includes(f.key));
  const varying = kept(splitFactors(experiments).varying).sort((a, b) => rank(a) - rank(b));
  const { constant } = splitFactors(all);
  const named = !without.includes('experiment');
  const names = new Set(experiments.map((e) => e.experiment));
  const within = new Map(
    [...names].map((n) => [n, kept(splitFactors(experiments.filter((e) => e.experiment === n)).varying)]),
  );
  const said = (factors, e) => factors.map((f) => f.of(e)).filter(Boolean);
  const words = experiments.map((e) => {
    const lead = named && (names.size > 1 || varying.length === 0) ? [name(e.experiment)] : [];
    return [...lead, ...said(varying, e)];
  });
  const rest = experiments.map((e) => {
    const own = within.get(e.experiment);
    return said(varying.filter((f) => own.includes(f)), e);
  });
  const shared = all.length > 0 ? conditions(kept(constant), all[0]) : '';
  const alone = named && names.size === 1 && varying.length > 0 && new Set(all.map((e) => e.experiment)).size === 1;
  return { words, rest, shared: alone ? `${name(experiments[0].experiment)} · ${shared}` : shared };
}

/** All conditions of a cell in one line. */
export function allConditions(cell) {
  return `${name(cell.e.experiment)}: ${conditions(factors(), cell.e)}`;
}

// ---- Figures ----

/**
 * The metric to show of a cell: its name, what people call it, and its figures, or null where there are none or
 * where they would say nothing.
 */
export function metricOf(view, cell) {
  const metric = view.metricOf(cell);
  const figures = unresolvable(cell.e, metric) ? null : (cell.e.metrics?.[metric] ?? null);
  return { metric, title: metricName(metric), figures };
}

/** What the latencies of these cells are called, all kinds of them. */
export function metricTitle(view, cells) {
  const titles = [...new Set(cells.map((c) => metricOf(view, c).title))];
  return titles.join(' or ') || 'latency';
}

/**
 * A quantile of a metric: `{ state, value, lo, hi, text }`. State is known, lost (value Infinity), refused (too
 * few samples, or too wide an interval) or absent; the latter two have null values. `hi` may be Infinity.
 */
export function quantileOf(figures, quantile) {
  const nothing = { value: null, lo: null, hi: null };
  if (!figures) return { state: 'absent', ...nothing, text: NONE };
  const estimate = figures[quantile];
  if (!estimate) {
    const why = refusal(figures[`${quantile}_refused`]);
    return { state: 'refused', ...nothing, text: why || NONE };
  }
  const lost = estimate.infinite || estimate.value === null;
  return {
    state: lost ? 'lost' : 'known',
    value: lost ? Infinity : estimate.value,
    lo: estimate.lo ?? Infinity,
    hi: estimate.hi ?? Infinity,
    text: timeEstimate(estimate),
  };
}

/** How many samples there are, the lost ones too. */
export const samplesOf = (figures) => (figures?.n ?? 0) + (figures?.infinite ?? 0);

/** The share of messages that never arrived, or null where there is no sample. */
export function lostShare(figures) {
  const all = samplesOf(figures);
  return all > 0 ? figures.infinite / all : null;
}

/**
 * Why a cell has no figures: `{ failed, text }`, or null where it has. With a `metric` also because that one says
 * nothing.
 */
export function lack(cell, metric) {
  const { e } = cell;
  if (e.trials > 0) {
    const why = unresolvable(e, metric);
    return why && { failed: false, text: why };
  }
  const f = e.failures?.[0];
  if (f) return { failed: true, text: name(`${f.kind} in ${f.step}: ${f.message}`) };
  if (e.failed_trials > 0) return { failed: true, text: 'all trials failed' };
  return { failed: false, text: 'no trial was run' };
}

/** Its trials in words: `5 counted, 1 failed, 2 disturbed`. */
export function trialsText(e) {
  const parts = [`${e.trials} counted`];
  if (e.failed_trials > 0) parts.push(`${e.failed_trials} failed`);
  if (e.disturbed_trials > 0) {
    parts.push(`${e.disturbed_trials} disturbed${e.all_disturbed ? ', all of them' : ''}`);
  }
  return parts.join(', ');
}

/** Figures of others for this metric of a cell, each with the study that it is from. */
export function publishedOf(view, cell, metric) {
  const run = view.runs.find((r) => r.index === cell.run);
  return (run?.published ?? [])
    .filter((p) => p.experiment === cell.e.id && p.metric === metric)
    .map((p) => ({ ...p, source: view.studies?.[p.study] ?? null }));
}

/** Where a figure of others comes from, in a few words. */
export function sourceText(study) {
  if (!study) return 'published elsewhere';
  const [first, ...others] = study.authors ?? [];
  const who = first ? `${short(first, 40)}${others.length ? ' et al.' : ''}` : short(study.title, 60);
  return `${who}, ${study.year}${study.where ? `, ${short(study.where, 60)}` : ''}`;
}

// ---- Marks ----

/** Outlines of symbols in a square of ten. */
export const OUTLINES = {
  circle: 'M5 1A4 4 0 1 0 5 9A4 4 0 1 0 5 1z',
  rect: 'M1 1h8v8h-8z',
  triangle: 'M5 1L9.5 9h-9z',
  diamond: 'M5 .5L9 5L5 9.5L1 5z',
  down: 'M.5 1h9L5 9z',
  plus: 'M3.6 0h2.8v3.6h3.6v2.8h-3.6v3.6h-2.8v-3.6h-3.6v-2.8h3.6z',
  star: 'M5 0L6.3 3.4L9.9 3.5L7.1 5.8L8 9.3L5 7.3L2 9.3L2.9 5.8L.1 3.5L3.7 3.4z',
};
/** Symbols that ECharts has itself. */
const BUILT_IN = ['circle', 'rect', 'triangle', 'diamond'];
const RUN_DASHES = ['solid', [7, 4], [2, 3], [10, 3, 2, 3]];

/**
 * How a cell is drawn: colour, symbol (`mark` is its name) and dash of its stack. With several runs the dash is the run's, and
 * symbols of later runs are hollow, so that a stack keeps its colour and symbol.
 */
export function styleOf(view, cell, theme) {
  const i = cell.style ?? 0;
  const { symbols, dashes } = theme;
  const runs = [...new Set(view.cells.map((c) => c.run))].sort((a, b) => a - b);
  const rank = Math.max(0, runs.indexOf(cell.run));
  const mark = symbols[i % symbols.length];
  return {
    color: theme.colors[i % theme.colors.length],
    mark,
    symbol: BUILT_IN.includes(mark) ? mark : `path://${OUTLINES[mark] ?? OUTLINES.circle}`,
    dash: runs.length > 1 ? RUN_DASHES[rank % RUN_DASHES.length] : dashes[i % dashes.length],
    hollow: rank > 0,
  };
}

/** The entry of a cell's series in a legend. */
export const entryOf = (view, theme, cell) => ({ name: seriesName(view, cell), style: styleOf(view, cell, theme) });

/** How a symbol is filled. Hollow ones are outlines, which also tell figures of others from ours. */
export function fill(style, hollow = style.hollow) {
  return hollow
    ? { color: 'transparent', borderColor: style.color, borderWidth: 1.5, opacity: 1 }
    : { color: style.color, borderColor: style.color, borderWidth: 0, opacity: 1 };
}

// ---- Limits ----

/** The first `max` of these, and how many that leaves out. */
export function limited(items, max) {
  return { shown: items.slice(0, max), left: Math.max(0, items.length - max) };
}

/** The same of groups of cells, but the heaviest load is always among them. */
export function limitedGroups(groups, max) {
  if (groups.length <= max) return { shown: groups, left: 0 };
  const load = (g) => Math.max(...g.items.map((c) => loadOf(c.e)));
  const heaviest = groups.reduce((most, g) => (load(g) >= load(most) ? g : most));
  const kept = new Set([...groups.filter((g) => g !== heaviest).slice(0, max - 1), heaviest]);
  return { shown: groups.filter((g) => kept.has(g)), left: groups.length - max };
}

/** Bytes that are offered per second; where the load follows the stack, bytes of a message. */
export function loadOf(e) {
  return e.payload_bytes * (e.headline === 'rtt_ns' ? 1 : (e.throughput?.offered_hz?.median ?? 1));
}

/**
 * At most `max` cells, those with the smallest figures, in the order in which they came. Cells without
 * a figure go first.
 */
export function fastest(cells, figureOf, max) {
  if (cells.length <= max) return { shown: cells, left: 0 };
  const figures = new Map(cells.map((c) => [c, figureOf(c) ?? Infinity]));
  const kept = new Set([...cells].sort((a, b) => figures.get(a) - figures.get(b)).slice(0, max));
  return { shown: cells.filter((c) => kept.has(c)), left: cells.length - max };
}

/**
 * Panels of the groups that are shown: `{ panels, shared, left, seriesLeft, cells }`. `keep(group)` limits what a panel
 * holds, `panel(kept, words, group)` makes it; `without` is what the panels' words leave out. What is shared is that of
 * the first cells of the panels (`first`), or, with `all`, that of all their cells.
 */
export function panelsOf({ shown, left }, { keep, panel, without = [], all = false, first = (g) => g.items[0] }) {
  const cells = shown.flatMap((g) => g.items);
  const { words, shared } = distinctions(
    shown.map((g) => meant(first(g))),
    without,
    all ? cells.map(meant) : undefined,
  );
  const kept = shown.map(keep);
  const panels = shown.map((g, i) => panel(kept[i].shown, words[i], g));
  return { panels, shared, left, seriesLeft: kept.reduce((sum, k) => sum + k.left, 0), cells };
}

/** What that leaves out, as sentences for the reader, each with the way to see it. */
export function leftOut({ panels, left, seriesLeft = 0 }, what = 'panel') {
  const notes = [];
  if (left > 0) {
    notes.push(
      `${panels.length} of ${plural(panels.length + left, what)} are drawn: the first ones of the plan and those with the heaviest load. Choose experiments, sizes or conditions above to see others.`,
    );
  }
  if (seriesLeft > 0) {
    notes.push(
      `At most ${MAX_SERIES} stacks are drawn in a panel, the fastest ones (${plural(seriesLeft, 'series')} left out): choose stacks above to see others.`,
    );
  }
  return notes;
}

/** Sentences about cells that have no figure, at most `max` of them. */
export function lacks(view, cells, max = 3) {
  const without = cells.map((c) => [c, lack(c, view.metricOf(c))]).filter(([, why]) => why);
  const lines = without
    .slice(0, max)
    .map(
      ([c, why]) =>
        `${why.failed ? '✕' : '·'} ${short(seriesName(view, c), 40)}, ${short(c.e.experiment, 30)}: ${short(why.text, 110)}`,
    );
  if (without.length > max) lines.push(`${without.length - max} more cells have no figure: see the table.`);
  return lines;
}

/** Panels and series that stay readable beside each other. */
export const MAX_PANELS = 6;
export const MAX_SERIES = 12;

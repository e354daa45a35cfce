// What the plots over payload size share: series of experiments that differ in their payload alone, and the
// lines that Dyno fitted through them.

import { NONE, sig3 } from '../format.js';
import {
  MAX_PANELS,
  MAX_SERIES,
  conditionKey,
  fastest,
  groupBy,
  leftOut,
  limited,
  panelsOf,
  yardsticksLast,
} from './common.js';
import { logTicks } from './chart.js';
import { rounded } from './plot.js';
import { short } from './text.js';

/** Series of cells with `least` payloads or more, each by size: `[{ cell, cells, fit }]`, cell the first. */
export function sizeSeries(view, least) {
  const keyOf = (c) => JSON.stringify([c.run, c.e.stack, c.e.is_base, conditionKey(c.e, ['payload', 'experiment'])]);
  return groupBy(view.cells, keyOf)
    .map(({ items }) => [...items].sort((a, b) => a.e.payload_bytes - b.e.payload_bytes))
    .filter((cells) => new Set(cells.map((c) => c.e.payload_bytes)).size >= least)
    .map((cells) => ({ cell: cells[0], cells, fit: fitOf(view, cells) }));
}

/** The fit of the run through most of these cells, or null. */
function fitOf(view, cells) {
  const run = view.runs.find((r) => r.index === cells[0].run);
  const ids = new Set(cells.map((c) => c.e.id));
  const through = (fit) => fit.ids.filter((id) => ids.has(id)).length;
  const fits = (run?.show?.scaling ?? []).filter((fit) => through(fit) >= 3);
  return fits.sort((a, b) => through(b) - through(a))[0] ?? null;
}

/** S with its interval: `0.167 [0.160, 0.175] ms/MB`, or why there is none. */
export function fitText(fit) {
  if (!fit) return NONE;
  const s = fit.s_ms_per_mb;
  if (!s) return fit.reason ?? NONE;
  return `${sig3(s.value)} [${sig3(s.lo ?? -Infinity)}, ${sig3(s.hi ?? Infinity)}] ms/MB`;
}

/** The fitted line between two sizes as [size, ns]; empty without a fit. A ms per MB is a ns per byte. */
export function fitLine(fit, lo, hi, log) {
  if (!fit?.s_ms_per_mb || fit.intercept_ns === null || !(hi > lo)) return [];
  const at = (size) => [size, fit.intercept_ns + fit.s_ms_per_mb.value * size];
  if (!log) return [at(lo), at(hi)];
  // A straight line is a curve on logarithmic axes, and has no place there below zero.
  const steps = 40;
  return Array.from({ length: steps + 1 }, (_, i) => at(lo * (hi / lo) ** (i / steps))).filter(([, ns]) => ns > 0);
}

/** What there is not where nothing can be drawn. */
export const noSizes = (least) => `There are no ${least} payload sizes under the same conditions.`;

/** Panels of series that differ in their stack alone, within the limits, and what that leaves out. */
export function sizePanels(series, figureOf, least) {
  const groups = groupBy(series, (s) => conditionKey(s.cell.e, ['payload', 'experiment']));
  const sizes = (g) => Math.max(...g.items.map((s) => s.cells.length));
  const cellsOf = (g) => g.items.flatMap((s) => s.cells);
  // The more sizes, the more a panel says of them.
  const all = yardsticksLast([...groups].sort((a, b) => sizes(b) - sizes(a)), cellsOf);
  const d = panelsOf(limited(all, MAX_PANELS), {
    without: ['payload', 'experiment'],
    first: (g) => g.items[0].cell,
    keep: (g) => fastest(g.items, figureOf, MAX_SERIES),
    panel(kept, words, g) {
      const names = [...new Set(cellsOf(g).map((c) => c.e.experiment))];
      return { title: [short(names.join(', '), 50), ...words].join(', '), series: kept };
    },
  });
  const notes = [...leftOut(d), ...(d.panels.length > 1 ? ['Each panel has its own scale.'] : [])];
  if (d.panels.length === 0) notes.push(noSizes(least));
  return { panels: d.panels, shared: d.shared, notes };
}

/** The slope of a fit with its interval and where it begins, as columns of a row with a `fit`. */
export const slopeColumns = [
  rounded('S', ({ fit }) => fit?.s_ms_per_mb?.value, 'ms/MB'),
  rounded('S lo', ({ fit }) => fit?.s_ms_per_mb && (fit.s_ms_per_mb.lo ?? -Infinity), 'ms/MB'),
  rounded('S hi', ({ fit }) => fit?.s_ms_per_mb && (fit.s_ms_per_mb.hi ?? Infinity), 'ms/MB'),
];

/** Ticks at the sizes themselves where they are few and apart, else at round ones. */
export function sizeTicks(sizes, scale, log) {
  const distinct = [...new Set(sizes)].sort((a, b) => a - b);
  const apart = distinct.every((s, i) => i === 0 || s / distinct[i - 1] >= 1.9);
  if (log && distinct.length <= 9 && apart) return distinct;
  return log ? logTicks(scale.min, scale.max, 7) : scale.ticks;
}

// Interval quantiles: p50, p99 and the largest of each block of the window, trial by trial, of few experiments.

import { duration, unresolvable } from '../format.js';
import { distinctions, fill, place, seriesName, styleOf } from './common.js';
import { UP, axisOf, onPanel, scaleOf } from './chart.js';
import { brief, timeTick } from './text.js';
import { cellTip } from './tip.js';
import { metricName } from '../tables.js';

/** Experiments and trials that stay readable. */
export const BLOCK_CELLS = 4;
const MAX_TRIALS = 6;

const KINDS = [
  { index: 0, name: 'p50 of a block', short: 'p50', dash: 'solid', size: 5, width: 1.6 },
  { index: 1, name: 'p99 of a block', short: 'p99', dash: [5, 3], size: 4, width: 1.2 },
  { index: 2, name: 'largest of a block', short: 'largest', dash: [1, 3], size: 3, width: 1 },
];

/** The names of their lines. */
export const BLOCK_LINES = KINDS.map((kind) => kind.name);

const blocked = (cell) =>
  unresolvable(cell.e, cell.e.headline) ? [] : (cell.d?.trials ?? []).filter((t) => t.blocks?.some((b) => b));

/**
 * A quantile of a block: Infinity where messages were lost, null where there is none. A p99 of few samples is not
 * told, which is null in the data as well; a trial without a loss has no infinite one.
 */
function valueOf(trial, block, index) {
  const v = block[index];
  if (v !== null) return v ?? null;
  return index === 1 && block[0] !== null && !(trial.lost > 0) ? null : Infinity;
}

/** A panel for each of the selected experiments, unless they are too many. */
export function blockPanels(view) {
  const cells = view.cells.filter((c) => blocked(c).length > 0);
  if (cells.length === 0 || view.cells.length > BLOCK_CELLS) return [];
  const { words } = distinctions(cells.map((c) => c.e));
  return cells.map((cell, n) => ({
    cell,
    title: `${seriesName(view, cell)}, ${words[n].join(', ')}: blocks of the window, ${metricName(cell.e.headline)}`,
    draw: (theme, i) => draw(view, theme, cell, i),
  }));
}

function draw(view, theme, cell, i) {
  const style = styleOf(view, cell, theme);
  // Undisturbed trials say more; the order of the run is kept.
  const all = blocked(cell);
  const trials = all.filter((t) => t.counted !== false).concat(all.filter((t) => t.counted === false)).slice(0, MAX_TRIALS);
  const values = trials
    .flatMap((t) => t.blocks.flatMap((b) => (b ? KINDS.map((kind) => valueOf(t, b, kind.index)) : [])))
    .filter((v) => v !== null);
  const y = scaleOf(values, { log: view.log, headroom: values.includes(Infinity) });
  const most = Math.max(...trials.map((t) => t.blocks.length));
  const window = cell.e.window?.duration_ns;
  const at = (trial, b) => (window ? ((b + 0.5) * window) / trial.blocks.length : b + 1);
  const x = window ? scaleOf([window], { log: false }) : scaleOf([most + 0.5], { log: false });
  if (window) x.max = window;
  x.ticks = x.ticks.filter((t) => t <= x.max);
  const series = trials.flatMap((trial) =>
    KINDS.map((kind) => ({
      id: `block:${i}:${kind.index}:${trial.number}`,
      name: kind.name,
      type: 'line',
      ...onPanel(i),
      symbol: kind.index === 2 ? 'triangle' : style.symbol,
      symbolSize: kind.size,
      lineStyle: { color: style.color, type: kind.dash, width: kind.width, opacity: trial.counted === false ? 0.4 : 0.9 },
      itemStyle: fill(style, kind.index === 1),
      connectNulls: false,
      clip: false,
      data: trial.blocks.map((block, b) => {
        const item = { open: place(cell), trial: trial.number, block: b, kind: kind.index };
        if (!block) return { ...item, value: [at(trial, b), null] };
        const v = valueOf(trial, block, kind.index);
        return v === Infinity
          ? { ...item, value: [at(trial, b), y.max], symbol: UP, symbolSize: 9, lost: true }
          : { ...item, value: [at(trial, b), v] };
      }),
    })),
  );
  return {
    series,
    xAxis: axisOf(theme, i, x, {
      log: false,
      format: window ? timeTick : brief,
      title: window ? 'in the window' : 'block of the window',
      gap: 26,
    }),
    yAxis: axisOf(theme, i, y, { log: view.log, title: metricName(cell.e.headline), gap: 56 }),
  };
}

/** What a mark of a block says. */
export function blockTip(view, theme, cell, trial, data) {
  const block = trial.blocks[data.block] ?? [];
  const text = (v) => (v === null ? null : v === Infinity ? '∞ (lost)' : duration(v));
  return cellTip(view, cell, theme, {
    quantiles: false,
    first: [
      [`trial ${trial.number}, block ${data.block + 1} of ${trial.blocks.length}`, metricName(cell.e.headline)],
      ...KINDS.map((kind) => [kind.short, text(block.length ? valueOf(trial, block, kind.index) : null)]),
    ],
    notes: (trial.disturbed ?? []).map((d) => `disturbed: ${d}`).slice(0, 2),
  });
}

/** Rows of blocks for the table of the time plot. */
export function blockRows(view) {
  return blockPanels(view).flatMap(({ cell }) =>
    blocked(cell).flatMap((trial) =>
      trial.blocks.map((block, b) => {
        const [p50, p99, max] = KINDS.map(({ index }) => (block ? valueOf(trial, block, index) : null));
        return { cell, trial, metric: cell.e.headline, block: b + 1, p50, p99, max };
      }),
    ),
  );
}

// Arrivals around a fault: a line for each trial and receiver, a tick for each arrival, relative to the start of the fault, whose
// time is shaded. A panel for each stack and fault.

import { duration } from '../format.js';
import { allConditions, limited, panelsOf, place, seriesName, styleOf } from './common.js';
import { axisOf, onPanel, scaleOf, stroke } from './chart.js';
import { column, plotOf, rounded, stackColumns } from './plot.js';
import { plural, short, timeTick } from './text.js';
import { cellTip } from './tip.js';

const MAX_PANELS = 8;
const MAX_LINES = 40;

/** The lines of a cell: `[{ cell, trial, end }]`; a trial that failed has one without an end. */
function linesOf(cell) {
  return (cell.d?.trials ?? []).flatMap((trial) => {
    const ends = trial.outages ?? [];
    return ends.length > 0 ? ends.map((end) => ({ cell, trial, end })) : [{ cell, trial, end: null }];
  });
}

const isDeaf = ({ end }) => end !== null && end.recovery_ns === null;

function drawn(view) {
  const able = view.cells
    .filter((c) => c.e.outage && linesOf(c).some((l) => l.end))
    .map((cell) => ({ key: cell, items: [cell], lines: linesOf(cell) }));
  const { panels, shared, left, seriesLeft } = panelsOf(limited(able, MAX_PANELS), {
    keep: (g) => limited(g.lines, MAX_LINES),
    panel(lines, words, { items: [cell] }) {
      return { cell, lines, title: [seriesName(view, cell), cell.e.fault, ...words.filter((w) => w !== cell.e.fault)].join(', ') };
    },
  });
  const notes = ['Shaded: the time of the fault. A tick: an arrival, or the first of several that are too close to draw separately.'];
  const lines = panels.flatMap((p) => p.lines);
  if (lines.some(isDeaf)) notes.push('Red: the receiver got no newer message after the fault.');
  if (lines.some((l) => !l.end)) notes.push('✕: the trial failed, or no receiver was left.');
  if (left > 0) notes.push(`${panels.length} of ${plural(panels.length + left, 'panel')} are drawn: choose stacks or faults above to see others.`);
  if (seriesLeft > 0) notes.push(`${plural(seriesLeft, 'further line')} left out.`);
  return { panels, shared, notes };
}

const room = (d) => ({ height: (i) => Math.max(70, 9 * d.panels[i].lines.length), left: 60, below: 48 });

function panelOf(view, theme, panel, i) {
  const { cell, lines } = panel;
  const style = styleOf(view, cell, theme);
  const spans = lines.map((l) => l.trial.fault_ms).filter((ms) => Number.isFinite(ms));
  const span = spans.length > 0 ? Math.max(...spans) * 1e6 : 0;
  const at = lines.flatMap((l) => (l.end?.arrivals_ms ?? []).map((ms) => ms * 1e6));
  const x = scaleOf([...at, 0, span], { log: false, zero: false });
  const y = { min: 0, max: lines.length, ticks: [] };
  return {
    xAxis: axisOf(theme, i, x, { log: false, format: signedTick, title: 'after the start of the fault', gap: 26 }),
    yAxis: axisOf(theme, i, y, { log: false, title: 'trials', gap: 24, lines: false, inverse: true, axisLabel: { show: false } }),
    series: [shade(theme, i, span, lines.length), raster(theme, i, panel, style)],
  };
}

const signedTick = (ns) => (ns < 0 ? `−${timeTick(-ns)}` : timeTick(ns));

/** The time of the fault. */
function shade(theme, i, span, height) {
  return {
    id: `fault:${i}`,
    name: 'fault',
    type: 'custom',
    ...onPanel(i),
    z: 1,
    silent: true,
    tooltip: { show: false },
    encode: { x: [0, 1] },
    data: [[0, span]],
    renderItem: (params, api) => {
      const [left, top] = api.coord([api.value(0), 0]);
      const [right, bottom] = api.coord([api.value(1), height]);
      const shape = { x: left, y: top, width: Math.max(1.5, right - left), height: bottom - top };
      return { type: 'rect', shape, style: { fill: theme.muted, opacity: 0.25 } };
    },
  };
}

/** A line of ticks for each receiver of each trial. */
function raster(theme, i, { cell, lines }, style) {
  return {
    id: `raster:${i}`,
    name: 'arrivals',
    type: 'custom',
    ...onPanel(i),
    z: 3,
    clip: true,
    itemStyle: { color: style.color },
    encode: { x: 0, y: 1 },
    data: lines.map((_, n) => ({ value: [0, n + 0.5], open: place(cell), line: n })),
    renderItem: ({ dataIndex }, api) => {
      const line = lines[dataIndex];
      const [zero, y] = api.coord([0, dataIndex + 0.5]);
      const half = Math.max(1, Math.abs(api.size([0, 1])[1]) * 0.36);
      const color = isDeaf(line) ? theme.bad : style.color;
      if (!line.end) {
        const across = (down) => stroke(zero - 4, y - 4 * down, zero + 4, y + 4 * down, { color: theme.bad });
        return { type: 'group', children: [across(1), across(-1)] };
      }
      const ticks = line.end.arrivals_ms.map((ms) => {
        const [x] = api.coord([ms * 1e6, 0]);
        return `M${x.toFixed(1)} ${(y - half).toFixed(1)}v${(2 * half).toFixed(1)}`;
      });
      const pathData = ticks.join('') || `M${zero.toFixed(1)} ${y.toFixed(1)}h0`;
      const opacity = line.trial.counted === false ? 0.45 : 1;
      return { type: 'path', shape: { pathData }, style: { stroke: color, fill: 'none', lineWidth: 1.2, opacity } };
    },
  };
}

function hover(view, theme, d, { cell, data }) {
  const line = d.panels.find((p) => p.cell === cell)?.lines[data.line];
  if (!line) return '';
  const { trial, end } = line;
  const recovery = end && (isDeaf(line) ? '∞ (no recovery)' : duration(end.recovery_ns));
  return cellTip(view, cell, theme, {
    metric: 'recovery_ns',
    first: [
      [`trial ${trial.number}`, end ? `receiver ${end.receiver}` : '✕ no record of a receiver'],
      ['recovery', recovery],
    ],
    notes: [trial.message, ...(trial.disturbed ?? []).slice(0, 2)],
  });
}

const columns = (view) => [
  ...stackColumns(view),
  column('fault', ({ cell }) => cell.e.fault),
  column('conditions', ({ cell }) => allConditions(cell)),
  column('trial', ({ trial }) => trial.number),
  column('counted', ({ trial, end }) => (trial.counted === false || !end ? 'no' : 'yes')),
  column('receiver', ({ end }) => end?.receiver),
  column('channel', ({ end }) => end?.channel),
  rounded('recovery', (line) => (line.end ? (isDeaf(line) ? Infinity : line.end.recovery_ns) : null), 'ns'),
  column('remark', ({ trial }) => trial.message ?? trial.disturbed?.[0]),
];

const rows = (d) => d.panels.flatMap((p) => p.lines);

function summary(view) {
  const { panels } = drawn(view);
  if (panels.length === 0) return 'Outages: no experiment with faults is selected.';
  const said = panels.slice(0, 6).map(({ cell }) => `${short(seriesName(view, cell), 40)}, ${cell.e.fault}: ${cell.e.outage.recovered} of ${cell.e.outage.trials}`);
  return `Trials in which every receiver got newer messages after the fault: ${said.join('; ')}.`;
}

export const outages = plotOf({
  id: 'outages',
  title: 'Outages',
  question: 'What arrives before, during and after a fault?',
  kinds: { log: false, response: false },
  empty: 'No experiment with faults is selected.',
  drawn,
  room,
  panelOf,
  entries: () => [],
  hover,
  columns,
  rows,
  summary,
});

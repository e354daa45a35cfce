// Time: what trials measured along the run, beside what the host did; and the quantiles of blocks within the
// window of the trials of a few experiments.

import { duration, share } from '../format.js';
import {
  entryOf,
  fill,
  groupBy,
  metricOf,
  metricTitle,
  place,
  quantileOf,
  runName,
  seriesName,
  severalRuns,
  styleOf,
} from './common.js';
import { CROSS, UP, axisOf, dots, layout, onPanel, scaleOf } from './chart.js';
import { BLOCK_CELLS, BLOCK_LINES, blockPanels, blockRows, blockTip } from './blocks.js';
import { column, plotOf, rounded, stackColumns } from './plot.js';
import { brief, plural, shareTick } from './text.js';
import { cellTip, tip } from './tip.js';
import { metricName } from '../tables.js';

/** With more experiments than these, trials are shown in relation to their experiment's median. */
const MAX_ABSOLUTE = 8;
const MAX_RUNS = 3;
const MAX_TRIALS = 2500;
/** Shares of the host below this are not worth a mark. */
const NOISE = 0.002;
const STOLEN = 'stolen by the hypervisor';
const FOREIGN = 'taken by other processes';

/** The trials of a run in the order of time, each with its cell and what is drawn of it. */
function trialsOf(view, cells, relative) {
  const list = [];
  for (const cell of cells) {
    const { metric, figures } = metricOf(view, cell);
    const own = quantileOf(figures, 'p50').value;
    for (const trial of cell.d?.trials ?? []) {
      if (!Number.isFinite(trial.start_s)) continue;
      const m = figures ? trial.metrics?.[metric] : null;
      const figure = (key) => {
        if (!m || (m[key] ?? null) === null) return m?.infinite > 0 && m[key] === null ? Infinity : null;
        if (!relative) return m[key];
        return own > 0 && Number.isFinite(own) ? m[key] / own : null;
      };
      list.push({ cell, trial, failed: trial.outcome === 'failed', p50: figure('p50'), p99: figure('p99') });
    }
  }
  return list.sort((a, b) => a.trial.start_s - b.trial.start_s);
}

function drawn(view) {
  const runs = groupBy(view.cells, (c) => c.run).filter((g) => g.items.some((c) => c.d?.trials?.length > 0));
  const notes = [];
  const panels = runs.slice(0, MAX_RUNS).map((g) => {
    const relative = g.items.length > MAX_ABSOLUTE;
    const all = trialsOf(view, g.items, relative);
    const trials = all.slice(0, MAX_TRIALS);
    if (all.length > MAX_TRIALS) notes.push(`The first ${MAX_TRIALS} of ${all.length} trials are drawn: choose stacks or experiments above.`);
    const end = Math.max(1, ...trials.map((t) => t.trial.start_s + (t.trial.wall_s ?? 0)));
    const [unit, seconds] = end > 7200 ? ['h', 3600] : end > 300 ? ['min', 60] : ['s', 1];
    return { cells: g.items, relative, trials, end, unit, seconds };
  });
  if (runs.length > MAX_RUNS) notes.push(`${MAX_RUNS} of ${runs.length} runs are drawn: choose runs above.`);
  const relative = panels.some((p) => p.relative);
  if (relative) {
    notes.push(
      `With more than ${MAX_ABSOLUTE} experiments, the plot shows the p50 of each trial relative to the p50 of its experiment; otherwise it shows p50 and p99.`,
    );
  }
  if (panels.some((p) => p.trials.some((t) => t.trial.disturbed?.length > 0))) {
    notes.push('Shaded: the host disturbed the trial.');
  }
  const blocks = blockPanels(view);
  if (panels.length > 0 && blocks.length === 0) {
    notes.push(`Choose at most ${BLOCK_CELLS} experiments, or open one, to see quantiles within the window.`);
  }
  return { panels, blocks, notes, relative };
}

function placeOf(theme, d) {
  const trials = layout(theme, d.panels.length * 2, {
    height: (i) => (i % 2 === 0 ? 250 : 64),
    below: (i) => (i % 2 === 0 ? 6 : 50),
    above: 28,
    maxColumns: 1,
  });
  const { boxes, notesTop, total } = layout(theme, d.blocks.length, {
    height: 220,
    minWidth: 430,
    legend: false,
    notes: d.notes,
    offset: trials.notesTop,
  });
  return { ...trials, notesTop, total, boxes: [...trials.boxes, ...boxes] };
}

/** Spans of trials that the host disturbed, those that touch as one. */
function disturbedSpans(trials) {
  const spans = [];
  for (const { trial } of trials) {
    if (!(trial.disturbed?.length > 0)) continue;
    const from = trial.start_s;
    const to = from + (trial.wall_s || 0.001);
    const last = spans[spans.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
  }
  return spans;
}

function trialSeries(view, theme, panel, i) {
  const values = panel.trials.flatMap((t) => (panel.relative ? [t.p50] : [t.p50, t.p99])).filter((v) => v !== null);
  const y = scaleOf(values, {
    // A ratio is as far from one above as below.
    log: view.log || panel.relative,
    headroom: values.includes(Infinity),
  });
  const series = [];
  const groups = groupBy(panel.trials, (t) => seriesName(view, t.cell));
  groups.forEach(({ key, items }, k) => {
    const style = styleOf(view, items[0].cell, theme);
    const data = [];
    for (const t of items) {
      const x = t.trial.start_s / panel.seconds;
      const common = { open: place(t.cell), trial: t.trial.number };
      const hollow = t.trial.counted === false;
      if (t.failed) {
        data.push({ ...common, value: [x, y.min], symbol: CROSS, symbolSize: 9, symbolOffset: [0, -8], itemStyle: { color: theme.bad } });
        continue;
      }
      for (const [quantile, v] of [['p50', t.p50], ['p99', panel.relative ? null : t.p99]]) {
        if (v === null) continue;
        data.push({
          ...common,
          quantile,
          value: [x, v === Infinity ? y.max : v],
          symbol: v === Infinity ? UP : style.symbol,
          symbolSize: quantile === 'p50' ? 7 : 5,
          itemStyle: { ...fill(style, hollow || quantile === 'p99'), opacity: 0.85 },
        });
      }
    }
    series.push(dots(i, style, { id: `trials:${i}:${k}`, name: key, data }));
  });
  const spans = disturbedSpans(panel.trials);
  if (spans.length > 0) {
    series.push({
      id: `disturbed:${i}`,
      name: 'disturbed',
      type: 'scatter',
      ...onPanel(i),
      data: [],
      silent: true,
      markArea: {
        silent: true,
        itemStyle: { color: theme.warn, opacity: 0.22 },
        data: spans.map(([from, to]) => [{ xAxis: from / panel.seconds }, { xAxis: to / panel.seconds }]),
      },
    });
  }
  return { series, y };
}

/** What the host took in each trial's window: stolen by the hypervisor below, taken by others above it. */
function hostSeries(theme, panel, i) {
  const noisy = panel.trials.filter(({ trial }) => {
    const h = trial.host;
    return h && (h.stolen ?? 0) + (h.foreign ?? 0) >= NOISE;
  });
  const sums = noisy.map(({ trial }) => (trial.host.stolen ?? 0) + (trial.host.foreign ?? 0));
  const y = scaleOf([...sums, 0.01], { log: false, ticks: 2 });
  const part = (key, title, color, base) => ({
    id: `host:${i}:${key}`,
    name: title,
    type: 'custom',
    ...onPanel(i),
    itemStyle: { color },
    encode: { x: [0, 1], y: [2, 3] },
    data: noisy.map(({ cell, trial }) => {
      const from = base ? (trial.host[base] ?? 0) : 0;
      return {
        value: [
          trial.start_s / panel.seconds,
          (trial.start_s + (trial.wall_s ?? 0)) / panel.seconds,
          from,
          from + (trial.host[key] ?? 0),
        ],
        open: place(cell),
        trial: trial.number,
      };
    }),
    renderItem: (params, api) => {
      const [x0, y0] = api.coord([api.value(0), api.value(2)]);
      const [x1, y1] = api.coord([api.value(1), api.value(3)]);
      const width = Math.max(2, x1 - x0);
      return {
        type: 'rect',
        shape: { x: x0, y: y1, width, height: Math.max(0, y0 - y1) },
        style: { fill: color, stroke: key === 'foreign' ? theme.text : 'none', lineWidth: key === 'foreign' ? 0.6 : 0 },
      };
    },
  });
  const series = [
    part('stolen', STOLEN, theme.bad, null),
    part('foreign', FOREIGN, theme.warn, 'stolen'),
  ];
  return { series, y };
}

function hover(view, theme, d, { cell, data, seriesId: id }) {
  const trial = cell.d.trials.find((t) => t.number === data.trial);
  if (id.startsWith('block:')) return blockTip(view, theme, cell, trial, data);
  const h = trial.host;
  const host = h
    ? [
        [STOLEN, share(h.stolen ?? null)],
        [FOREIGN, share(h.foreign ?? null)],
        ['gaps before the trial', share(h.gaps ?? null)],
      ]
    : [];
  const { metric } = metricOf(view, cell);
  const m = trial.metrics?.[metric];
  const of = (v) => (v === null ? (m.infinite > 0 ? '∞ (lost)' : null) : v === undefined ? null : duration(v));
  const figures = m ? ['p50', 'p90', 'p99', 'max'].map((key) => [`${key} of the trial`, of(m[key])]) : [];
  const at = `trial ${trial.number}, ${brief(trial.start_s)} s after the first`;
  if (id.startsWith('host:')) {
    return tip({ title: at, rows: [...host, ['measured then', seriesName(view, cell)]], notes: trial.disturbed ?? [] });
  }
  return cellTip(view, cell, theme, {
    quantiles: false,
    first: [[at, metricName(metric)], ...figures, ['samples of the trial', m ? String(m.n) : null], ...host],
    notes: [
      trial.outcome === 'failed' ? `✕ ${trial.kind} in ${trial.step}: ${trial.message}` : null,
      ...(trial.disturbed ?? []).map((d) => `disturbed: ${d}`).slice(0, 3),
    ],
  });
}

function partsOf(view, theme, d) {
  const trials = d.panels.flatMap((panel, p) => {
    const x = { ...scaleOf([panel.end / panel.seconds], { log: false, ticks: 8 }) };
    x.max = panel.end / panel.seconds;
    x.ticks = x.ticks.filter((t) => t <= x.max);
    const top = trialSeries(view, theme, panel, 2 * p);
    const below = hostSeries(theme, panel, 2 * p + 1);
    const title = panel.relative ? '× its own median' : metricTitle(view, panel.cells);
    const ratio = panel.relative ? { format: (v) => `× ${brief(v)}` } : {};
    const run = severalRuns(view) ? `${runName(view, panel.cells[0])}: ` : '';
    const what = panel.relative ? 'p50 of each trial' : 'p50 (filled) and p99 (hollow, small) of each trial';
    return [
      {
        title: `${run}${what} during the run`,
        xAxis: axisOf(theme, 2 * p, x, { log: false, axisLabel: { show: false } }),
        yAxis: axisOf(theme, 2 * p, top.y, { log: view.log || panel.relative, title, gap: 56, ...ratio }),
        series: top.series,
      },
      {
        title: `${run}CPU time taken by the host`,
        xAxis: axisOf(theme, 2 * p + 1, x, { log: false, format: brief, title: `since the first trial, ${panel.unit}`, gap: 26 }),
        yAxis: axisOf(theme, 2 * p + 1, below.y, { log: false, format: shareTick, gap: 56 }),
        series: below.series,
      },
    ];
  });
  const blocks = d.blocks.map(({ title, draw }, b) => ({ title, ...draw(theme, 2 * d.panels.length + b) }));
  return [...trials, ...blocks];
}

function entries(view, theme, d) {
  // Cells without a trial have no series, which a legend would miss.
  const cells = [...new Set(d.panels.flatMap((p) => p.trials.map((t) => t.cell)))].sort((a, b) => a.style - b.style);
  const box = (name, color) => ({ name, style: { symbol: 'rect', color } });
  return [
    ...cells.map((c) => entryOf(view, theme, c)),
    box(STOLEN, theme.bad),
    box(FOREIGN, theme.warn),
    ...(d.blocks.length > 0 ? BLOCK_LINES.map((name) => ({ name, line: true })) : []),
  ];
}

const columns = (view) => [
  ...stackColumns(view),
  column('experiment', ({ cell }) => cell.e.experiment),
  column('trial', ({ trial }) => trial.number),
  rounded('start', ({ start }) => start, 's'),
  column('outcome', ({ trial }) => trial.outcome),
  column('counted', ({ trial }) => (trial.counted === false ? 'no' : 'yes')),
  column('metric', ({ metric }) => metric),
  column('block', ({ block }) => block),
  rounded('p50', ({ p50 }) => p50, 'ns'),
  rounded('p99', ({ p99 }) => p99, 'ns'),
  rounded('max', ({ max }) => max, 'ns'),
  rounded('stolen share', ({ host }) => host?.stolen),
  rounded('foreign share', ({ host }) => host?.foreign),
  rounded('gap share', ({ host }) => host?.gaps),
  column('remark', ({ remark }) => remark),
];

function rows(d, view) {
  const trials = d.panels
    .flatMap((p) => p.trials)
    .map(({ cell, trial }) => {
      const { metric, figures } = metricOf(view, cell);
      const m = figures ? trial.metrics?.[metric] : null;
      const of = (key) => (m ? (m[key] ?? (m.infinite > 0 ? Infinity : null)) : null);
      const remark = trial.message ?? trial.disturbed?.[0];
      const { start_s: start, host } = trial;
      return { cell, trial, start, metric, p50: of('p50'), p99: of('p99'), max: m?.max, host, remark };
    });
  return [...trials, ...blockRows(view)];
}

function summary(view) {
  const { panels, blocks } = drawn(view);
  const trials = panels.flatMap((p) => p.trials);
  if (trials.length === 0) return 'Course of the run: no trials are selected.';
  const disturbed = trials.filter((t) => t.trial.disturbed?.length > 0).length;
  const failed = trials.filter((t) => t.failed).length;
  const stacks = new Set(trials.map((t) => seriesName(view, t.cell)));
  const within = blocks.length ? ` Below: quantiles within the windows of ${plural(blocks.length, 'experiment')}.` : '';
  return `${plural(trials.length, 'trial')} of ${plural(stacks.size, 'stack')} during the run; ${disturbed} disturbed by the host, ${failed} failed.${within}`;
}

export const time = plotOf({
  id: 'time',
  title: 'Course of the run',
  question: 'Did the machine or anything else change during the run?',
  kinds: { log: true, response: true },
  empty: 'The selection has no stored trials.',
  drawn,
  placeOf,
  partsOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

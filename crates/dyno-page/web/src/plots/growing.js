// Growing sizes: the median of each trial over payload size and the line that Dyno fitted through them, whose
// slope is S, as in Fig. 5 of Klüner et al. (2025).

import { duration, payload, unresolvable } from '../format.js';
import { entryOf, fill, isYardstick, place, seriesName, styleOf } from './common.js';
import {
  CROSS,
  UP,
  asideOf,
  axisOf,
  dots,
  endLabels,
  scaleOf,
  thinLine,
  widthOf,
} from './chart.js';
import { cellColumns, column, plotOf, rounded } from './plot.js';
import { fitLine, fitText, sizePanels, sizeSeries, sizeTicks, slopeColumns } from './scaling.js';
import { plural, short, sizeTick } from './text.js';
import { cellTip } from './tip.js';
import { metricName } from '../tables.js';

const LEAST = 3;

/** S is fitted through service times, so these are shown unless another metric is asked for. */
function metricHere(view, cell) {
  if (view.metric !== undefined && view.metric !== 'auto') return view.metricOf(cell);
  return cell.e.metrics?.service_ns ? 'service_ns' : view.metricOf(cell);
}

/** The median of each trial of a cell: `[{ cell, trial, ns }]`, Infinity where lost, null where it failed. */
function trialsOf(view, cell) {
  const metric = metricHere(view, cell);
  if (unresolvable(cell.e, metric)) return [];
  return (cell.d?.trials ?? []).map((trial) => {
    const m = trial.metrics?.[metric];
    const lost = m && m.p50 === null && m.infinite > 0;
    return { cell, trial, ns: lost ? Infinity : (m?.p50 ?? null) };
  });
}

function drawn(view) {
  const able = sizeSeries(view, LEAST)
    .filter((s) => s.fit)
    .map((s) => ({ ...s, trials: s.cells.flatMap((c) => trialsOf(view, c)) }))
    .filter((s) => s.trials.some((t) => t.ns !== null));
  const slope = (s) => s.fit.s_ms_per_mb?.value;
  const d = sizePanels(able, slope, LEAST);
  const cells = able.flatMap((s) => s.cells);
  if (cells.some((c) => metricHere(view, c) !== 'service_ns')) {
    d.notes.push('The fits use median service times, even if another metric is shown.');
  }
  if (d.panels.some((p) => p.series.some((s) => s.trials.some((t) => t.trial.counted === false)))) {
    d.notes.push('Hollow: the host disturbed the trial, so the fit leaves it out.');
  }
  for (const panel of d.panels) {
    for (const s of panel.series.filter((one) => !one.fit.s_ms_per_mb)) {
      const where = d.panels.length > 1 ? ` (${panel.title})` : '';
      d.notes.push(`${short(seriesName(view, s.cell), 40)}${where} has no scaling factor S: ${short(s.fit.reason ?? 'no line fits', 120)}`);
    }
  }
  return d;
}

const isWide = (theme) => widthOf(theme) >= 620;

const room = (d, theme) => ({
  height: d.panels.length === 1 ? 360 : 270,
  maxColumns: 1,
  right: isWide(theme) ? 270 : 100,
});

function panelOf(view, theme, panel, i, box) {
  const sizes = panel.series.flatMap((s) => s.cells.map((c) => c.e.payload_bytes));
  const values = panel.series.flatMap((s) => s.trials.map((t) => t.ns)).filter((v) => v !== null);
  const x = scaleOf(sizes, { log: view.log });
  const y = scaleOf(values, { log: view.log, headroom: values.includes(Infinity) });
  const series = [];
  const ends = [];
  panel.series.forEach((s, k) => {
    const style = styleOf(view, s.cell, theme);
    const aside = asideOf(k, panel.series.length, 2.5, 14);
    const name = seriesName(view, s.cell);
    const data = s.trials.map(({ cell, trial, ns }) => dot(theme, style, cell, trial, ns, y, aside));
    series.push(dots(i, style, { id: `growing:${i}:${k}`, name, symbolSize: 7, data }));
    const line = fitLine(s.fit, Math.min(...sizes), Math.max(...sizes), view.log).filter(([, ns]) => ns >= y.min && ns <= y.max);
    if (line.length === 0) return;
    const [x1, y1] = line[line.length - 1];
    const factor = fitText(s.fit).split(' ')[0];
    const text = isWide(theme) ? `${short(name, 24)}, S ${factor} ms/MB` : `${short(name, 8)} ${factor}`;
    ends.push({ text, x: x1, y: y1, color: style.color });
    const lineStyle = { color: style.color, type: style.dash, width: 1.8 };
    const id = `growing:${i}:${k}:fit`;
    series.push(thinLine(i, style, { id, name, data: line, lineStyle, clip: false }));
  });
  series.push(endLabels({ id: `names:${i}`, panel: i, box, scale: y, log: view.log, entries: ends, theme }));
  const ticks = sizeTicks(sizes, x, view.log);
  const metrics = [...new Set(panel.series.map((s) => metricName(metricHere(view, s.cell))))];
  return {
    xAxis: axisOf(theme, i, { ...x, ticks }, { log: view.log, format: sizeTick, title: 'payload', gap: 28 }),
    yAxis: axisOf(theme, i, y, { log: view.log, title: `median of a trial, ${metrics.join(' or ')}`, gap: 56 }),
    series,
  };
}

function dot(theme, style, cell, trial, ns, y, aside) {
  const common = { open: place(cell), trial: trial.number };
  const at = cell.e.payload_bytes;
  if (ns === null) {
    return { ...common, value: [at, y.min], symbol: CROSS, symbolSize: 9, symbolOffset: [aside, -7], itemStyle: { color: theme.bad } };
  }
  if (ns === Infinity) {
    return { ...common, value: [at, y.max], symbol: UP, symbolSize: 10, symbolOffset: [aside, 0] };
  }
  const hollow = trial.counted === false || style.hollow;
  return { ...common, value: [at, ns], symbolOffset: [aside, 0], itemStyle: { ...fill(style, hollow), opacity: 0.85 } };
}

function hover(view, theme, d, { cell, data }) {
  const s = d.panels.flatMap((p) => p.series).find((one) => one.cells.includes(cell));
  const { trial, ns } = s.trials.find((t) => t.cell === cell && t.trial.number === data.trial);
  const value = ns === null ? '✕ failed' : ns === Infinity ? '∞ (lost)' : duration(ns);
  return cellTip(view, cell, theme, {
    metric: metricHere(view, cell),
    first: [
      ['payload', payload(cell.e.payload_bytes)],
      [`median of trial ${trial.number}`, value],
      ['S', fitText(s.fit)],
    ],
    notes: [trial.message, ...(trial.disturbed ?? []).slice(0, 2)],
  });
}

const entries = (view, theme, d) => d.panels.flatMap((p) => p.series.map((s) => entryOf(view, theme, s.cell)));

const columns = (view) => [
  ...cellColumns(view),
  column('payload', ({ cell }) => cell.e.payload_bytes, 'bytes'),
  column('metric', ({ cell }) => metricHere(view, cell)),
  column('trial', ({ trial }) => trial.number),
  column('counted', ({ trial, ns }) => (trial.counted === false || ns === null ? 'no' : 'yes')),
  rounded('median', ({ ns }) => ns, 'ns'),
  rounded('fit', ({ cell, fit }) => fit.s_ms_per_mb && fit.intercept_ns + fit.s_ms_per_mb.value * cell.e.payload_bytes, 'ns'),
  ...slopeColumns,
];

const rows = (d) => d.panels.flatMap((p) => p.series).flatMap((s) => s.trials.map((one) => ({ ...one, fit: s.fit })));

function summary(view) {
  const all = drawn(view).panels.flatMap((p) => p.series);
  if (all.length === 0) return 'Growing sizes: no such experiment is selected.';
  const sorted = all
    .filter((s) => s.fit.s_ms_per_mb && !isYardstick(s.cell))
    .sort((a, b) => a.fit.s_ms_per_mb.value - b.fit.s_ms_per_mb.value);
  if (sorted.length === 0) return `Growing sizes of ${plural(all.length, 'series')}: no line fits any of them.`;
  const text = sorted.slice(0, 6).map((s) => `${short(seriesName(view, s.cell), 40)} ${fitText(s.fit)}`);
  const rest = sorted.length > 6 ? [`and ${sorted.length - 6} more`] : [];
  return `Scaling factor S of ${plural(all.length, 'series')}, the best first: ${[...text, ...rest].join('; ')}.`;
}

export const growing = plotOf({
  id: 'growing',
  title: 'Growing sizes',
  question: 'How does the latency grow with the message size?',
  kinds: { log: true, response: true },
  empty: 'No experiment with growing sizes is selected: a fit needs three sizes of one stream.',
  drawn,
  room,
  panelOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

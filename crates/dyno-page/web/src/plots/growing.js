// Growing sizes: the median of each trial over payload size and the line that Dyno fitted through them, whose
// slope is S, as in Fig. 5 of Klüner et al. (2025).

import { duration, payload } from '../format.js';
import {
  allConditions,
  fill,
  isYardstick,
  openedBy,
  place,
  plotOf,
  runName,
  seriesName,
  styleOf,
  unresolvable,
} from './common.js';
import {
  CROSS,
  UP,
  axisOf,
  compose,
  endLabels,
  exported,
  layout,
  legendOf,
  nothing,
  onPanel,
  partsOf,
  scaleOf,
  thinLine,
  widthOf,
} from './chart.js';
import { fitLine, fitText, sizePanels, sizeSeries, sizeTicks } from './sizes.js';
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
  if (unresolvable(cell, metric)) return [];
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
    d.notes.push('The fits go through median service times, whatever is shown.');
  }
  if (d.panels.some((p) => p.series.some((s) => s.trials.some((t) => t.trial.counted === false)))) {
    d.notes.push('Hollow: the host disturbed the trial; the fit leaves it out.');
  }
  for (const panel of d.panels) {
    for (const s of panel.series.filter((one) => !one.fit.s_ms_per_mb)) {
      const where = d.panels.length > 1 ? ` (${panel.title})` : '';
      d.notes.push(`${short(seriesName(view, s.cell), 40)}${where} has no S: ${short(s.fit.reason ?? 'no line fits', 120)}`);
    }
  }
  return d;
}

function placeOf(theme, d) {
  const wide = widthOf(theme) >= 620;
  return layout(theme, d.panels.length, {
    height: d.panels.length === 1 ? 360 : 270,
    maxColumns: 1,
    caption: d.shared,
    notes: d.notes,
    right: wide ? 270 : 100,
  });
}

function panelOf(view, theme, panel, i, box, wide) {
  const dots = panel.series.flatMap((s) => s.trials);
  const sizes = panel.series.flatMap((s) => s.cells.map((c) => c.e.payload_bytes));
  const values = dots.map((p) => p.ns).filter((v) => v !== null);
  const x = scaleOf(sizes, { log: view.log });
  const y = scaleOf(values, { log: view.log, headroom: values.includes(Infinity) });
  const series = [];
  const ends = [];
  panel.series.forEach((s, k) => {
    const style = styleOf(view, s.cell, theme);
    const aside = panel.series.length > 1 ? (k - (panel.series.length - 1) / 2) * Math.min(2.5, 14 / panel.series.length) : 0;
    series.push({
      id: `growing:${i}:${k}`,
      name: seriesName(view, s.cell),
      type: 'scatter',
      ...onPanel(i),
      symbol: style.symbol,
      symbolSize: 7,
      itemStyle: fill(style),
      clip: false,
      z: 3,
      data: s.trials.map(({ cell, trial, ns }) => dot(theme, style, cell, trial, ns, y, aside)),
    });
    const line = fitLine(s.fit, Math.min(...sizes), Math.max(...sizes), view.log).filter(([, ns]) => ns >= y.min && ns <= y.max);
    if (line.length === 0) return;
    const [x1, y1] = line[line.length - 1];
    const factor = fitText(s.fit).split(' ')[0];
    const text = wide ? `${short(seriesName(view, s.cell), 24)}, S ${factor} ms/MB` : `${short(seriesName(view, s.cell), 8)} ${factor}`;
    ends.push({ text, x: x1, y: y1, color: style.color });
    const lineStyle = { color: style.color, type: style.dash, width: 1.8 };
    const id = `growing:${i}:${k}:fit`;
    series.push(thinLine(i, style, { id, name: seriesName(view, s.cell), data: line, lineStyle, clip: false }));
  });
  series.push(endLabels({ id: `names:${i}`, panel: i, box, scale: y, log: view.log, entries: ends, theme }));
  return { series, x: { ...x, ticks: sizeTicks(sizes, x, view.log) }, y };
}

function dot(theme, style, cell, trial, ns, y, aside) {
  const common = { open: place(cell), trial: trial.number };
  const at = cell.e.payload_bytes;
  if (ns === null) {
    return { ...common, value: [at, y.min], symbol: CROSS, symbolSize: 9, symbolOffset: [aside, -7], itemStyle: { color: theme.bad ?? theme.text } };
  }
  if (ns === Infinity) {
    return { ...common, value: [at, y.max], symbol: UP, symbolSize: 10, symbolOffset: [aside, 0] };
  }
  const hollow = trial.counted === false || style.hollow;
  return { ...common, value: [at, ns], symbolOffset: [aside, 0], itemStyle: { ...fill(style, hollow), opacity: 0.85 } };
}

function tooltip(view, theme, d) {
  return ({ data }) => {
    const cell = openedBy(view, data);
    if (!cell) return '';
    const s = d.panels.flatMap((p) => p.series).find((one) => one.cells.includes(cell));
    const { trial, ns } = s.trials.find((t) => t.cell === cell && t.trial.number === data.trial);
    const metric = metricHere(view, cell);
    const value = ns === null ? '✕ failed' : ns === Infinity ? '∞ (lost)' : duration(ns);
    return cellTip(view, cell, theme, {
      metric,
      first: [
        ['payload', payload(cell.e.payload_bytes)],
        [`median of trial ${trial.number}`, value],
        ['S', fitText(s.fit)],
      ],
      notes: [trial.message, ...(trial.disturbed ?? []).slice(0, 2)],
    });
  };
}

function option(view, theme) {
  const d = drawn(view);
  if (d.panels.length === 0) return nothing(theme, 'No experiment of growing sizes is selected: a fit takes three sizes of one stream.');
  const at = placeOf(theme, d);
  const entries = [];
  const parts = partsOf(theme, d, at, (panel, i, box) => {
    const { series, x, y } = panelOf(view, theme, panel, i, box, at.width >= 620);
    const metrics = [...new Set(panel.series.map((s) => metricName(metricHere(view, s.cell))))];
    const xAxis = axisOf(theme, i, x, { log: view.log, format: sizeTick, title: 'payload', gap: 28 });
    const yAxis = axisOf(theme, i, y, { log: view.log, title: `median of a trial, ${metrics.join(' or ')}`, gap: 56 });
    entries.push(...panel.series.map((s) => ({ name: seriesName(view, s.cell), style: styleOf(view, s.cell, theme) })));
    return { xAxis, yAxis, series };
  });
  return compose(theme, at, {
    ...parts,
    summary: summary(view),
    legend: legendOf(theme, entries),
    tooltip: { formatter: tooltip(view, theme, d) },
  });
}

function table(view) {
  const columns = [
    { name: 'run' },
    { name: 'stack' },
    { name: 'conditions' },
    { name: 'payload', unit: 'bytes' },
    { name: 'metric' },
    { name: 'trial' },
    { name: 'counted' },
    { name: 'median', unit: 'ns' },
    { name: 'fit', unit: 'ns' },
    { name: 'S', unit: 'ms/MB' },
    { name: 'S lo', unit: 'ms/MB' },
    { name: 'S hi', unit: 'ms/MB' },
  ];
  const rows = [];
  for (const s of drawn(view).panels.flatMap((p) => p.series)) {
    const fit = s.fit.s_ms_per_mb;
    for (const { cell, trial, ns } of s.trials) {
      const bytes = cell.e.payload_bytes;
      const figures = fit
        ? [s.fit.intercept_ns + fit.value * bytes, fit.value, fit.lo ?? -Infinity, fit.hi ?? Infinity]
        : [null, null, null, null];
      rows.push([
        runName(view, cell),
        cell.e.stack,
        allConditions(cell),
        bytes,
        metricHere(view, cell),
        trial.number,
        trial.counted === false || ns === null ? 'no' : 'yes',
        exported(ns),
        ...figures.map(exported),
      ]);
    }
  }
  return { columns, rows };
}

function summary(view) {
  const all = drawn(view).panels.flatMap((p) => p.series);
  if (all.length === 0) return 'Growing sizes: no such experiment is selected.';
  const sorted = all
    .filter((s) => s.fit.s_ms_per_mb && !isYardstick(s.cell))
    .sort((a, b) => a.fit.s_ms_per_mb.value - b.fit.s_ms_per_mb.value);
  if (sorted.length === 0) return `Growing sizes of ${plural(all.length, 'series')}, through none of which a line fits.`;
  const text = sorted.slice(0, 6).map((s) => `${short(seriesName(view, s.cell), 40)} ${fitText(s.fit)}`);
  const rest = sorted.length > 6 ? [`and ${sorted.length - 6} more`] : [];
  return `Scaling factor S of ${plural(all.length, 'series')}, the best first: ${[...text, ...rest].join('; ')}.`;
}

export const growing = plotOf({
  id: 'growing',
  title: 'Growing sizes',
  question: 'How does the time grow with the size of messages?',
  kinds: { log: true, response: true },
  drawn,
  placeOf,
  option,
  table,
  summary,
});

// A quantile of latency against payload size, with its interval, and the line that Dyno fitted through the
// median service times: its slope is the scaling factor S.

import { QUANTILES, payload } from '../format.js';
import {
  allConditions,
  fill,
  isYardstick,
  lack,
  metricOf,
  openedBy,
  place,
  plotOf,
  publishedOf,
  quantileOf,
  runName,
  seriesName,
  sourceText,
  styleOf,
} from './common.js';
import {
  UP,
  axisOf,
  compose,
  endLabels,
  exported,
  failedSeries,
  layout,
  legendOf,
  markLabel,
  nothing,
  onPanel,
  partsOf,
  publishedSeries,
  scaleOf,
  thinLine,
  whiskers,
} from './chart.js';
import { fitLine, fitText, sizePanels, sizeSeries, sizeTicks } from './sizes.js';
import { plural, short, sizeTick } from './text.js';
import { cellTip, publishedTip } from './tip.js';
import { metricName } from '../tables.js';

const LEAST = 2;

const quantileName = (view) => view.quantile ?? 'p50';
const figure = (view, cell) => quantileOf(metricOf(view, cell).figures, quantileName(view));

function drawn(view) {
  const able = sizeSeries(view, LEAST).filter((s) => s.cells.filter((c) => figure(view, c).value !== null).length >= LEAST);
  const largest = (s) => figure(view, s.cells[s.cells.length - 1]).value;
  const d = sizePanels(able, largest, LEAST);
  const fits = able.some((s) => s.fit?.s_ms_per_mb);
  const service = able.every((s) => s.cells.every((c) => metricOf(view, c).metric === 'service_ns'));
  if (fits) {
    d.notes.push(
      `Thin lines are the fits with the scaling factor S${service ? '' : '; they go through median service times, whatever is shown'}.`,
    );
  }
  return d;
}

function placeOf(theme, d) {
  const one = d.panels.length === 1;
  return layout(theme, d.panels.length, {
    height: one ? 340 : 240,
    minWidth: 430,
    caption: d.shared,
    notes: d.notes,
    right: one ? 210 : 30,
  });
}

/** Figures of others of the quantile that is shown; an average, marked as one, where that is the median. */
function standsBeside(other, view) {
  const shown = quantileName(view);
  return other.quantile === shown || (other.quantile === 'mean' && shown === 'p50');
}

function panelOf(view, theme, panel, i, box, labelled) {
  const series = [];
  const dots = panel.series.flatMap((s) => s.cells.map((cell) => ({ s, cell, ...figure(view, cell) })));
  const others = dots.flatMap((p) =>
    publishedOf(view, p.cell, metricOf(view, p.cell).metric)
      .filter((o) => standsBeside(o, view))
      .map((o) => ({ ...o, cell: p.cell })),
  );
  const values = dots.flatMap((p) => [p.value, p.lo, p.hi]).concat(others.map((o) => o.value_ns));
  const sizes = dots.map((p) => p.cell.e.payload_bytes);
  const y = scaleOf(values.filter((v) => v !== null), { log: view.log, headroom: dots.some((p) => p.state === 'lost') });
  const x = scaleOf(sizes, { log: view.log });
  panel.series.forEach((s, k) => {
    const style = styleOf(view, s.cell, theme);
    const points = dots.filter((p) => p.s === s);
    const lost = points.filter((p) => p.state === 'lost');
    const known = points.filter((p) => p.state === 'known');
    const dodge = dodgeOf(k, panel.series.length);
    series.push({
      id: `size:${i}:${k}`,
      name: seriesName(view, s.cell),
      type: 'line',
      ...onPanel(i),
      data: known.map((p) => ({ value: [p.cell.e.payload_bytes, p.value], open: place(p.cell), fit: fitText(s.fit) })),
      symbol: style.symbol,
      symbolSize: 8,
      symbolOffset: [dodge, 0],
      itemStyle: fill(style),
      lineStyle: { color: style.color, type: style.dash, width: 2 },
      emphasis: { focus: 'series', blurScope: 'coordinateSystem' },
      clip: false,
      z: 3,
    });
    series.push(
      whiskers({
        id: `size:${i}:${k}:interval`,
        name: seriesName(view, s.cell),
        panel: i,
        points: known.map((p) => ({ x: p.cell.e.payload_bytes, lo: Math.max(p.lo, y.min), hi: p.hi })),
        color: style.color,
        top: y.max,
        dodge: () => dodge,
      }),
    );
    const line = fitLine(s.fit, Math.min(...points.map((p) => p.cell.e.payload_bytes)), Math.max(...points.map((p) => p.cell.e.payload_bytes)), view.log);
    if (line.length > 0) {
      const data = line.filter(([, ns]) => ns >= y.min && ns <= y.max);
      const lineStyle = { color: style.color, type: 'solid', width: 1, opacity: 0.6 };
      series.push(thinLine(i, style, { id: `size:${i}:${k}:fit`, name: seriesName(view, s.cell), data, lineStyle }));
    }
    if (lost.length > 0) series.push(lostSeries(view, theme, s, i, k, lost, y, style));
  });
  const missing = panel.series.flatMap((s) => s.cells).filter((c) => lack(c, view.metricOf(c)));
  if (missing.length > 0) {
    const at = (n) => ({ symbolOffset: [(n % 5) * 3 - 6, -7] });
    const crosses = missing.map((c, n) => ({ value: [c.e.payload_bytes, y.min], ...at(n), open: place(c) }));
    series.push(failedSeries(theme, i, crosses));
  }
  if (others.length > 0) {
    const marks = others.map((o) => {
      const style = styleOf(view, o.cell, theme);
      const look = { symbol: style.symbol, itemStyle: fill(style, true) };
      return { value: [o.cell.e.payload_bytes, o.value_ns], ...look, open: place(o.cell), other: o };
    });
    series.push(publishedSeries(theme, i, marks));
  }
  if (labelled) series.push(names(view, theme, panel, i, box, dots, y));
  return { series, x: { ...x, ticks: sizeTicks(sizes, x, view.log) }, y };
}

/** px by which a series stands aside, so that intervals of several stay apart. */
const dodgeOf = (k, count) => (count > 1 ? (k - (count - 1) / 2) * Math.min(3, 12 / count) : 0);

/** The name of each series at its last point, with its S. */
function names(view, theme, panel, i, box, dots, y) {
  const entries = panel.series.flatMap((s) => {
    const last = dots.filter((p) => p.s === s && p.value !== null).pop();
    if (!last) return [];
    const fit = s.fit?.s_ms_per_mb ? `, S ${fitText(s.fit).split(' ')[0]} ms/MB` : '';
    const text = `${short(seriesName(view, s.cell), fit ? 14 : 28)}${fit}`;
    return [{ text, x: last.cell.e.payload_bytes, y: last.value, color: styleOf(view, s.cell, theme).color }];
  });
  return endLabels({ id: `names:${i}`, panel: i, box, scale: y, log: view.log, entries, theme });
}

function lostSeries(view, theme, s, i, k, lost, y, style) {
  return {
    id: `size:${i}:${k}:lost`,
    name: seriesName(view, s.cell),
    type: 'scatter',
    ...onPanel(i),
    symbol: UP,
    symbolSize: 11,
    itemStyle: { color: style.color },
    data: lost.map((p, n) => ({
      value: [p.cell.e.payload_bytes, y.max],
      open: place(p.cell),
      fit: fitText(s.fit),
      label: n === lost.length - 1 ? markLabel(theme, 'lost') : undefined,
    })),
    clip: false,
    z: 4,
  };
}

function tooltip(view, theme) {
  return ({ data }) => {
    const cell = openedBy(view, data);
    if (!cell) return '';
    if (data.other) return publishedTip(view, data.other, seriesName(view, cell));
    return cellTip(view, cell, theme, {
      first: [['payload', payload(cell.e.payload_bytes)]],
      notes: [data.fit && data.fit !== '–' ? `S ${data.fit}` : null],
    });
  };
}

function option(view, theme) {
  const d = drawn(view);
  if (d.panels.length === 0) return nothing(theme, d.notes[0]);
  const at = placeOf(theme, d);
  const labelled = d.panels.length === 1 && at.width >= 620;
  const entries = [];
  const parts = partsOf(theme, d, at, (panel, i, box) => {
    const { series, x, y } = panelOf(view, theme, panel, i, box, labelled);
    const metrics = [...new Set(panel.series.map((s) => metricName(metricOf(view, s.cell).metric)))];
    const xAxis = axisOf(theme, i, x, { log: view.log, format: sizeTick, title: 'payload', gap: 28 });
    const title = `${QUANTILES[quantileName(view)]}, ${metrics.join(' or ')}`;
    const yAxis = axisOf(theme, i, y, { log: view.log, title, gap: 56 });
    entries.push(
      ...panel.series.map((s) => ({ name: seriesName(view, s.cell), style: styleOf(view, s.cell, theme), line: true })),
      ...series.filter((s) => /^(failed|published)/.test(s.id)).map((s) => ({ name: s.name, line: true })),
    );
    return { xAxis, yAxis, series };
  });
  return compose(theme, at, {
    ...parts,
    summary: summary(view),
    legend: legendOf(theme, entries),
    tooltip: { formatter: tooltip(view, theme) },
  });
}

function table(view) {
  const columns = [
    { name: 'run' },
    { name: 'stack' },
    { name: 'conditions' },
    { name: 'payload', unit: 'bytes' },
    { name: 'metric' },
    { name: quantileName(view), unit: 'ns' },
    { name: 'lo', unit: 'ns' },
    { name: 'hi', unit: 'ns' },
    { name: 'samples' },
    { name: 'trials' },
    { name: 'S', unit: 'ms/MB' },
    { name: 'S lo', unit: 'ms/MB' },
    { name: 'S hi', unit: 'ms/MB' },
    { name: 'S at no payload', unit: 'ns' },
    { name: 'published', unit: 'ns' },
    { name: 'source' },
    { name: 'remark' },
  ];
  const rows = [];
  for (const s of drawn(view).panels.flatMap((p) => p.series)) {
    const fit = s.fit?.s_ms_per_mb;
    for (const cell of s.cells) {
      const { metric, figures } = metricOf(view, cell);
      const q = figure(view, cell);
      const other = publishedOf(view, cell, metric).find((o) => standsBeside(o, view));
      const why = lack(cell, metric);
      rows.push([
        runName(view, cell),
        cell.e.stack,
        allConditions(cell),
        cell.e.payload_bytes,
        metric,
        exported(q.value),
        exported(q.lo),
        exported(q.hi),
        figures ? figures.n + figures.infinite : 0,
        cell.e.trials,
        ...(fit ? [fit.value, fit.lo ?? -Infinity, fit.hi ?? Infinity, s.fit.intercept_ns].map(exported) : [null, null, null, null]),
        other?.value_ns ?? null,
        other ? `${other.quantile === 'mean' ? 'mean; ' : ''}${sourceText(other.source)}` : null,
        why?.text ?? (q.state === 'refused' ? q.text : (s.fit?.reason ?? null)),
      ]);
    }
  }
  return { columns, rows };
}

function summary(view) {
  const { panels } = drawn(view);
  const all = panels.flatMap((p) => p.series);
  if (all.length === 0) return 'Latency against payload size: fewer than two sizes are selected.';
  const fitted = all.filter((s) => s.fit?.s_ms_per_mb && !isYardstick(s.cell));
  const best = fitted.sort((a, b) => a.fit.s_ms_per_mb.value - b.fit.s_ms_per_mb.value)[0];
  const scaling = best ? ` ${seriesName(view, best.cell)} scales best: S ${fitText(best.fit)}.` : '';
  return `Latency against payload size of ${plural(all.length, 'series')} in ${plural(panels.length, 'panel')}.${scaling}`;
}

export const size = plotOf({
  id: 'size',
  title: 'Latency against payload size',
  question: 'What does a larger message cost?',
  kinds: { log: true, response: true },
  drawn,
  placeOf,
  option,
  table,
  summary,
});

// A quantile of latency against payload size, with its interval, and the line that Dyno fitted through the
// median service times: its slope is the scaling factor S.

import { QUANTILES, payload } from '../format.js';
import {
  entryOf,
  fill,
  isYardstick,
  lack,
  metricOf,
  metricTitle,
  place,
  publishedOf,
  quantileOf,
  samplesOf,
  seriesName,
  sourceText,
  styleOf,
} from './common.js';
import {
  UP,
  asideOf,
  axisOf,
  curve,
  dots,
  endLabels,
  failedSeries,
  markLabel,
  publishedSeries,
  scaleOf,
  thinLine,
  whiskers,
  widthOf,
} from './chart.js';
import { cellColumns, column, plotOf, rounded } from './plot.js';
import { fitLine, fitText, noSizes, sizePanels, sizeSeries, sizeTicks, slopeColumns } from './scaling.js';
import { plural, short, sizeTick } from './text.js';
import { cellTip, publishedTip } from './tip.js';

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
      `Thin lines are the fits with the scaling factor S${service ? '' : '; they use median service times, even if another metric is shown'}.`,
    );
  }
  return d;
}

function room(d) {
  const one = d.panels.length === 1;
  return { height: one ? 340 : 240, minWidth: 430, right: one ? 210 : 30 };
}

/** Figures of others of the quantile that is shown; an average, marked as one, where that is the median. */
function standsBeside(other, view) {
  const shown = quantileName(view);
  return other.quantile === shown || (other.quantile === 'mean' && shown === 'p50');
}

function panelOf(view, theme, panel, i, box, d) {
  const series = [];
  const figures = panel.series.flatMap((s) => s.cells.map((cell) => ({ s, cell, ...figure(view, cell) })));
  const others = figures.flatMap((p) =>
    publishedOf(view, p.cell, metricOf(view, p.cell).metric)
      .filter((o) => standsBeside(o, view))
      .map((o) => ({ ...o, cell: p.cell })),
  );
  const values = figures.flatMap((p) => [p.value, p.lo, p.hi]).concat(others.map((o) => o.value_ns));
  const sizes = figures.map((p) => p.cell.e.payload_bytes);
  const y = scaleOf(values.filter((v) => v !== null), { log: view.log, headroom: figures.some((p) => p.state === 'lost') });
  const x = scaleOf(sizes, { log: view.log });
  panel.series.forEach((s, k) => {
    const style = styleOf(view, s.cell, theme);
    const points = figures.filter((p) => p.s === s);
    const lost = points.filter((p) => p.state === 'lost');
    const known = points.filter((p) => p.state === 'known');
    // Intervals of several stay apart.
    const dodge = asideOf(k, panel.series.length, 3, 12);
    series.push(
      curve(i, style, {
        id: `size:${i}:${k}`,
        name: seriesName(view, s.cell),
        symbolSize: 8,
        symbolOffset: [dodge, 0],
        data: known.map((p) => ({ value: [p.cell.e.payload_bytes, p.value], open: place(p.cell), fit: fitText(s.fit) })),
      }),
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
    const own = points.map((p) => p.cell.e.payload_bytes);
    const line = fitLine(s.fit, Math.min(...own), Math.max(...own), view.log);
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
  if (d.panels.length === 1 && widthOf(theme) >= 620) series.push(names(view, theme, panel, i, box, figures, y));
  const ticks = sizeTicks(sizes, x, view.log);
  const title = `${QUANTILES[quantileName(view)]}, ${metricTitle(view, panel.series.map((s) => s.cell))}`;
  return {
    xAxis: axisOf(theme, i, { ...x, ticks }, { log: view.log, format: sizeTick, title: 'payload', gap: 28 }),
    yAxis: axisOf(theme, i, y, { log: view.log, title, gap: 56 }),
    series,
  };
}

/** The name of each series at its last point, with its S. */
function names(view, theme, panel, i, box, figures, y) {
  const entries = panel.series.flatMap((s) => {
    const last = figures.filter((p) => p.s === s && p.value !== null).pop();
    if (!last) return [];
    const fit = s.fit?.s_ms_per_mb ? `, S ${fitText(s.fit).split(' ')[0]} ms/MB` : '';
    const text = `${short(seriesName(view, s.cell), fit ? 14 : 28)}${fit}`;
    return [{ text, x: last.cell.e.payload_bytes, y: last.value, color: styleOf(view, s.cell, theme).color }];
  });
  return endLabels({ id: `names:${i}`, panel: i, box, scale: y, log: view.log, entries, theme });
}

function lostSeries(view, theme, s, i, k, lost, y, style) {
  return dots(i, style, {
    id: `size:${i}:${k}:lost`,
    name: seriesName(view, s.cell),
    symbol: UP,
    symbolSize: 11,
    itemStyle: { color: style.color },
    data: lost.map((p, n) => ({
      value: [p.cell.e.payload_bytes, y.max],
      open: place(p.cell),
      fit: fitText(s.fit),
      label: n === lost.length - 1 ? markLabel(theme, 'lost') : undefined,
    })),
    z: 4,
  });
}

function hover(view, theme, d, { cell, data }) {
  if (data.other) return publishedTip(view, data.other, seriesName(view, cell));
  return cellTip(view, cell, theme, {
    first: [['payload', payload(cell.e.payload_bytes)]],
    notes: [data.fit && data.fit !== '–' ? `S ${data.fit}` : null],
  });
}

const entries = (view, theme, d, series) =>
  d.panels.flatMap((panel, i) => [
    ...panel.series.map((s) => ({ ...entryOf(view, theme, s.cell), line: true })),
    ...series.filter((s) => [`failed:${i}`, `published:${i}`].includes(s.id)).map((s) => ({ name: s.name, line: true })),
  ]);

const columns = (view) => [
  ...cellColumns(view),
  column('payload', ({ cell }) => cell.e.payload_bytes, 'bytes'),
  column('metric', ({ metric }) => metric),
  rounded(quantileName(view), ({ q }) => q.value, 'ns'),
  rounded('lo', ({ q }) => q.lo, 'ns'),
  rounded('hi', ({ q }) => q.hi, 'ns'),
  column('samples', ({ n }) => n),
  column('trials', ({ cell }) => cell.e.trials),
  ...slopeColumns,
  rounded('S at zero payload', ({ fit }) => (fit?.s_ms_per_mb ? fit.intercept_ns : null), 'ns'),
  column('published', ({ other }) => other?.value_ns, 'ns'),
  column('source', ({ other }) => other && `${other.quantile === 'mean' ? 'mean; ' : ''}${sourceText(other.source)}`),
  column('remark', ({ cell, metric, q, fit }) => lack(cell, metric)?.text ?? (q.state === 'refused' ? q.text : fit?.reason)),
];

const rows = (d, view) =>
  d.panels
    .flatMap((p) => p.series)
    .flatMap(({ cells, fit }) =>
      cells.map((cell) => {
        const { metric, figures } = metricOf(view, cell);
        const other = publishedOf(view, cell, metric).find((o) => standsBeside(o, view));
        return { cell, fit, metric, n: samplesOf(figures), q: figure(view, cell), other };
      }),
    );

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
  question: 'How does the latency change with the payload size?',
  kinds: { log: true, response: true },
  empty: noSizes(LEAST),
  drawn,
  room,
  panelOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

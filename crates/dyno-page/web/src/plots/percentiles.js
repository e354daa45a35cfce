// Latency against percentile, the tail stretched: each nine takes as much room as the one before.

import { duration, share } from '../format.js';
import {
  MAX_SERIES,
  lostShare,
  metricOf,
  place,
  plotOf,
  quantileOf,
  seriesId,
  seriesName,
  styleOf,
} from './common.js';
import {
  UP,
  axisOf,
  compose,
  endLabels,
  layout,
  legendOf,
  markLabel,
  nothing,
  onPanel,
  partsOf,
  publishedSeries,
  scaleOf,
} from './chart.js';
import {
  curveSeries,
  curveSummary,
  curveTable,
  drawn,
  nines,
  pointsOf,
  publishedMark,
  publishedPoints,
  rankText,
  trialCurves,
} from './distribution.js';
import { rankName, short, timeTick } from './text.js';
import { cellTip, samplesText, tip } from './tip.js';

/** Ranks that have a tick, and ranks that have a symbol. */
const TICKS = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const marked = (q) => TICKS.some((t) => Math.abs(t - q) < 1e-9) || q === 1;

function placeOf(theme, d) {
  return layout(theme, d.panels.length, {
    height: d.panels.length > 1 ? 230 : 340,
    minWidth: 430,
    caption: d.shared,
    notes: d.notes,
    right: d.panels.length > 1 ? 28 : 172,
  });
}

/** The series of one panel, and what its scales must hold. */
function panelOf(view, theme, panel, i, box, labelled) {
  const curves = panel.cells.map((cell) => ({ cell, ...pointsOf(view, cell) }));
  const trials = panel.cells.flatMap((cell) => trialCurves(view, cell).map((t) => ({ cell, ...t })));
  const others = panel.cells.flatMap((cell) => publishedPoints(view, cell).map((p) => ({ cell, ...p })));
  const values = [...curves, ...trials].flatMap((c) => c.points.map((p) => p.ns)).concat(others.map((p) => p.value_ns));
  const anyLost = curves.some((c) => c.lost !== null);
  const y = scaleOf(values, { log: view.log, headroom: anyLost });
  const far = Math.max(1, ...[...curves, ...trials].flatMap((c) => c.points.map((p) => p.x)));
  const series = trials.map((t) => trialLine(t, i, theme, view));
  for (const { cell, points, lost } of curves) {
    const style = styleOf(view, cell, theme);
    const data = points.map(({ q, x, ns }) => ({
      value: [x, ns],
      q,
      open: place(cell),
      symbol: marked(q) ? style.symbol : 'none',
    }));
    if (lost !== null) {
      const { figures } = metricOf(view, cell);
      data.push({
        value: [nines(Math.min(lost, 1 - 1e-9)), y.max],
        q: lost,
        lost: true,
        open: place(cell),
        symbol: UP,
        symbolSize: 11,
        label: labelled ? undefined : markLabel(theme, `lost ${share(lostShare(figures))}`, 'right'),
      });
    }
    series.push(curveSeries(view, theme, cell, i, data));
  }
  if (others.length > 0) {
    const marks = others.map((p) => publishedMark(view, theme, p, [nines(p.q), p.value_ns]));
    series.push(publishedSeries(theme, i, marks));
  }
  if (labelled) {
    const entries = curves.map(({ cell, points, lost }) => {
      const last = points[points.length - 1];
      const { color } = styleOf(view, cell, theme);
      if (lost === null) return { text: short(seriesName(view, cell), 22), x: last.x, y: last.ns, color };
      const text = `${short(seriesName(view, cell), 11)}, lost ${share(lostShare(metricOf(view, cell).figures))}`;
      return { text, x: nines(Math.min(lost, 1 - 1e-9)), y: y.max, color };
    });
    series.push(endLabels({ id: `names:${i}`, panel: i, box, scale: y, log: view.log, entries, theme }));
  }
  return { series, y, far };
}

function trialLine({ cell, trial, points }, i, theme, view) {
  const style = styleOf(view, cell, theme);
  const kept = trial.counted !== false;
  return {
    id: seriesId(cell, i, `trial ${trial.number}`),
    name: kept ? 'single trials' : 'disturbed trials',
    type: 'line',
    ...onPanel(i),
    data: points.map(({ q, x, ns }) => ({ value: [x, ns], q, trial: trial.number, open: place(cell) })),
    showSymbol: false,
    symbol: 'none',
    lineStyle: { color: kept ? style.color : theme.muted, width: 1, opacity: 0.55, type: kept ? 'solid' : [2, 3] },
    itemStyle: { color: kept ? style.color : theme.muted },
    z: 2,
  };
}

/** One row for each series at the rank under the pointer. */
function tooltip(view, theme, byId) {
  return (params) => {
    const list = Array.isArray(params) ? params : [params];
    const rows = [];
    const notes = [];
    const alone = list.length === 1 ? byId.get(list[0].seriesId) : null;
    const q = list.find((p) => p?.data)?.data.q;
    if (alone && list[0].data) {
      const { data } = list[0];
      const { figures } = metricOf(view, alone);
      const value = data.lost ? `∞ from rank ${rankName(data.q)} on` : duration(data.value[1]);
      return cellTip(view, alone, theme, { first: [[data.lost ? 'lost' : rankText(data.q, figures), value]] });
    }
    for (const p of list) {
      if (!p?.data) continue;
      const cell = byId.get(p.seriesId);
      const value = p.data.lost ? '∞ (lost)' : duration(p.data.value[1]);
      if (!cell) {
        if (p.data.said) notes.push(p.data.said, ...p.data.notes);
        else rows.push([`trial ${p.data.trial}`, value, null, p.data.value[1]]);
        continue;
      }
      const { figures } = metricOf(view, cell);
      const known = quantileOf(figures, { 0.5: 'p50', 0.9: 'p90', 0.99: 'p99', 0.999: 'p999' }[p.data.q]);
      const shown = known.state === 'known' ? known.text : value;
      const text = `${shown} · n ${samplesText(figures)} · ${cell.e.trials} trials`;
      rows.push([seriesName(view, cell), text, styleOf(view, cell, theme), p.data.lost ? Infinity : p.data.value[1]]);
    }
    rows.sort((a, b) => a[3] - b[3]);
    return tip({
      title: q === undefined ? '' : q >= 1 ? 'Largest sample' : `At ${rankName(q)}`,
      rows: rows.slice(0, MAX_SERIES + 2),
      notes,
    });
  };
}

function option(view, theme) {
  const d = drawn(view);
  if (d.panels.length === 0) return nothing(theme, 'Nothing is selected that has samples.');
  const at = placeOf(theme, d);
  const labelled = d.panels.length === 1 && at.width >= 620;
  const byId = new Map();
  const parts = partsOf(theme, d, at, (panel, i, box) => {
    const { series, y, far } = panelOf(view, theme, panel, i, box, labelled);
    for (const cell of panel.cells) byId.set(seriesId(cell, i, 'curve'), cell);
    const ticks = TICKS.map(nines).filter((x) => x <= far * 1.02);
    const format = (x) => rankName(TICKS[nearest(x)]);
    const xAxis = axisOf(theme, i, { min: 0, max: far * 1.02, ticks }, { log: false, format, title: 'percentile', gap: 28 });
    const yAxis = axisOf(theme, i, y, { log: view.log, title: panel.metric, gap: 56 });
    return { xAxis, yAxis, series };
  });
  const entries = d.panels.flatMap((p) =>
    p.cells.map((c) => ({ name: seriesName(view, c), style: styleOf(view, c, theme), line: true })),
  );
  for (const s of parts.series) if (/^published|:trial/.test(s.id)) entries.push({ name: s.name, line: true });
  return compose(theme, at, {
    ...parts,
    summary: summary(view),
    legend: legendOf(theme, entries),
    tooltip: {
      trigger: 'axis',
      axisPointer: { type: 'line', axis: 'x', lineStyle: { color: theme.muted } },
      formatter: tooltip(view, theme, byId),
    },
  });
}

const nearest = (x) => TICKS.reduce((best, q, i) => (Math.abs(nines(q) - x) < Math.abs(nines(TICKS[best]) - x) ? i : best), 0);

const summary = (view) => curveSummary(view, 'Latency by percentile');

export const percentiles = plotOf({
  id: 'percentiles',
  title: 'Percentiles',
  question: 'How long is the tail? Each step to the right is ten times as rare.',
  kinds: { log: true, response: true },
  drawn,
  placeOf,
  option,
  table: curveTable,
  summary,
});

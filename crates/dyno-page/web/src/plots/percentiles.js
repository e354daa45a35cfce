// Latency against percentile, the tail stretched: each nine takes as much room as the one before.

import { duration, share } from '../format.js';
import { MAX_SERIES, entryOf, lostShare, metricOf, place, quantileOf, seriesId, seriesName, styleOf } from './common.js';
import { UP, axisOf, endLabels, markLabel, onPanel, publishedSeries, scaleOf } from './chart.js';
import {
  besideRank,
  curvePlot,
  curveSeries,
  nines,
  pointsOf,
  publishedMark,
  publishedPoints,
  rankText,
  trialCurves,
} from './distribution.js';
import { rankName, short } from './text.js';
import { cellTip, tip } from './tip.js';

/** Ranks that have a tick, and ranks that have a symbol. */
const TICKS = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
const marked = (q) => TICKS.some((t) => Math.abs(t - q) < 1e-9) || q === 1;

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
  const ticks = TICKS.map(nines).filter((x) => x <= far * 1.02);
  const format = (x) => rankName(TICKS[nearest(x)]);
  return {
    xAxis: axisOf(theme, i, { min: 0, max: far * 1.02, ticks }, { log: false, format, title: 'percentile', gap: 28 }),
    yAxis: axisOf(theme, i, y, { log: view.log, title: panel.metric, gap: 56 }),
    series,
  };
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
      const text = besideRank(view, cell, shown);
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

function entries(view, theme, d, series) {
  const stacks = d.panels.flatMap((p) => p.cells.map((c) => ({ ...entryOf(view, theme, c), line: true })));
  const others = series.filter((s) => /^published|:trial/.test(s.id));
  return [...stacks, ...others.map((s) => ({ name: s.name, line: true }))];
}

const nearest = (x) => TICKS.reduce((best, q, i) => (Math.abs(nines(q) - x) < Math.abs(nines(TICKS[best]) - x) ? i : best), 0);

export const percentiles = curvePlot({
  id: 'percentiles',
  title: 'Percentiles',
  question: 'How long is the tail? Each step to the right is ten times rarer.',
  tall: 340,
  flat: 230,
  axis: 'x',
  one: panelOf,
  entries,
  said: tooltip,
  what: 'Latency by percentile',
});

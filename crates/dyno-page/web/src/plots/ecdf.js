// The share of messages that arrived within a time. A curve that ends below 100 % lost the rest.

import { duration, share } from '../format.js';
import { lostShare, metricOf, place, seriesName, styleOf } from './common.js';
import { axisOf, endLabels, markLabel, publishedSeries, scaleOf } from './chart.js';
import { besideRank, curvePlot, curveSeries, pointsOf, publishedMark, publishedPoints } from './distribution.js';
import { rankName, shareTick, short } from './text.js';
import { cellTip, tip } from './tip.js';

/** Ranks that have a symbol. */
const MARKED = [0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
const marked = (q) => MARKED.some((t) => Math.abs(t - q) < 1e-9);

function panelOf(view, theme, panel, i, box, labelled) {
  const curves = panel.cells.map((cell) => ({ cell, ...pointsOf(view, cell) }));
  const others = panel.cells.flatMap((cell) => publishedPoints(view, cell).map((p) => ({ cell, ...p })));
  const values = curves.flatMap((c) => c.points.map((p) => p.ns)).concat(others.map((p) => p.value_ns));
  const x = scaleOf(values, { log: view.log, zero: false });
  const series = curves.map(({ cell, points, lost }) => {
    const style = styleOf(view, cell, theme);
    const data = points.map(({ q, ns }) => ({
      value: [view.log ? Math.max(ns, 1) : ns, q],
      symbol: marked(q) ? style.symbol : 'none',
      open: place(cell),
    }));
    const last = data[data.length - 1];
    if (last && lost !== null) {
      last.symbol = style.symbol;
      if (!labelled) last.label = markLabel(theme, `${share(lostShare(metricOf(view, cell).figures))} lost`);
    }
    return curveSeries(view, theme, cell, i, data);
  });
  if (others.length > 0) {
    const marks = others.map((p) => publishedMark(view, theme, p, [p.value_ns, p.q]));
    series.push(publishedSeries(theme, i, marks));
  }
  if (labelled) {
    const entries = curves
      .filter((c) => c.points.length > 0)
      .map(({ cell, points, lost }) => {
        const last = points[points.length - 1];
        const { color } = styleOf(view, cell, theme);
        const gone = lost === null ? '' : `, ${share(lostShare(metricOf(view, cell).figures))} lost`;
        const text = `${short(seriesName(view, cell), gone ? 11 : 22)}${gone}`;
        return { text, x: view.log ? Math.max(last.ns, 1) : last.ns, y: last.q, color };
      });
    series.push(endLabels({ id: `names:${i}`, panel: i, box, scale: { min: 0, max: 1 }, log: false, entries, theme }));
  }
  const shares = { min: 0, max: 1, ticks: [0, 0.25, 0.5, 0.75, 1] };
  return {
    xAxis: axisOf(theme, i, x, { log: view.log, title: panel.metric, gap: 28 }),
    yAxis: axisOf(theme, i, shares, { log: false, format: shareTick, title: 'arrived', gap: 50 }),
    series,
  };
}

function tooltip(view, theme, byId) {
  return (params) => {
    const list = (Array.isArray(params) ? params : [params]).filter((p) => p?.data);
    if (list.length === 0) return '';
    const q = list[0].data.value[1];
    const cells = list.map((p) => byId.get(p.seriesId)).filter(Boolean);
    if (cells.length === 1 && list.length === 1) {
      const within = `${rankName(q)} arrived within`;
      return cellTip(view, cells[0], theme, { first: [[within, duration(list[0].data.value[0])]] });
    }
    const rows = [];
    const notes = [];
    for (const { seriesId: id, data } of [...list].sort((a, b) => a.data.value[0] - b.data.value[0])) {
      const cell = byId.get(id);
      if (cell) {
        rows.push([seriesName(view, cell), besideRank(view, cell, duration(data.value[0])), styleOf(view, cell, theme)]);
      } else {
        notes.push(data.said, ...data.notes);
      }
    }
    return tip({ title: `${rankName(q)} arrived within`, rows, notes });
  };
}

export const ecdf = curvePlot({
  id: 'ecdf',
  title: 'Distribution',
  question: 'Which share of messages arrives within a given time?',
  tall: 320,
  flat: 220,
  // Curves share ranks, not times.
  axis: 'y',
  one: panelOf,
  entries: (view, theme, d, series) =>
    series.filter((s) => !s.id.startsWith('names')).map((s) => ({ name: s.name, line: true })),
  said: tooltip,
  what: 'Share of messages that arrived within a time',
});

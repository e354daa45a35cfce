// The share of messages that arrived within a time. A curve that ends below 100 % lost the rest.

import { duration, share } from '../format.js';
import { lostShare, metricOf, place, plotOf, seriesId, seriesName, styleOf } from './common.js';
import {
  axisOf,
  compose,
  endLabels,
  layout,
  legendOf,
  markLabel,
  nothing,
  partsOf,
  publishedSeries,
  scaleOf,
} from './chart.js';
import {
  curveSeries,
  curveSummary,
  curveTable,
  drawn,
  pointsOf,
  publishedMark,
  publishedPoints,
} from './distribution.js';
import { rankName, shareTick, short } from './text.js';
import { cellTip, samplesText, tip } from './tip.js';

/** Ranks that have a symbol. */
const MARKED = [0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
const marked = (q) => MARKED.some((t) => Math.abs(t - q) < 1e-9);

function placeOf(theme, d) {
  const one = d.panels.length === 1;
  return layout(theme, d.panels.length, {
    height: one ? 320 : 220,
    minWidth: 430,
    caption: d.shared,
    notes: d.notes,
    right: one ? 172 : 28,
  });
}

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
  return { series, x };
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
        const { figures } = metricOf(view, cell);
        const text = `${duration(data.value[0])} · n ${samplesText(figures)} · ${cell.e.trials} trials`;
        rows.push([seriesName(view, cell), text, styleOf(view, cell, theme)]);
      } else {
        notes.push(data.said, ...data.notes);
      }
    }
    return tip({ title: `${rankName(q)} arrived within`, rows, notes });
  };
}

function option(view, theme) {
  const d = drawn(view);
  if (d.panels.length === 0) return nothing(theme, 'Nothing is selected that has samples.');
  const at = placeOf(theme, d);
  const labelled = d.panels.length === 1 && at.width >= 620;
  const byId = new Map();
  const shares = { min: 0, max: 1, ticks: [0, 0.25, 0.5, 0.75, 1] };
  const parts = partsOf(theme, d, at, (panel, i, box) => {
    const { series, x } = panelOf(view, theme, panel, i, box, labelled);
    for (const cell of panel.cells) byId.set(seriesId(cell, i, 'curve'), cell);
    const xAxis = axisOf(theme, i, x, { log: view.log, title: panel.metric, gap: 28 });
    const yAxis = axisOf(theme, i, shares, { log: false, format: shareTick, title: 'arrived', gap: 50 });
    return { xAxis, yAxis, series };
  });
  const named = parts.series.filter((s) => !s.id.startsWith('names'));
  const entries = named.map((s) => ({ name: s.name, line: true }));
  return compose(theme, at, {
    ...parts,
    summary: summary(view),
    legend: legendOf(theme, entries),
    tooltip: {
      trigger: 'axis',
      // Curves share ranks, not times.
      axisPointer: { type: 'line', axis: 'y', lineStyle: { color: theme.muted } },
      formatter: tooltip(view, theme, byId),
    },
  });
}

const summary = (view) => curveSummary(view, 'Share of messages that arrived within a time');

export const ecdf = plotOf({
  id: 'ecdf',
  title: 'Distribution',
  question: 'Which share of messages arrives within a given time?',
  kinds: { log: true, response: true },
  drawn,
  placeOf,
  option,
  table: curveTable,
  summary,
});

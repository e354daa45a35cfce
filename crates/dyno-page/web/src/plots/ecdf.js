// The share of messages that arrived within a time. A curve that ends below 100 % lost the rest.

import { duration, share } from '../format.js';
import {
  fill,
  lostShare,
  metricOf,
  pick,
  place,
  seriesId,
  seriesName,
  sourceText,
  styleOf,
} from './common.js';
import {
  axisOf,
  compose,
  endLabels,
  gridAt,
  layout,
  legendOf,
  markLabel,
  nothing,
  panelTitle,
  scaleOf,
} from './chart.js';
import { curveSummary, curveTable, drawn, pointsOf, publishedPoints } from './distribution.js';
import { rankName, shareTick, short } from './text.js';
import { cellTip, flawsOf, samplesText, tip } from './tip.js';

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
    return {
      id: seriesId(cell, i, 'curve'),
      name: seriesName(view, cell),
      type: 'line',
      xAxisIndex: i,
      yAxisIndex: i,
      data,
      symbol: style.symbol,
      symbolSize: 7,
      showSymbol: true,
      itemStyle: fill(style),
      lineStyle: { color: style.color, type: style.dash, width: 2 },
      emphasis: { focus: 'series', blurScope: 'coordinateSystem' },
      triggerEvent: 'line',
      clip: false,
      z: 3,
    };
  });
  if (others.length > 0) series.push(othersSeries(others, i, theme, view));
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

function othersSeries(others, i, theme, view) {
  return {
    id: `published:${i}`,
    name: 'published by others',
    type: 'scatter',
    xAxisIndex: i,
    yAxisIndex: i,
    z: 4,
    itemStyle: { color: 'transparent', borderColor: theme.text, borderWidth: 1.5 },
    data: others.map((p) => {
      const style = styleOf(view, p.cell, theme);
      return {
        value: [p.value_ns, p.q],
        symbol: style.symbol,
        symbolSize: 13,
        itemStyle: fill(style, true),
        open: place(p.cell),
        said: `${p.as ?? 'published'}, not measured by Dyno: ${p.text} (${sourceText(p.source)})`,
        notes: flawsOf(p),
      };
    }),
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
  const parts = { grid: [], xAxis: [], yAxis: [], series: [], titles: [] };
  const byId = new Map();
  const shares = { min: 0, max: 1, ticks: [0, 0.25, 0.5, 0.75, 1] };
  d.panels.forEach((panel, i) => {
    const box = at.boxes[i];
    const { series, x } = panelOf(view, theme, panel, i, box, labelled);
    for (const cell of panel.cells) byId.set(seriesId(cell, i, 'curve'), cell);
    parts.grid.push(gridAt(box));
    parts.xAxis.push(axisOf(theme, i, x, { log: view.log, title: panel.metric, gap: 28 }));
    parts.yAxis.push(
      axisOf(theme, i, shares, { log: false, format: shareTick, title: 'arrived', gap: 50 }),
    );
    parts.series.push(...series);
    parts.titles.push(panelTitle(theme, box, panel.title));
  });
  const named = parts.series.filter((s) => !s.id.startsWith('names'));
  const entries = named.map((s) => ({ name: s.name, line: true }));
  return compose(theme, at, {
    ...parts,
    caption: d.shared,
    notes: d.notes,
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

export const ecdf = {
  id: 'ecdf',
  title: 'Distribution',
  question: 'Which share of messages arrives within a given time?',
  kinds: { log: true, response: true },
  applies: (view) => drawn(view).panels.length > 0,
  height: (view, theme) => placeOf(theme, drawn(view)).total,
  option,
  table: curveTable,
  summary,
  notes: (view) => drawn(view).notes,
  pick,
};

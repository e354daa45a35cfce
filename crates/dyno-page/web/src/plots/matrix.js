// Heat map: a row for each stack, a column for each question, the colour by how many times as long as the
// best of the column (or as its floor) it takes. Every cell has its number; what failed has a cross. Each wait strategy has
// a matrix of its own, so that what polls never stands beside what sleeps.

import { QUANTILES, factors, ratioEstimate, sig3 } from '../format.js';
import {
  allConditions,
  distinctions,
  groupBy,
  isYardstick,
  lack,
  lostShare,
  meant,
  metricOf,
  place,
  quantileOf,
  questionKey,
  samplesOf,
  seriesName,
  withFloors,
  withoutWait,
} from './common.js';
import { categoryAxis, compose, gridAt, layout, lettering, nothing, onPanel, panelTitle, stroke, widthOf } from './chart.js';
import { column, pick, rounded, stackColumns, dataOf } from './plot.js';
import { brief, name, plural, short, textWidth } from './text.js';
import { cellTip } from './tip.js';
import { metricName } from '../tables.js';

const LEFT = 176;
const RIGHT = 14;
/** Least width of a column, in which `1.02` has room. */
const COLUMN = 34;
/** Names of columns: upright and broken where columns are this wide, else aslant. */
const UPRIGHT = 96;
const HEAD_UPRIGHT = 58;
const HEAD_LENGTH = 25;
/** Height of the names above columns, and of the title above these. */
const GROUP = 22;
const TITLE = 24;
const ROW = 24;
const MAX_BANDS = 8;

const quantileName = (view) => view.quantile ?? 'p50';
const valueOf = (view, cell) => quantileOf(metricOf(view, cell).figures, quantileName(view));

/** What ratios are of: the floor where the reader asks for it, else the best stack. */
const byFloor = (view) => view.ratio === 'floor';

/** What stands in a place of the matrix: `{ cell, ratio, text, value, note }`. */
function entryOf(view, cell, best) {
  const value = valueOf(view, cell);
  const why = lack(cell, metricOf(view, cell).metric);
  const entry = { cell, value, ratio: null };
  if (why) return { ...entry, text: why.failed ? '✕' : '·', note: why.text };
  if (value.state === 'lost') {
    const lost = lostShare(metricOf(view, cell).figures);
    return { ...entry, text: '∞', note: `lost: ${brief(100 * lost)} % of the messages never arrived` };
  }
  if (value.state !== 'known') return { ...entry, text: '?', note: value.text };
  if (byFloor(view)) {
    const ratio = floorRatio(view, cell);
    return ratio === null ? { ...entry, text: '–', note: 'there is no floor for this stack' } : { ...entry, ratio, text: tight(ratio) };
  }
  if (best === null) return { ...entry, text: '–', note: 'no stack of this question has a figure' };
  const ratio = value.value / best;
  return { ...entry, ratio, text: tight(ratio) };
}

const waitFactor = () => factors().find((f) => f.key === 'wait');
const waitOf = (column) => meant(column.items[0]).wait ?? '';

/** A ratio in four characters: 1.02, 3.4, 12, 345, 12k. */
function tight(ratio) {
  if (ratio < 0.01) return '<.01';
  if (ratio < 1.995) return ratio.toFixed(2);
  if (ratio < 9.95) return ratio.toFixed(1);
  if (ratio < 999.5) return ratio.toFixed(0);
  return ratio < 9950 ? `${(ratio / 1e3).toFixed(1)}k` : `${(ratio / 1e3).toFixed(0)}k`;
}

function floorRatio(view, cell) {
  if (isYardstick(cell)) return cell.e.is_floor ? 1 : null;
  const known = cell.e.floor?.p50_ratio;
  if (quantileName(view) === 'p50' && metricOf(view, cell).metric === cell.e.headline) return known?.value ?? null;
  const floor = view.cellOf?.(cell.run, cell.e.floor?.id);
  if (!floor || floor.e.id !== cell.e.floor.id) return null;
  const own = valueOf(view, cell).value;
  const base = quantileOf(floor.e.metrics?.[metricOf(view, cell).metric], quantileName(view)).value;
  return own > 0 && base > 0 && Number.isFinite(base) ? own / base : null;
}

function drawn(view) {
  const asked = withFloors(view, groupBy(view.cells, questionKey)).map(({ items }) => {
    // Yardsticks may be faster, but nobody can choose them.
    const figures = items.filter((c) => !isYardstick(c)).map((c) => valueOf(view, c).value);
    const known = figures.filter((v) => v !== null && Number.isFinite(v));
    return { items, best: known.length ? Math.min(...known) : null };
  });
  const matrices = groupBy(asked, waitOf).map(({ key, items }) => ({ wait: key, columns: items.length, items }));
  const columns = matrices.flatMap((m) => m.items);
  const all = columns.flatMap((c) => c.items.map(meant));
  const { words, rest, shared } = distinctions(
    columns.map((c) => meant(c.items[0])),
    [...withoutWait(view.cells), ...(matrices.length > 1 ? ['wait'] : [])],
    all,
  );
  const names = groupBy(columns, (c) => c.items[0].e.experiment);
  // Names that stand for several columns are written once, above them.
  const grouped = names.length > 1 && Math.max(...matrices.map((m) => m.columns)) >= 2.5 * names.length;
  const titled = columns.map((c, i) => ({
    ...c,
    group: grouped ? c.items[0].e.experiment : null,
    head: (grouped ? rest[i].join(', ') : words[i].join(', ')) || name(c.items[0].e.experiment),
    title: words[i].join(', '),
  }));
  const rows = groupBy(view.cells, (c) => seriesName(view, c)).map(({ key, items }) => ({
    name: isYardstick(items[0]) ? `${key} (floor)` : key,
    key,
    last: isYardstick(items[0]),
  }));
  rows.sort((a, b) => Number(a.last) - Number(b.last));
  const rowOf = new Map(rows.map((r, i) => [r.key, i]));
  const entries = columns.flatMap((column, x) =>
    column.items.map((cell) => ({ ...entryOf(view, cell, column.best), x, y: rowOf.get(seriesName(view, cell)) })),
  );
  return { columns: titled, matrices, rows, entries, shared, grouped };
}

/** The columns of each matrix in bands below each other, as many in each as have room. */
function bandsOf(theme, d) {
  const room = Math.max(1, Math.floor((widthOf(theme) - LEFT - RIGHT) / COLUMN));
  const all = [];
  for (const { wait, columns } of d.matrices) {
    // Bands of about the same length look like one matrix.
    const size = Math.ceil(columns / Math.ceil(columns / room));
    const first = all.at(-1)?.to ?? 0;
    for (let from = first; from < first + columns; from += size) {
      const to = Math.min(from + size, first + columns);
      const used = new Set(d.entries.filter((e) => e.x >= from && e.x < to).map((e) => e.y));
      const title = d.matrices.length > 1 && from === first ? `${waitFactor()?.lead ?? ''}${wait}` : undefined;
      all.push({ from, to, title, rows: d.rows.map((_, y) => y).filter((y) => used.has(y)) });
    }
  }
  const bands = all.slice(0, MAX_BANDS);
  return { bands, left: d.columns.length - (bands.at(-1)?.to ?? 0) };
}

/** The most columns of a band. */
const longest = (bands) => Math.max(1, ...bands.map((band) => band.to - band.from));

/** Room for the titles of matrices. */
const titlePx = (d) => (d.matrices.length > 1 ? TITLE : 0);

function notesOf(view, d, left) {
  const marks = [
    ['✕', '✕ failed'],
    ['∞', '∞ too many messages were lost for this quantile'],
    ['?', '? too few samples for this quantile, or too wide an interval'],
    ['·', '· not run'],
  ];
  const used = marks.filter(([mark]) => d.entries.some((e) => e.text === mark)).map(([, text]) => text);
  const of = byFloor(view) ? 'that of the floor for the same question' : 'that of the best stack for the same question';
  const bold = byFloor(view) ? '' : 'Bold: the smallest; the answers say which stacks cannot be distinguished from it. ';
  const notes = [`Each number is the ${QUANTILES[quantileName(view)]} of a stack divided by ${of}. ${bold}${used.join('; ')}${used.length ? '. ' : ''}Empty: not in the plan.`];
  if (left > 0) notes.push(`${plural(left, 'question')} left out: choose experiments, sizes or conditions above to see others.`);
  return notes;
}

/** The width of a column in px. */
const columnPx = (theme, bands) => (widthOf(theme) - LEFT - RIGHT) / longest(bands);

/** Room for the names of columns. */
function headPx(d, column) {
  if (column >= UPRIGHT) return HEAD_UPRIGHT + (d.grouped ? GROUP : 0);
  const longest = Math.max(...d.columns.map((c) => Math.min(HEAD_LENGTH, textWidth(c.head))));
  return Math.ceil((d.grouped ? GROUP : 0) + 18 + longest * 6.2 * Math.sin((48 * Math.PI) / 180));
}

function placeOf(view, theme, d) {
  const { bands, left } = bandsOf(theme, d);
  const notes = notesOf(view, d, left);
  const at = layout(theme, bands.length, {
    height: (b) => bands[b].rows.length * ROW,
    maxColumns: 1,
    left: LEFT,
    right: RIGHT,
    above: titlePx(d) + headPx(d, columnPx(theme, bands)),
    below: 14,
    caption: d.shared,
    // The scale of colours has the place of the legend.
    legend: true,
    notes,
    offset: 8,
  });
  return { ...at, bands, notes, column: columnPx(theme, bands) };
}

// ---- Colours ----

/** From the best to the worst: one hue, its lightness says the size, so that it also works without colour. */
const RAMPS = {
  light: ['#f1f6fb', '#c3daee', '#7fb2d9', '#3d80b8', '#15508a', '#0a2c52'],
  dark: ['#16222e', '#1b3f5f', '#25648f', '#4a93c2', '#8fc3e4', '#e3f2fb'],
};
const rampOf = (theme) => (theme.dark ? RAMPS.dark : RAMPS.light);

const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** The colour at a share of the scale, as ECharts mixes it. */
export function rampAt(ramp, share) {
  const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(at));
  const [a, b] = [channels(ramp[low]), channels(ramp[low + 1])];
  return a.map((v, i) => Math.round(v + (b[i] - v) * (at - low)));
}

/** Relative luminance (WCAG 2, 1.4.3) of an sRGB colour. */
export function luminance(rgb) {
  const [r, g, b] = rgb.map((v) => {
    const s = v / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever has more contrast to the ground. */
export const inkOn = (rgb) => (luminance(rgb) > 0.179 ? '#000000' : '#ffffff');

function option(view, theme) {
  const d = drawn(view);
  if (d.columns.length === 0) return nothing(theme, 'Nothing is selected.');
  const at = placeOf(view, theme, d);
  const ratios = d.entries.map((e) => e.ratio).filter((r) => r !== null);
  // Yardsticks may be faster than the best; they share its colour.
  const min = 0;
  const max = Math.max(Math.log10(2), ...ratios.map(Math.log10));
  const ramp = rampOf(theme);
  const parts = { grid: [], xAxis: [], yAxis: [], series: [], titles: [] };
  const size = longest(at.bands);
  at.bands.forEach((band, b) => {
    const box = at.boxes[b];
    const share = (band.to - band.from) / size;
    const width = `${(parseFloat(box.width) * share).toFixed(3)}%`;
    parts.grid.push({ ...gridAt(box), width });
    parts.xAxis.push(
      categoryAxis(theme, b, d.columns.slice(band.from, band.to).map((c) => c.head), {
        position: 'top',
        axisLine: { show: false },
        axisLabel: headLabel(theme, at.column),
      }),
    );
    parts.yAxis.push(
      categoryAxis(theme, b, band.rows.map((y) => d.rows[y].name), { length: 26, inverse: true, axisLine: { show: false } }),
    );
    parts.titles.push(...panelTitle(theme, box, band.title));
    parts.series.push(...bandSeries(view, theme, d, band, b, { ramp, min, max }));
    if (d.grouped) parts.series.push(groupHeads(theme, d, band, b, box));
  });
  return compose(theme, at, {
    ...parts,
    caption: d.shared,
    notes: at.notes,
    summary: summary(view),
    visualMap: {
      type: 'continuous',
      seriesIndex: parts.series.map((one, i) => [one, i]).filter(([one]) => one.id.startsWith('matrix:')).map(([, i]) => i),
      dimension: 2,
      min,
      max,
      calculable: false,
      orient: 'horizontal',
      left: 0,
      top: at.legendTop,
      itemWidth: 12,
      itemHeight: 150,
      precision: 2,
      text: [`× ${brief(10 ** max)}`, `× ${brief(10 ** min)}${byFloor(view) ? ' floor' : ' best'}`],
      textStyle: { color: theme.text, fontSize: 12 },
      formatter: (v) => `× ${brief(10 ** v)}`,
      inRange: { color: ramp },
    },
    tooltip: { formatter: tooltip(view, theme, d) },
  });
}

/** Names of columns. Aslant ones lean over the names of rows, where there is room. */
function headLabel(theme, column) {
  const common = { interval: 0, color: theme.text, fontSize: 11, lineHeight: 13 };
  if (column < UPRIGHT) return { ...common, rotate: 48, formatter: (text) => short(text, HEAD_LENGTH) };
  return { ...common, width: column - 8, overflow: 'break', formatter: (text) => short(text, Math.floor((column - 8) / 6) * 4) };
}

/** Coloured places, and those that have a mark instead of a number. */
function bandSeries(view, theme, d, band, b, { ramp, min, max }) {
  const within = d.entries.filter((e) => e.x >= band.from && e.x < band.to);
  const rowAt = new Map(band.rows.map((y, at) => [y, at]));
  const item = (e, extra) => ({ open: place(e.cell), ...extra });
  const numbers = within.filter((e) => e.ratio !== null);
  const marks = within.filter((e) => e.ratio === null);
  const common = { type: 'heatmap', ...onPanel(b) };
  const gap = { borderColor: theme.background, borderWidth: 1.5 };
  return [
    {
      ...common,
      id: `matrix:${b}`,
      name: 'ratio',
      itemStyle: gap,
      label: { show: true, fontSize: 11 },
      emphasis: { itemStyle: { borderColor: theme.text, borderWidth: 2 } },
      data: numbers.map((e) => {
        const share = (Math.log10(e.ratio) - min) / (max - min);
        const color = inkOn(rampAt(ramp, share));
        const best = !byFloor(view) && e.ratio === 1 && !isYardstick(e.cell);
        return item(e, {
          value: [e.x - band.from, rowAt.get(e.y), Math.max(min, Math.log10(e.ratio))],
          label: { show: true, formatter: () => e.text, color, fontWeight: best ? 700 : 400 },
        });
      }),
    },
    {
      ...common,
      type: 'custom',
      id: `marks:${b}`,
      name: 'without a number',
      itemStyle: { color: theme.muted },
      encode: { x: 0, y: 1 },
      data: marks.map((e) => item(e, { value: [e.x - band.from, rowAt.get(e.y)] })),
      renderItem: (params, api) => drawMark(theme, marks[params.dataIndex], api),
    },
  ];
}

/** The name of an experiment over its columns, with a line that says which these are. */
function groupHeads(theme, d, band, b, box) {
  const spans = [];
  for (let x = band.from; x < band.to; x += 1) {
    const { group } = d.columns[x];
    const last = spans[spans.length - 1];
    if (last?.group === group) last.to = x - band.from;
    else spans.push({ group, from: x - band.from, to: x - band.from });
  }
  return {
    id: `heads:${b}`,
    name: 'experiments',
    type: 'custom',
    ...onPanel(b),
    silent: true,
    clip: false,
    tooltip: { show: false },
    itemStyle: { color: theme.muted },
    encode: { x: 0, y: 1 },
    data: spans.map((s) => [s.from, 0]),
    renderItem: (params, api) => {
      const { group, from, to } = spans[params.dataIndex];
      const [w] = api.size([1, 1]);
      const x1 = api.coord([from, 0])[0] - w / 2 + 2;
      const x2 = api.coord([to, 0])[0] + w / 2 - 2;
      const y = box.titleTop + titlePx(d) + GROUP - 6;
      const text = short(group, Math.max(3, Math.floor((x2 - x1) / 7.4)));
      const look = { verticalAlign: 'bottom', fontSize: 12, fontWeight: 600 };
      const line = stroke(x1, y, x2, y, { color: theme.muted, width: 1 });
      return { type: 'group', children: [line, lettering(theme, text, x1, y - 3, look)] };
    },
  };
}

/** An outlined place with its sign. */
function drawMark(theme, entry, api) {
  const [x, y] = api.coord([api.value(0), api.value(1)]);
  const [w, h] = api.size([1, 1]);
  const failed = entry.text === '✕';
  const ink = failed ? theme.bad : theme.text;
  return {
    type: 'group',
    children: [
      {
        type: 'rect',
        shape: { x: x - w / 2 + 1, y: y - h / 2 + 1, width: w - 2, height: h - 2 },
        style: { fill: theme.background, stroke: failed ? ink : theme.grid, lineWidth: 1 },
      },
      lettering(theme, entry.text, x, y, { align: 'center', fill: ink, fontSize: 12, fontWeight: failed ? 700 : 400 }),
    ],
  };
}

function tooltip(view, theme, d) {
  const byPlace = new Map(d.entries.map((e) => [`${e.cell.run}.${e.cell.index}`, e]));
  return ({ data }) => {
    const entry = data?.open && byPlace.get(`${data.open.run}.${data.open.experiment}`);
    if (!entry) return '';
    const { cell, ratio } = entry;
    const { metric } = metricOf(view, cell);
    const exact = cell.e.floor?.p50_ratio;
    const first = [[`${QUANTILES[quantileName(view)]}, ${metricName(metric)}`, entry.value.text]];
    if (!byFloor(view) && ratio !== null) first.push(['× best', sig3(ratio)]);
    if (exact) first.push(['× floor', ratioEstimate(exact)]);
    else if (byFloor(view) && ratio !== null) first.push(['× floor', sig3(ratio)]);
    const others = Object.keys(QUANTILES).filter((q) => q !== quantileName(view));
    const { figures } = metricOf(view, cell);
    for (const q of others) first.push([QUANTILES[q], quantileOf(figures, q).text]);
    return cellTip(view, cell, theme, {
      quantiles: false,
      first,
      notes: [entry.note && !lack(cell) ? entry.note : null],
    });
  };
}

const columns = (view) => [
  ...stackColumns(view),
  column('question', ({ question }) => question),
  column('conditions', ({ cell }) => allConditions(cell)),
  column('metric', ({ metric }) => metric),
  rounded(quantileName(view), ({ value }) => value.value, 'ns'),
  rounded('lo', ({ value }) => value.lo, 'ns'),
  rounded('hi', ({ value }) => value.hi, 'ns'),
  rounded(byFloor(view) ? 'times floor' : 'times best', ({ ratio }) => ratio),
  column('samples', ({ figures }) => samplesOf(figures)),
  column('trials', ({ cell }) => cell.e.trials),
  column('failed trials', ({ cell }) => cell.e.failed_trials),
  column('remark', ({ note }) => note),
];

function table(view) {
  const d = drawn(view);
  const rows = d.entries.map((e) => ({ ...e, ...metricOf(view, e.cell), question: d.columns[e.x].title }));
  return dataOf(columns(view), rows);
}

function summary(view) {
  const d = drawn(view);
  if (d.columns.length === 0) return 'Heat map: nothing is selected.';
  const wins = new Map();
  for (const e of d.entries) {
    const best = d.columns[e.x].best;
    if (isYardstick(e.cell) || best === null || e.value.value !== best) continue;
    wins.set(d.rows[e.y].name, (wins.get(d.rows[e.y].name) ?? 0) + 1);
  }
  const first = [...wins].sort((a, b) => b[1] - a[1])[0];
  const failed = d.entries.filter((e) => e.text === '✕').length;
  const parts = [`Heat map of ${plural(d.rows.length, 'stack')} by ${plural(d.columns.length, 'question')}.`];
  if (first) parts.push(`${short(first[0], 60)} has the lowest ${QUANTILES[quantileName(view)]} in ${first[1]} of ${plural(d.columns.length, 'question')}.`);
  if (failed) parts.push(`${plural(failed, 'cell')} failed.`);
  return parts.join(' ');
}

export const matrix = {
  id: 'matrix',
  title: 'Heat map',
  question: 'Which stack is best for each question, and how much slower are the others?',
  kinds: { log: false, response: true, ratio: true },
  applies: (view) => !view.one && drawn(view).columns.length > 0,
  height: (view, theme) => placeOf(view, theme, drawn(view)).total,
  option,
  table,
  summary,
  notes: (view) => notesOf(view, drawn(view), 0),
  pick,
};

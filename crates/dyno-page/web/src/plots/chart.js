// What plots share about drawing: the place of panels, axes, legends, notes and marks. Pure.
//
// Vertical places are px from the top, which `height` of a plot answers for; horizontal ones are per cent, so
// that a chart that is a little wider than planned is filled all the same.

import { fill } from './common.js';
import { clip, short, textWidth, timeTick } from './text.js';

/** Height of a line of small text, and px that a character of it takes on average. */
const LINE = 17;
const CHARACTER = 6.1;
const WIDTH = 960;

/** The chart's width in px. */
export const widthOf = (theme) => theme?.width ?? WIDTH;

/** Text in lines of at most that many px, as it will be broken. */
export function wrap(text, width) {
  const most = Math.max(20, Math.floor(width / CHARACTER));
  const lines = [];
  let line = '';
  for (let word of text.split(' ')) {
    while (textWidth(word) > most) {
      if (line) lines.push(line);
      line = '';
      const part = clip(word, most);
      lines.push(part);
      word = word.slice(part.length);
    }
    if (line && textWidth(line) + 1 + textWidth(word) > most) {
      lines.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  if (line) lines.push(line);
  return lines;
}

/** Text cut to that many px. */
export const fit = (text, width) => short(text, Math.max(6, Math.floor(width / CHARACTER)));

// ---- Layout ----

/**
 * The place of `count` panels below a head (caption and legend) and above notes. `height` is that of a panel's
 * drawing area; margins hold axis labels. Height and lower margin may be functions of the panel's number. `offset` is
 * where the first line begins. Answers `{ total, captionTop, legendTop, notesTop, boxes }`, a box being
 * `{ left, width, top, height, px, titleLeft, titlePx, titleTop }`.
 */
export function layout(
  theme,
  count,
  {
    height = 220,
    minWidth = 400,
    maxColumns = 2,
    left = 74,
    right = 28,
    above = 28,
    below = 50,
    caption = '',
    legend = true,
    notes = [],
    offset = 0,
  } = {},
) {
  const width = widthOf(theme);
  const columns = Math.max(1, Math.min(count, maxColumns, Math.floor(width / minWidth)));
  const captionLines = caption ? wrap(caption, width - 8).length : 0;
  const legendTop = captionLines * LINE + (captionLines ? 4 : 0);
  let top = offset + legendTop + (legend ? 28 : 0);
  const heightOf = typeof height === 'function' ? height : () => height;
  const belowOf = typeof below === 'function' ? below : () => below;
  const boxes = [];
  for (let row = 0; row * columns < count; row += 1) {
    const members = Array.from({ length: columns }, (_, c) => row * columns + c).filter((i) => i < count);
    const tallest = Math.max(...members.map(heightOf));
    for (const i of members) {
      const from = (width / columns) * (i % columns) + left;
      const px = Math.max(60, width / columns - left - right);
      boxes.push({
        left: percent(from, width),
        width: percent(px, width),
        // A title may stand over the labels of the axis: it needs the room.
        titleLeft: percent(from - left, width),
        titlePx: width / columns - 8,
        px,
        titleTop: top,
        top: top + above,
        height: heightOf(i),
      });
    }
    top += above + tallest + Math.max(...members.map(belowOf));
  }
  const noteLines = theme?.notes === false ? 0 : notes.reduce((sum, note) => sum + wrap(note, width - 8).length, 0);
  return {
    width,
    captionTop: 0,
    legendTop,
    notesTop: top,
    total: Math.ceil(top + noteLines * LINE + 6),
    boxes,
  };
}

const percent = (px, width) => `${((100 * px) / width).toFixed(3)}%`;

/** A grid at a box. Labels of axes have their room beside it. */
export const gridAt = (box) => ({
  left: box.left,
  width: box.width,
  top: box.top,
  height: box.height,
  // The room for labels is ours to give: panels must line up.
  outerBoundsMode: 'none',
});

/** A line of text in the drawing. */
function textAt(theme, text, { left = 0, top, muted = false, bold = false, size = 12 }) {
  return {
    text,
    left,
    top,
    padding: 0,
    textStyle: {
      color: muted ? theme.muted : theme.text,
      fontSize: size,
      fontWeight: bold ? 600 : 400,
      lineHeight: LINE,
    },
  };
}

/** The title of a panel, cut to its width, or the subtitle of a box that belongs to the panel before it. */
export function panelTitle(theme, box, title, subtitle) {
  const at = { left: box.titleLeft, top: box.titleTop + 4 };
  const room = (text) => fit(text, box.titlePx);
  if (title !== undefined) return [textAt(theme, room(title), { ...at, bold: true, size: 12.5 })];
  return subtitle === undefined ? [] : [textAt(theme, room(subtitle), { ...at, muted: true })];
}

// ---- The whole ----

/**
 * The option of a chart. `caption` says the conditions that everything shares, `notes` what is left out; both are
 * wrapped to the width that `at`, the layout, was made for.
 */
export function compose(theme, at, parts) {
  const { caption = '', notes = [], titles = [], summary, legend, tooltip, ...rest } = parts;
  const broken = (texts) => texts.flatMap((t) => wrap(t, at.width - 8)).join('\n');
  const texts = [...titles];
  if (caption) texts.push(textAt(theme, broken([caption]), { top: at.captionTop, muted: true }));
  if (notes.length && theme.notes !== false) texts.push(textAt(theme, broken(notes), { top: at.notesTop, muted: true }));
  return {
    animation: false,
    backgroundColor: 'transparent',
    color: theme.colors,
    textStyle: { fontFamily: theme.font, color: theme.text },
    aria: { enabled: true, label: { enabled: true, description: summary }, decal: { show: false } },
    title: texts,
    legend: legend ? { ...legend, top: at.legendTop } : undefined,
    tooltip: tooltip ? { ...tooltipLook(theme), ...tooltip } : undefined,
    ...rest,
  };
}

/** An option for a view that has nothing to draw. */
export function nothing(theme, text) {
  const at = layout(theme, 0, { legend: false });
  return compose(theme, at, { titles: [textAt(theme, text, { top: 8, muted: true })], summary: text, series: [] });
}

function tooltipLook(theme) {
  return {
    trigger: 'item',
    confine: true,
    transitionDuration: 0,
    // A tooltip that can be entered can be read with a magnifier, and its text copied.
    enterable: true,
    backgroundColor: theme.background,
    borderColor: theme.muted,
    borderWidth: 1,
    padding: [6, 9],
    textStyle: { color: theme.text, fontSize: 12 },
    extraCssText: 'max-width: 30em; white-space: normal; overflow-wrap: anywhere;',
  };
}

/**
 * A legend that scrolls. Entries: `{ name, style, line }` or `{ name, icon, itemStyle }`; an entry is the name of one or
 * more series.
 */
export function legendOf(theme, entries) {
  const seen = new Set();
  const data = [];
  for (const { style, line, ...shown } of entries) {
    if (seen.has(shown.name)) continue;
    seen.add(shown.name);
    // Lines show their dash and symbol by themselves; other series are shown by the symbol.
    if (!line && style) {
      const { color } = style;
      const itemStyle = style.hollow ? { color: 'transparent', borderColor: color, borderWidth: 1.5 } : { color, borderColor: color };
      data.push({ ...shown, icon: style.symbol, itemStyle });
    } else data.push(shown);
  }
  return {
    type: 'scroll',
    left: 0,
    right: 0,
    // A line needs room for its dash; a symbol must not be stretched.
    itemWidth: entries.some((e) => e.line) ? 30 : 12,
    itemHeight: entries.some((e) => e.line) ? 10 : 12,
    itemGap: 16,
    data,
    formatter: (text) => short(text, 34),
    textStyle: { color: theme.text, fontSize: 12 },
    inactiveColor: theme.muted,
    pageTextStyle: { color: theme.text, fontSize: 12 },
    pageIconColor: theme.text,
    pageIconInactiveColor: theme.muted,
    pageIconSize: 11,
  };
}

// ---- Scales ----

const STEPS = [1, 2, 5];

/** The largest 1, 2 or 5 times a power of ten that is at most `value`, which is positive. */
function floor125(value) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return (value / power >= 5 ? 5 : value / power >= 2 ? 2 : 1) * power;
}

/** The smallest 1, 2 or 5 times a power of ten that is at least `value`, which is positive. */
function ceil125(value) {
  const low = floor125(value);
  if (value <= low * (1 + 1e-9)) return low;
  const lead = Math.round(low / 10 ** Math.floor(Math.log10(low) + 1e-9));
  return lead === 1 ? low * 2 : lead === 2 ? low * 2.5 : low * 2;
}

/** Ticks of a logarithmic scale between positive ends: 1, 2, 5 for few decades, powers of ten for many. */
export function logTicks(lo, hi, most = 9) {
  const first = Math.floor(Math.log10(lo) + 1e-9);
  const last = Math.ceil(Math.log10(hi) - 1e-9);
  const tries = [[1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9], STEPS, [1]].map((leads) => [leads, 1]);
  tries.push([[1], 2], [[1], 3], [[1], 4]);
  let ticks = [];
  for (const [leads, stride] of tries) {
    ticks = [];
    for (let power = first; power <= last; power += stride) {
      for (const lead of leads) {
        // 10 ** -3 times 2 is not what 2e-3 is.
        const value = Number(`${lead}e${power}`);
        if (value >= lo * (1 - 1e-9) && value <= hi * (1 + 1e-9)) ticks.push(value);
      }
    }
    if (ticks.length <= most) break;
  }
  return ticks;
}

/**
 * A scale for these values, of which only positive finite ones count for a logarithmic one:
 * `{ min, max, ticks }`. `headroom` leaves a place for marks of what is infinite.
 */
export function scaleOf(values, { log, headroom = false, ticks = 6, zero = true }) {
  const finite = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (finite.length === 0) return log ? { min: 1e3, max: 1e6, ticks: [1e3, 1e4, 1e5, 1e6] } : steps(0, 1, ticks);
  const lo = finite.reduce((a, b) => Math.min(a, b));
  const hi = finite.reduce((a, b) => Math.max(a, b));
  if (!log) return steps(zero ? Math.min(0, lo) : lo, hi * (headroom ? 1.15 : 1.04), ticks);
  let min = floor125(lo * 0.97);
  let max = ceil125(hi * (headroom ? 1.5 : 1.03));
  if (max <= min * 1.5) [min, max] = [floor125(min * 0.9), ceil125(max * 1.2)];
  return { min, max, ticks: logTicks(min, max, ticks + 4) };
}

/** Equal steps of 1, 2 or 5 times a power of ten that cover lo to hi. */
function steps(lo, hi, most) {
  const span = hi - lo || Math.abs(hi) || 1;
  const step = ceil125(span / most);
  const min = Math.floor(lo / step + 1e-9) * step;
  const count = Math.max(1, Math.ceil((hi - min) / step - 1e-9));
  const ticks = Array.from({ length: count + 1 }, (_, i) => Number((min + i * step).toPrecision(12)));
  return { min: ticks[0], max: ticks[count], ticks };
}

/** A numeric axis of a scale, with ticks of ours: those of a logarithmic axis stand at 1, 2 and 5, too. */
export function axisOf(theme, index, scale, { log, format = timeTick, title, gap, lines = true, ...rest }) {
  return {
    gridIndex: index,
    type: log ? 'log' : 'value',
    min: scale.min,
    max: scale.max,
    name: title,
    nameLocation: 'middle',
    nameGap: gap,
    nameTextStyle: { color: theme.muted, fontSize: 12 },
    axisLine: { show: true, lineStyle: { color: theme.muted } },
    axisTick: { show: true, customValues: scale.ticks, lineStyle: { color: theme.muted } },
    minorTick: { show: false },
    axisLabel: {
      customValues: scale.ticks,
      formatter: (value) => format(Number(value.toPrecision(12))),
      color: theme.text,
      fontSize: 11,
      hideOverlap: true,
    },
    splitLine: { show: lines, lineStyle: { color: theme.grid } },
    ...rest,
  };
}

/** An axis of names, cut to that many characters. */
export function categoryAxis(theme, index, names, { length = 24, rotate = 0, ...rest } = {}) {
  return {
    gridIndex: index,
    type: 'category',
    data: names,
    axisLine: { show: true, lineStyle: { color: theme.muted } },
    axisTick: { show: false },
    axisLabel: {
      interval: 0,
      formatter: (text) => short(text, length),
      rotate,
      color: theme.text,
      fontSize: 11,
    },
    ...rest,
  };
}

// ---- Marks ----

/** A cross: what failed. An arrowhead: what leaves the scale. */
export const CROSS = 'path://M1 0L5 4L9 0L10 1L6 5L10 9L9 10L5 6L1 10L0 9L4 5L0 1z';
export const UP = 'path://M5 0L10 9H0z';

/** A line of a custom series. */
export const stroke = (x1, y1, x2, y2, { color, width = 1.4, ...style }) => ({
  type: 'line',
  shape: { x1, y1, x2, y2 },
  style: { stroke: color, lineWidth: width, fill: 'none', ...style },
});

/** A pattern of slanting lines that tells bars apart without colour. */
export const hatch = (color) => ({
  symbol: 'rect',
  symbolSize: 1,
  dashArrayX: [1, 0],
  dashArrayY: [2, 4],
  rotation: Math.PI / 4,
  color,
});

/** Text of a custom series, in the middle of its line. */
export const lettering = (theme, text, x, y, more) => ({
  type: 'text',
  style: { text, x, y, align: 'left', verticalAlign: 'middle', fill: theme.text, fontSize: 11, ...more },
});

/** px by which series `k` of `count` stands aside, at most `most` from the next and all of them within `room`. */
export const asideOf = (k, count, most, room) => (k - (count - 1) / 2) * Math.min(most, room / count);

/** The axes of panel `i`. */
export const onPanel = (i) => ({ xAxisIndex: i, yAxisIndex: i });

/** What has no figure. */
export const failedSeries = (theme, i, data) =>
  dots(i, { symbol: CROSS }, {
    id: `failed:${i}`,
    name: 'no figure',
    symbolSize: 10,
    itemStyle: { color: theme.bad },
    z: 4,
    data,
  });

/** Figures of others. */
export const publishedSeries = (theme, i, data) => ({
  id: `published:${i}`,
  name: 'published by others',
  type: 'scatter',
  ...onPanel(i),
  symbolSize: 13,
  itemStyle: { color: 'transparent', borderColor: theme.text, borderWidth: 1.5 },
  z: 4,
  data,
});

/** The marks of a series that is no line. */
export const dots = (i, style, more) => ({
  type: 'scatter',
  ...onPanel(i),
  symbol: style.symbol,
  itemStyle: fill(style),
  clip: false,
  z: 3,
  ...more,
});

/** A line with marks that stands out from others where it is hovered. */
export const curve = (i, style, more) => ({
  ...dots(i, style),
  type: 'line',
  lineStyle: { color: style.color, type: style.dash, width: 2 },
  emphasis: { focus: 'series', blurScope: 'coordinateSystem' },
  ...more,
});

/** A line without marks of its own that tells nothing when it is hovered. */
export const thinLine = (i, style, more) => ({
  type: 'line',
  ...onPanel(i),
  showSymbol: false,
  symbol: style.symbol,
  itemStyle: { color: style.color },
  silent: true,
  tooltip: { show: false },
  z: 2,
  ...more,
});

/** A word beside a mark. */
export const markLabel = (theme, text, position = 'right') => ({
  show: true,
  formatter: () => text,
  position,
  color: theme.text,
  fontSize: 11,
  textBorderColor: theme.background,
  textBorderWidth: 2,
});

/** Positions as near to the wanted ones as a distance of `gap` between them allows, from `lo` to `hi`. */
export function spread(wanted, gap, lo, hi) {
  const order = wanted.map((at, i) => ({ at, i })).sort((a, b) => a.at - b.at);
  order.forEach((one, k) => {
    one.at = Math.max(one.at, lo, k > 0 ? order[k - 1].at + gap : -Infinity);
  });
  for (let k = order.length - 1; k >= 0; k -= 1) {
    const below = k + 1 < order.length ? order[k + 1].at - gap : hi;
    order[k].at = Math.min(order[k].at, below);
  }
  const out = [];
  for (const { at, i } of order) out[i] = at;
  return out;
}

/**
 * Names at the right of a panel, each beside the end of its line at `[x, y]`, apart from each other, with a
 * thin line to where they belong. `entries`: `{ text, x, y, color }`.
 */
export function endLabels({ id, panel, box, scale, log, entries, theme }) {
  const place = log ? Math.log : (v) => v;
  const [lo, hi] = [place(scale.min), place(scale.max)];
  const top = entries.map((e) => box.top + box.height * (1 - (place(Math.min(Math.max(e.y, scale.min), scale.max)) - lo) / (hi - lo)));
  const ys = spread(top, 14, box.top + 2, box.top + box.height - 2);
  return {
    id,
    name: 'names',
    type: 'custom',
    ...onPanel(panel),
    silent: true,
    clip: false,
    z: 5,
    tooltip: { show: false },
    itemStyle: { color: theme.muted },
    encode: { x: 0, y: 1 },
    data: entries.map((e) => [e.x, Math.min(Math.max(e.y, scale.min), scale.max)]),
    renderItem: (params, api) => {
      const { text, color } = entries[params.dataIndex];
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      const right = params.coordSys.x + params.coordSys.width;
      const at = ys[params.dataIndex];
      const points = [[x + 6, y], [right + 4, at], [right + 10, at]];
      return {
        type: 'group',
        children: [
          { type: 'polyline', shape: { points }, style: { stroke: color, lineWidth: 0.8, fill: 'none', opacity: 0.7 } },
          lettering(theme, text, right + 13, at),
        ],
      };
    },
  };
}

/**
 * Vertical bars with caps at [x, lo, hi], moved aside by `dodge(index)` px: intervals. Infinite ends reach `top`.
 */
export function whiskers({ id, name, panel, points, color, top, dodge = () => 0, cap = 4, z = 2 }) {
  return {
    id,
    name,
    type: 'custom',
    ...onPanel(panel),
    silent: true,
    z,
    clip: false,
    encode: { x: 0, y: [1, 2] },
    data: points.map(({ x, lo, hi }) => [x, Math.min(lo, top), Math.min(hi, top)]),
    tooltip: { show: false },
    itemStyle: { color },
    renderItem: (params, api) => {
      const [x0, low] = api.coord([api.value(0), api.value(1)]);
      const [, high] = api.coord([api.value(0), api.value(2)]);
      const x = x0 + dodge(params.dataIndex);
      const across = (y) => stroke(x - cap, y, x + cap, y, { color });
      return { type: 'group', children: [stroke(x, low, x, high, { color }), across(low), across(high)] };
    },
  };
}

/** Rows of a table as numbers a program can read: rounded to what they bear. */
export const exported = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? Number(value.toPrecision(9)) : value;

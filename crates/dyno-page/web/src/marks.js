// Small drawings inside tables and lists: the mark of a stack, and the range of a row on a shared axis.

import { svg } from './dom.js';
import { DASHES, SYMBOLS, palette } from './theme.js';

/** Line, dash and symbol of a stack, as plots draw them. Colours are variables, so that they follow the theme. */
export function swatch(style) {
  const colors = palette('light').colors.length;
  const color = `var(--c${style % colors})`;
  const dash = DASHES[style % DASHES.length];
  const drawn = svg('svg', { class: 'swatch', width: 30, height: 12, viewBox: '0 0 30 12', 'aria-hidden': 'true' });
  const line = svg('line', {
    x1: 0,
    y1: 6,
    x2: 30,
    y2: 6,
    'stroke-width': 2,
    'stroke-dasharray': Array.isArray(dash) ? dash.join(' ') : null,
  });
  line.style.stroke = color;
  const mark = symbol(SYMBOLS[style % SYMBOLS.length]);
  mark.style.fill = color;
  drawn.append(line, mark);
  return drawn;
}

function symbol(kind) {
  const paths = {
    circle: 'M15 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8z',
    rect: 'M11.5 2.5h7v7h-7z',
    triangle: 'M15 1.5l4.5 8.5h-9z',
    diamond: 'M15 1l5 5l-5 5l-5-5z',
    down: 'M10.5 2h9l-4.5 8.5z',
    plus: 'M13.5 1h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z',
    star: 'M15 .4L16.4 4.1L20.3 4.3L17.3 6.7L18.3 10.5L15 8.4L11.7 10.5L12.7 6.7L9.7 4.3L13.6 4.1z',
  };
  return svg('path', { d: paths[kind] ?? paths.circle });
}

const WIDTH = 132;
const HEIGHT = 16;

/**
 * A scale for the ranges of these rows: `{x(ns), lo, hi}`, logarithmic, in pixels; null without a finite
 * value.
 */
export function rangeScale(ranges, log = true) {
  const values = ranges.flatMap((r) => [r?.p50, r?.p90, r?.p99, r?.p999]).filter((v) => Number.isFinite(v) && v > 0);
  if (values.length === 0) return null;
  const lo = Math.min(...values);
  const hi = Math.max(...values);
  const place = log ? Math.log : (v) => v;
  const from = log ? place(lo) : 0;
  const span = place(hi) - from || 1;
  return { lo: log ? lo : 0, hi, x: (v) => 4 + ((place(v) - from) / span) * (WIDTH - 12) };
}

/** p50 as a dot, p90 and p99 as ticks, and a line to p99.9; what was lost ends in an arrow. */
export function rangeMark(range, scale, style) {
  if (!range || !scale || !Number.isFinite(range.p50)) return null;
  const colors = palette('light').colors.length;
  const drawn = svg('svg', {
    class: 'range',
    width: WIDTH,
    height: HEIGHT,
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    'aria-hidden': 'true',
  });
  drawn.style.color = `var(--c${style % colors})`;
  const middle = HEIGHT / 2;
  const known = [range.p50, range.p90, range.p99, range.p999].filter((v) => v !== null && v !== undefined);
  const lost = known.some((v) => v === Infinity);
  const finite = known.filter(Number.isFinite);
  const end = lost ? WIDTH - 5 : scale.x(Math.max(...finite));
  drawn.append(svg('line', { class: 'reach', x1: scale.x(range.p50), x2: end, y1: middle, y2: middle }));
  for (const [value, half] of [
    [range.p90, 3],
    [range.p99, 5],
    [range.p999, 3],
  ]) {
    if (!Number.isFinite(value)) continue;
    const x = scale.x(value);
    drawn.append(svg('line', { class: 'tick', x1: x, x2: x, y1: middle - half, y2: middle + half }));
  }
  if (lost) drawn.append(svg('path', { class: 'lost', d: `M${WIDTH - 7} ${middle - 4}l6 4l-6 4z` }));
  drawn.append(svg('circle', { cx: scale.x(range.p50), cy: middle, r: 3.2 }));
  return drawn;
}

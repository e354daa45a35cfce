// Names and ticks as drawn text and HTML need them; numbers in sentences are in ../format.js. Pure.
//
// Names of stacks, suites, hosts and messages come from outside. `escapeHtml` makes them harmless in HTML;
// `name` and `short` make them harmless in one line of drawn text.

import { sig3 } from '../format.js';

const ENTITIES = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

/** Text that HTML shows as it is, between tags as well as in a quoted attribute. */
export function escapeHtml(text) {
  return String(text).replace(/[&<>"'`]/g, (c) => ENTITIES[c]);
}

/** What breaks lines, and what turns the direction of the text after it. */
const CONTROL =
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+/g;

/** Letters that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\ud802\ud803\ud83a\ud83b]/;

const clean = (text) => String(text).replace(CONTROL, ' ').trim() || '(no name)';
/** By number: as characters they would turn what a terminal shows of this script. */
const [ISOLATE, END] = [0x2068, 0x2069].map((code) => String.fromCodePoint(code));
const isolated = (line) => (RIGHT_TO_LEFT.test(line) ? ISOLATE + line + END : line);

/** One line of text, isolated where it would turn the direction of its surroundings. */
export function name(text) {
  return isolated(clean(text));
}

/** Characters that take the room of two: East Asian ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The room that a text takes, in characters of usual width. */
export function textWidth(text) {
  return Array.from(text).reduce((sum, c) => sum + (WIDE.test(c) ? 2 : 1), 0);
}

/** The beginning of a text that has room in so many characters, by code points: half of a pair would be a box. */
export function clip(text, length) {
  let room = length;
  let end = 0;
  for (const c of text) {
    room -= WIDE.test(c) ? 2 : 1;
    if (room < 0) break;
    end += c.length;
  }
  return text.slice(0, end);
}

/** At most `length` characters of a name; an ellipsis stands for the rest. */
export function short(text, length) {
  const line = clean(text);
  if (textWidth(line) <= length) return isolated(line);
  const cut = clip(line, Math.max(1, length - 1));
  return isolated(`${cut.replace(/[\u200d\ufe0f\s]+$/u, '')}…`);
}

/** Three significant digits without zeros at the end: for ticks and figures that somebody chose. */
export function brief(value) {
  const text = sig3(value);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function tick(value, units) {
  if (value === 0) return '0';
  if (!Number.isFinite(value)) return sig3(value);
  // The unit is that of what is printed: 999.9 ns is 1 µs.
  const size = Math.abs(Number(value.toPrecision(3)));
  const [scale, unit] = units.find(([s]) => size >= s) ?? units[units.length - 1];
  return `${brief(value / scale)} ${unit}`;
}

const TIME = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
const BYTES = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];
const SIZE = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];
const RATE = [[1e6, 'M/s'], [1e3, 'k/s'], [1, '/s']];

/** A time in ns at an axis: `10 µs`. */
export const timeTick = (ns) => tick(ns, TIME);
/** Memory at an axis: `64 MiB`. */
export const memoryTick = (n) => tick(n, BYTES);
/** The size of a message at an axis, decimal as S is: `4 MB`. */
export const sizeTick = (n) => tick(n, SIZE);
/** Messages per second at an axis: `10 k/s`. */
export const rateTick = (hz) => tick(hz, RATE);
/** A share of one at an axis: `50 %`. */
export const shareTick = (share) => `${brief(100 * share)} %`;

/** A rank as people call it: `99.9 %`. */
export function rankName(q) {
  if (q >= 1) return 'max';
  // Few digits of it are meant; the rest is what binary fractions leave.
  return `${Number((100 * q).toPrecision(9))} %`;
}

/** `count` and the noun, which takes an s unless there is one of it. */
export function plural(count, noun) {
  return `${count} ${noun}${count === 1 || noun.endsWith('s') ? '' : 's'}`;
}

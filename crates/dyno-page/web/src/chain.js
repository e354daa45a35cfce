// The way of a message through a chain: its parts as two stacked rows, of messages around the median and of the slowest, and as a
// table; and which part the tail comes from.

import { el, foreign, svg } from './dom.js';
import { NONE, count, duration, share, timeEstimate } from './format.js';
import { tableOf } from './table.js';

/** `leg 2 (tcp) back`. */
export function partName(part) {
  const number = part.number ? ` ${part.number}` : '';
  const stack = part.stack ? ` (${part.stack})` : '';
  return `${part.stage}${number}${stack}${part.back ? ' back' : ''}`;
}

/**
 * Where the slowest hundredth lost its time: the part that grew most from the messages around the median to the slowest, how much it
 * grew, and its share of what all parts grew. Null where nothing grew.
 */
export function tailFrom(parts) {
  if (parts.some((part) => part.in_tail_ns === null)) return null;
  const grew = parts.map((part) => part.in_tail_ns - part.at_median_ns);
  const all = grew.reduce((sum, ns) => sum + ns, 0);
  const most = Math.max(...grew);
  if (!(all > 0) || !(most > 0)) return null;
  return { part: parts[grew.indexOf(most)], ns: most, share: Math.min(1, most / all) };
}

/** The segments of a row: where each begins and how long it is, as shares of `whole`; what is below zero has no length. */
export function segments(parts, of, whole) {
  let from = 0;
  return parts.map((part) => {
    const length = Math.max(0, part[of]) / whole;
    const segment = { from, length };
    from += length;
    return segment;
  });
}

const ROWS = [
  ['at_median_ns', 'around the median'],
  ['in_tail_ns', 'in the slowest 1 %'],
];
const COLORS = 8;

/** What the dialog has of a chain: a list of elements, empty where the experiment's stack is none. */
export function chainParts(chain) {
  if (!chain) return [];
  const found = [];
  const { parts } = chain;
  if (parts.length) found.push(...drawn(chain), table(parts));
  const programs = chain.programs ?? [];
  if (programs.length) {
    const stay = chain.added ? '' : ' To measure it, also measure the legs alone (dyno run --legs), with two undisturbed trials of each.';
    found.push(
      el('p', {}, 'Bridged by ', foreign(programs.join(', ')), `. Dyno cannot look inside, so it knows the residence time only from outside.${stay}`),
    );
  }
  if (chain.added) {
    const { added } = chain;
    const what = programs.length ? 'Residence time, from outside (the chain minus the sum of its legs alone)' : 'Added by the chain to the sum of its legs alone';
    found.push(
      el('p', {}, `${what}: p50 ${timeEstimate(added.p50_ns)}, mean ${timeEstimate(added.mean_ns)}; ${count(added.trials)} trials.`),
    );
  }
  if (chain.least_ns < 0) {
    const text = `The smallest part is -${duration(-chain.least_ns)}: within the error of the hosts' clocks, or records of different messages were combined.`;
    found.push(el('p', { class: 'bad' }, text));
  }
  const lost = chain.legs.filter((leg) => leg.lost > 0);
  for (const leg of lost) {
    const late = leg.back && leg.number === 1 ? ', or they arrived after the drain' : '';
    found.push(
      el('p', { class: 'bad' }, `Leg ${leg.number} (`, foreign(leg.stack), `)${leg.back ? ' back' : ''} lost ${count(leg.lost)} of ${count(leg.sent)}${late}.`),
    );
  }
  return found;
}

function drawn({ parts, messages }) {
  const few = parts.some((part) => part.in_tail_ns === null);
  const known = few ? ROWS.slice(0, 1) : ROWS;
  const sums = known.map(([of]) => parts.reduce((sum, part) => sum + Math.max(0, part[of]), 0));
  const whole = Math.max(...sums);
  const rows = known.map(([of, title], i) =>
    el(
      'div',
      { class: 'way' },
      el('span', { class: 'way-title' }, `${title}: ${duration(sums[i])}`),
      svg(
        'svg',
        { viewBox: '0 0 1000 18', preserveAspectRatio: 'none', role: 'img', 'aria-label': rowText(parts, of) },
        segments(parts, of, whole).map((s, n) =>
          svg(
            'rect',
            { x: 1000 * s.from, y: 0, width: 1000 * s.length, height: 18, class: `part-${n % COLORS}` },
            svg('title', {}, `${partName(parts[n])}: ${duration(parts[n][of])}`),
          ),
        ),
      ),
    ),
  );
  const tail = tailFrom(parts);
  const text = tail
    ? [
        'The tail comes from ',
        el('strong', {}, foreign(partName(tail.part))),
        `: ${duration(tail.ns)} more than around the median, ${share(tail.share)} of the growth of the whole path.`,
      ]
    : few
      ? 'The trials have too few messages to show where the slowest ones lost their time.'
      : 'The slowest messages took no longer than those around the median.';
  return [el('p', {}, text), el('div', { class: 'ways' }, rows), el('p', { class: 'note' }, `Of ${count(messages)} messages whose whole path is known.`)];
}

function rowText(parts, of) {
  return parts.map((part) => `${partName(part)} ${duration(part[of])}`).join(', ');
}

function table(parts) {
  const time = (key, title) => ({ key, title, numeric: true, cell: ({ part }) => (part[key] ? timeEstimate(part[key]) : NONE) });
  const mean = (key, title) => ({ key, title, numeric: true, cell: ({ part }) => (part[key] === null ? NONE : duration(part[key])) });
  return tableOf({
    name: 'parts',
    caption: 'Parts of the path, in both directions',
    rows: parts.map((part, n) => ({ part, n })),
    columns: [
      {
        key: 'part',
        title: 'Part',
        header: true,
        cell: ({ part, n }) => [el('span', { class: `swatch part-${n % COLORS}`, 'aria-hidden': 'true' }), foreign(partName(part))],
      },
      time('p50_ns', 'p50'),
      time('p90_ns', 'p90'),
      time('p99_ns', 'p99'),
      { key: 'share', title: 'Share', help: 'of the mean of the whole', numeric: true, cell: ({ part }) => share(part.share) },
      mean('at_median_ns', 'Around the median'),
      mean('in_tail_ns', 'In the slowest 1 %'),
    ],
  });
}

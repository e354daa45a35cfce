// Tooltips: HTML without a style of its own, every text in it escaped. Classes: tip, tip-title, tip-mark,
// tip-rows, tip-note.

import { QUANTILES, count, ratioEstimate, share, unresolvable } from '../format.js';
import { metricName } from '../tables.js';
import {
  OUTLINES,
  allConditions,
  lack,
  lostShare,
  metricOf,
  quantileOf,
  seriesName,
  sourceText,
  styleOf,
  trialsText,
} from './common.js';
import { escapeHtml, short } from './text.js';

/** The symbol of a series; attributes, not styles, so that a strict content policy lets it be. */
function mark(style) {
  const outline = OUTLINES[style.mark] ?? OUTLINES.circle;
  const paint = style.hollow
    ? `fill="none" stroke-width="1.5" stroke="${escapeHtml(style.color)}"`
    : `fill="${escapeHtml(style.color)}"`;
  return `<svg class="tip-mark" width="10" height="10" viewBox="0 0 10 10" aria-hidden="true"><path d="${outline}" ${paint}/></svg> `;
}

/** Names may have any length; a tooltip has not. */
const LONGEST = 90;
const text = (value, length = 400) => escapeHtml(short(value, length));

/**
 * A tooltip: a title with the mark of its series, rows of `[name, value]` or `[name, value, style]`, and notes
 * below. Rows without a value are left out.
 */
export function tip({ title, style, rows = [], notes = [] }) {
  const parts = [];
  if (title) {
    parts.push(`<p class="tip-title">${style ? mark(style) : ''}${text(title, LONGEST)}</p>`);
  }
  const kept = rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
  if (kept.length > 0) {
    const lines = kept.map(
      ([head, value, marked]) =>
        `<tr><th scope="row">${marked ? mark(marked) : ''}${text(head, 50)}</th><td>${text(value)}</td></tr>`,
    );
    parts.push(`<table class="tip-rows"><tbody>${lines.join('')}</tbody></table>`);
  }
  for (const note of notes.filter(Boolean)) parts.push(`<p class="tip-note">${text(note)}</p>`);
  return `<div class="tip">${parts.join('')}</div>`;
}

/** How many samples a metric has: `1 500 (12 lost, 0.8 %)`. */
export function samplesText(figures) {
  if (!figures) return null;
  const lost = figures.infinite > 0 ? `, ${count(figures.infinite)} lost (${share(lostShare(figures))})` : '';
  return `${count(figures.n)}${lost}`;
}

/** What every tooltip says of a cell: the metric's quantiles with intervals, n, trials, conditions. */
export function cellTip(view, cell, theme, { first = [], quantiles = true, metric, notes = [] } = {}) {
  const shown = metric ?? metricOf(view, cell).metric;
  const figures = unresolvable(cell.e, shown) ? null : (cell.e.metrics?.[shown] ?? null);
  const rows = [...first];
  if (quantiles && figures) {
    for (const [key, title] of Object.entries(QUANTILES)) {
      rows.push([`${title}, ${metricName(shown)}`, quantileOf(figures, key).text]);
    }
  }
  const ratio = cell.e.floor?.p50_ratio;
  if (quantiles && ratio) rows.push(['× floor', ratioEstimate(ratio)]);
  rows.push(['samples', samplesText(figures)], ['trials', trialsText(cell.e)]);
  const why = lack(cell, shown);
  return tip({
    title: seriesName(view, cell),
    style: styleOf(view, cell, theme),
    rows,
    notes: [
      why && `${why.failed ? '✕ ' : ''}${why.text}`,
      cell.e.unstable ? `unstable: ${cell.e.unstable_reason ?? 'a repeat may differ'}` : null,
      ...notes,
      allConditions(cell),
    ],
  });
}

/** What a mark of figures of others says: value as printed, beside what, from where, and its known flaws. */
export function publishedTip(view, figure, beside) {
  const study = figure.source;
  return tip({
    title: `${figure.as ?? 'published'}: ${figure.text}`,
    rows: [
      ['figure', `${figure.quantile} of ${metricName(figure.metric)}, not measured by Dyno`],
      ['source', sourceText(study)],
      ['measured on', study?.testbed],
      ['beside', beside],
    ],
    notes: flawsOf(figure),
  });
}

/** What is known to be wrong with a figure of others: the two flaws that concern it most, as sentences. */
export function flawsOf(figure) {
  const flaws = figure.source?.flaws ?? [];
  const about = figure.metric === 'first_message_ns' ? 'first' : 'communication';
  const near = (f) => f.about.startsWith(about);
  const sorted = [...flaws.filter(near), ...flaws.filter((f) => !near(f))];
  const lines = sorted.slice(0, 2).map((f) => `Known flaw (${f.about}): ${f.says}`);
  if (flaws.length > 2) lines.push(`${flaws.length - 2} more known flaws are listed with the sources.`);
  return lines;
}

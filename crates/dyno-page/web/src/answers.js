// The answer: in words, and as one table with the best stack of each question. Questions, order and words
// come with the document; here they meet the reader's selection.

import { el, fold, name, refill, withNames } from './dom.js';
import {
  COLUMNS,
  cpuKey,
  floorKey,
  floorOf,
  lostKey,
  lostOf,
  memoryKey,
  memoryOf,
  opener,
  quantileKey,
  quantileOf,
  trialsOf,
} from './cells.js';
import { NONE, duration } from './format.js';
import { swatch } from './marks.js';
import { groupBy, loadOf, stackName } from './plots/common.js';
import { plural } from './plots/text.js';
import { keptTable, nameColumn } from './table.js';
import { metricName } from './tables.js';

/** So many questions of an experiment stand open; of more, the first and the heaviest, and the others fold. */
const WORDS = 4;

/**
 * The questions of a view, each as {run, question, metric, text, asked, best, ties, failed, partial}: `best`
 * is the fastest selected cell (null where none completed), `ties` those that cannot be told from it,
 * `partial` whether the selection leaves some of the question's cells out.
 */
export function questionsOf(view) {
  const shown = new Set(view.cells.map((c) => `${c.run}.${c.index}`));
  const rows = [];
  for (const run of view.runs) {
    for (const answer of run.answers ?? []) {
      const cellAt = (index) => view.cellOf(run.index, index);
      const all = (answer.experiments ?? []).map(cellAt).filter(Boolean);
      const asked = all.filter((c) => shown.has(`${c.run}.${c.index}`));
      if (asked.length === 0) continue;
      const p50 = (c) => (c.e.is_floor || c.e.is_loopback ? null : (c.e.metrics?.[answer.metric]?.p50 ?? null));
      const told = (answer.best ?? []).map(cellAt).filter((c) => c && asked.includes(c));
      let [best, ...ties] = told;
      if (!best || best.index !== answer.best[0]) {
        // The best of all is not selected: the next in order is, with all whose intervals overlap with its.
        const ranked = asked.filter((c) => p50(c) && p50(c).value !== null);
        best = ranked[0] ?? null;
        ties = ranked.slice(1).filter((c) => p50(best).hi === null || p50(c).lo <= p50(best).hi);
      }
      rows.push({
        run,
        question: answer.question,
        metric: answer.metric,
        text: answer.text,
        hint: answer.hint ?? null,
        asked,
        best: best ?? null,
        ties,
        failed: asked.filter((c) => c.e.trials === 0),
        partial: asked.length < all.length,
      });
    }
  }
  // Runs side by side: the same question of all runs, then the next.
  const order = new Map();
  for (const row of rows) if (!order.has(row.question)) order.set(row.question, order.size);
  return rows.sort((a, b) => order.get(a.question) - order.get(b.question));
}

/** Fills the section and keeps it up to date. */
export function answers(section, store, open) {
  const words = el('div', { class: 'words' });
  const table = keptTable(store, { name: 'answers', caption: 'The best stack for each question', limit: 16, explain: true });
  section.append(words, table.element);
  store.watch((view) => {
    const rows = questionsOf(view);
    fillWords(words, rows, view);
    table.fill({
      columns: columnsOf(rows, view, open),
      rows,
      caption: 'The best stack for each question, by the p50 of the main metric',
    });
  });
}

function fillWords(words, rows, view) {
  const several = view.doc.runs.length > 1;
  const sentence = (row) =>
    el(
      'li',
      {},
      el(
        'span',
        { class: 'question' },
        several ? [name(row.run.name), ': '] : null,
        withNames(row.question, namesOf(row)),
      ),
      ' ',
      el('span', { class: 'text' }, withNames(row.text, namesOf(row))),
    );
  const list = (part) => el('ul', { class: 'sentences' }, part.map(sentence));
  const { open, folded } = foldedBy(rows);
  const hints = new Set(rows.map((row) => row.hint).filter(Boolean));
  refill(
    words,
    rows.length ? list(open) : el('p', { class: 'nothing' }, 'The selection contains no question.'),
    folded.map(({ experiment, rows: rest }) =>
      fold([`${plural(rest.length, 'more question')} of `, name(experiment), ', with intermediate loads'], list(rest)),
    ),
    [...hints].map((hint) => el('p', { class: 'hint' }, hint)),
    rows.some((row) => row.partial)
      ? el('p', { class: 'hint' }, 'The sentences cover all stacks; the table covers the selected ones.')
      : null,
  );
}

/**
 * Which answers stand open and which fold, by experiment: of each, whatever the suite asks first and its heaviest load
 * are always in sight. Rows keep their order; the answers of several runs to one question stand or fold together.
 */
export function foldedBy(rows) {
  const open = new Set();
  const folded = [];
  const load = (question) => Math.max(...question.items.map((row) => loadOf(row.asked[0].e)));
  for (const { key: experiment, items: own } of groupBy(rows, (row) => row.asked[0].e.experiment)) {
    const questions = groupBy(own, (row) => row.question);
    const heaviest = questions.reduce((most, question) => (load(question) >= load(most) ? question : most));
    const kept = questions.length > WORDS ? [...questions.slice(0, WORDS - 1), heaviest] : questions;
    for (const row of kept.flatMap((question) => question.items)) open.add(row);
    const rest = own.filter((row) => !open.has(row));
    if (rest.length > 0) folded.push({ experiment, rows: rest });
  }
  return { open: rows.filter((row) => open.has(row)), folded };
}

function namesOf(row) {
  return row.asked.flatMap((c) => [c.e.stack, c.e.experiment, c.e.floor?.stack]);
}

function columnsOf(rows, view, open) {
  const several = view.doc.runs.length > 1;
  const onBest =
    (f, none = NONE) =>
    (row) =>
      row.best ? f(row.best.e, row) : none;
  const keyOfBest = (f) => onBest(f, null);
  const quantile = (q, help) => ({
    key: q,
    title: q,
    help,
    numeric: true,
    cell: onBest((e, row) => quantileOf(e, row.metric, q)),
    sort: keyOfBest((e, row) => quantileKey(e, row.metric, q)),
  });
  const metrics = new Set(rows.map((row) => row.metric));
  const anyFailed = rows.some((row) => row.failed.length > 0);
  const anyTrouble = rows.some((row) => row.best && (row.best.e.failed_trials > 0 || row.best.e.disturbed_trials > 0));
  return [
    several && nameColumn('run', 'Run', (row) => row.run.name),
    {
      key: 'question',
      title: 'Question',
      header: true,
      class: 'question',
      cell: (row) => [
        withNames(row.question, namesOf(row)),
        metrics.size > 1 ? el('span', { class: 'metric' }, ` ${metricName(row.metric)}`) : null,
      ],
      sort: (row) => row.question,
    },
    {
      key: 'best',
      title: 'Best stack',
      help: 'with the stacks that cannot be distinguished from it, because their intervals overlap',
      class: 'best',
      cell: (row) => bestCell(row, open),
      sort: (row) => row.best?.e.stack ?? null,
    },
    quantile('p50', 'median with its 95 % interval'),
    quantile('p99'),
    { ...COLUMNS.floor, cell: onBest(floorOf), sort: keyOfBest(floorKey) },
    {
      ...COLUMNS.cpu,
      title: 'CPU',
      unit: 'per message',
      cell: onBest((e) => (cpuKey(e) === null ? NONE : duration(cpuKey(e)))),
      sort: keyOfBest(cpuKey),
    },
    { ...COLUMNS.memory, cell: onBest(memoryOf), sort: keyOfBest(memoryKey) },
    {
      key: 'lost',
      title: 'Lost',
      help: 'messages that never arrived, and their share of those offered',
      numeric: true,
      cell: onBest(lostOf),
      sort: keyOfBest(lostKey),
    },
    anyTrouble && {
      key: 'trials',
      title: 'Trials',
      help: 'trials of the best stack: counted, then failed, disturbed and missing ones',
      cell: onBest(trialsOf),
      sort: keyOfBest((e) => e.failed_trials),
    },
    anyFailed && {
      key: 'failed',
      title: 'Failed stacks',
      help: 'stacks of the question without any completed trial',
      cell: (row) => failedCell(row, open),
      sort: (row) => row.failed.length,
    },
  ].filter(Boolean);
}

function bestCell(row, open) {
  if (!row.best) return el('span', { class: 'bad' }, 'none completed');
  const ties = row.ties.length
    ? el(
        'span',
        { class: 'ties', title: 'cannot be distinguished from it: the intervals overlap' },
        ' ≈ ',
        row.ties.slice(0, 3).map((c, i) => [i ? ', ' : null, name(stackName(c))]),
        row.ties.length > 3 ? `, ${row.ties.length - 3} more` : null,
      )
    : null;
  return [opener(row.best, open, [swatch(row.best.style), name(stackName(row.best))]), ties];
}

function failedCell(row, open) {
  if (row.failed.length === 0) return '0';
  return el(
    'span',
    { class: 'bad' },
    `${row.failed.length}: `,
    row.failed.slice(0, 3).map((c, i) => [i ? ', ' : null, opener(c, open, name(stackName(c)))]),
    row.failed.length > 3 ? ` and ${row.failed.length - 3} more` : null,
  );
}

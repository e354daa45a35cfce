// Runs side by side: what `dyno compare` says of each later run against the first, as it says it.

import { button, el, fold, foreign, foreignList, name } from './dom.js';
import { NONE, duration, payload, sig3, withPrefix } from './format.js';
import { nameColumn, tableOf, textColumn } from './table.js';
import { inWords } from './tables.js';

const SIGNS = {
  lower: '▼',
  higher: '▲',
  same: '=',
  undecided: '?',
  'machine-moved': '?',
  'left-out': NONE,
};
const ORDER = ['higher', 'lower', 'machine-moved', 'undecided', 'same', 'left-out'];

/** Fills the section; without comparisons it stays as it is. */
export function comparison(section, store, open) {
  const box = el('div');
  section.append(box);
  store.watch(({ doc }) => box.replaceChildren(...(doc.comparisons ?? []).map((c, at) => one(c, at, store, open))));
}

function one({ base, new: newer, compare, ids }, at, store, open) {
  const { doc } = store.model;
  const label = (run) => name(doc.runs[run]?.name ?? `run ${run}`);
  // A run that was measured against another build or stack is compared with itself.
  const title =
    base === newer
      ? [label(newer), ': ', name(compare.new?.name ?? 'new'), ' against ', name(compare.base?.name ?? 'base')]
      : [label(newer), ' against ', label(base)];
  const shown = new Set(store.view.cells);
  // The experiment of the new run that each cell speaks of, as far as the page shows it.
  const places = new Map((compare.cells ?? []).map((cell, i) => [cell, ids[i]]));
  const find = (cell) => store.model.cells.find((c) => c.run === newer && c.e.id === places.get(cell)) ?? null;
  const selected = (cell) => {
    const known = find(cell);
    return known === null || shown.has(known);
  };
  const rows = (compare.cells ?? [])
    .filter(selected)
    .flatMap((cell) => (cell.rows ?? []).map((row) => ({ cell, row })));
  const table = tableOf({
    name: `compare-${at}`,
    tall: true,
    limit: 80,
    // What has changed first.
    sort: { key: 'verdict', descending: false },
    rowClass: ({ row }) => `verdict-${row.verdict}`,
    rows,
    caption: captionOf(compare),
    columns: columnsOf(rows, find, open),
  });
  const counts = tally(rows.map(({ row }) => row));
  return el(
    'article',
    { class: 'comparison' },
    el('h3', {}, title),
    compare.conclusion ? el('p', { class: 'conclusion' }, foreign(compare.conclusion)) : null,
    el(
      'p',
      { class: 'verdicts' },
      counts.map(({ said, row, n }, i) => [
        i ? ' · ' : null,
        el('span', { class: toneOf(row) }, `${SIGNS[row.verdict]} ${n} ${said}`),
      ]),
    ),
    compare.moved_floor
      ? el(
          'p',
          { class: 'bad' },
          'The floor changed: ',
          name(compare.moved_floor.stack),
          ` ×${sig3(compare.moved_floor.ratio)}.`,
        )
      : null,
    differences(compare.differences ?? []),
    table,
    leftOut(compare.left_out ?? []),
    compare.notes?.length ? foreignList(compare.notes, { class: 'notes' }) : null,
  );
}

/** What is said of a row in a word or two: `faster`, `cheaper`, `undecided`. */
function wordOf(row) {
  const sure = row.verdict === 'lower' || row.verdict === 'higher';
  if (sure) return row.text ?? row.verdict;
  return { 'machine-moved': 'undecided, the machine changed', 'left-out': 'left out' }[row.verdict] ?? row.verdict;
}

/** How often each is said, changes first. */
function tally(rows) {
  const groups = new Map();
  for (const row of rows) {
    const said = wordOf(row);
    const known = groups.get(said) ?? { said, row, n: 0 };
    groups.set(said, { ...known, n: known.n + 1 });
  }
  return [...groups.values()].sort((a, b) => ORDER.indexOf(a.row.verdict) - ORDER.indexOf(b.row.verdict));
}

/** Colours say again what sign and word say: lower times and costs are good, and higher rates. */
function toneOf(row) {
  if (row.verdict !== 'lower' && row.verdict !== 'higher') return 'verdict unsure';
  const good = (row.figure === 'delivered_hz') === (row.verdict === 'higher');
  return `verdict ${good ? 'better' : 'worse'}`;
}

function captionOf(compare) {
  const parts = ['New divided by base, with the interval of the ratio'];
  if (compare.paired) parts.push('trials in pairs');
  if (Number.isFinite(compare.confidence)) parts.push(`all intervals hold at once with ${sig3(100 * compare.confidence)} % confidence`);
  if (Number.isFinite(compare.margin)) parts.push(`“same” is within ${sig3(100 * compare.margin)} %`);
  return parts.join('; ');
}

function columnsOf(rows, find, open) {
  const conditions = (c) =>
    [c.workload, payload(c.payload_bytes), c.wait, c.access, c.placement, c.topology, c.paired ? 'pair' : '']
      .filter(Boolean)
      .join(', ');
  return [
    {
      key: 'stack',
      title: 'Stack',
      header: true,
      class: 'stack',
      cell: ({ cell }) => {
        const known = find(cell);
        const label = [
          name(cell.stack),
          cell.base_stack && cell.base_stack !== cell.stack ? [' over ', name(cell.base_stack)] : null,
        ];
        return known ? button(label, () => open(known), { class: 'open' }) : label;
      },
      sort: ({ cell }) => cell.stack,
    },
    nameColumn('experiment', 'Experiment', ({ cell }) => cell.experiment),
    textColumn('conditions', 'Conditions', ({ cell }) => conditions(cell), { class: 'factor' }),
    { key: 'figure', title: 'Figure', cell: ({ row }) => inWords(row.figure), sort: ({ row }) => row.figure },
    { key: 'base', title: 'Base', numeric: true, cell: ({ row }) => amount(row.base, row.unit) },
    { key: 'new', title: 'New', numeric: true, cell: ({ row }) => amount(row.new, row.unit) },
    {
      key: 'ratio',
      title: 'New / base',
      numeric: true,
      cell: ({ row }) =>
        row.ratio === undefined
          ? NONE
          : { value: ends(row.ratio), interval: row.lo === undefined ? '' : `[${ends(row.lo)}, ${ends(row.hi)}]` },
      sort: ({ row }) => (row.ratio === null ? Infinity : (row.ratio ?? null)),
    },
    {
      key: 'verdict',
      title: 'Verdict',
      class: 'verdict-cell',
      cell: ({ row }) => {
        const said = row.text ?? (row.reason ? `left out: ${row.reason}` : wordOf(row));
        return el('span', { class: toneOf(row) }, `${SIGNS[row.verdict] ?? ''} `, foreign(said));
      },
      sort: ({ row }) => ORDER.indexOf(row.verdict),
    },
    {
      key: 'trials',
      title: 'Trials',
      help: 'base and new',
      cell: ({ row }) => (row.base_trials === undefined ? NONE : `${row.base_trials}, ${row.new_trials}`),
    },
    rows.some(({ cell }) => cell.remarks?.length) && {
      key: 'remarks',
      title: 'Remarks',
      class: 'remarks',
      cell: ({ cell }) =>
        (cell.remarks ?? []).map((r, i) => [i ? '; ' : null, foreign(typeof r === 'string' ? r : r.text)]),
    },
  ].filter(Boolean);
}

/** `null` is infinite, as in all judgements. */
const ends = (v) => (v === null ? '∞' : sig3(v));

function amount(value, unit) {
  if (value === undefined) return NONE;
  if (value === null) return '∞';
  if (unit === '1') return `${sig3(100 * value)} %`;
  return unit === 'ns' ? duration(value) : withPrefix(value, unit ?? '');
}

function differences(all) {
  if (all.length === 0)
    return el('p', { class: 'hint' }, 'No recorded property of the two runs differs, except for their trials.');
  return tableOf({
    name: 'differences',
    caption: 'What differs between the two runs',
    limit: 12,
    rows: all,
    columns: [
      { key: 'aspect', title: 'Area', cell: (d) => d.aspect },
      { key: 'what', title: 'Property', header: true, cell: (d) => foreign(d.what) },
      { key: 'base', title: 'Base', cell: (d) => foreign(d.base) },
      { key: 'new', title: 'New', cell: (d) => foreign(d.new) },
    ],
  });
}

function leftOut(all) {
  if (all.length === 0) return null;
  const named = (cell) => (typeof cell === 'string' ? foreign(cell) : [name(cell.experiment), ', ', name(cell.stack)]);
  const items = all.map(({ cell, reason }) => el('li', {}, named(cell), ': ', foreign(reason)));
  return fold(`${all.length} experiments were not compared`, el('ul', {}, items));
}

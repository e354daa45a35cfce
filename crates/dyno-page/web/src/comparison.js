// Runs side by side: what `dyno compare` says of each later run against the first, as it says it.

import { el, foreign, name } from './dom.js';
import { NONE, duration, payload, sig3, withPrefix } from './format.js';
import { DataTable } from './table.js';

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
  const update = () => {
    const all = store.model.doc.comparisons ?? [];
    box.replaceChildren(...all.map((c, at) => one(c, at, store, open)));
  };
  update();
  store.subscribe((_view, _state, changed) => {
    if (changed.doc) update();
  });
}

function one({ base, new: newer, compare }, at, store, open) {
  const { doc } = store.model;
  const label = (run) => name(doc.runs[run]?.name ?? `run ${run}`);
  // A run that was measured against another build or stack is compared with itself.
  const title =
    base === newer
      ? [label(newer), ': ', name(compare.new?.name ?? 'new'), ' against ', name(compare.base?.name ?? 'base')]
      : [label(newer), ' against ', label(base)];
  const rows = (compare.cells ?? []).flatMap((cell) => (cell.rows ?? []).map((row) => ({ cell, row })));
  const table = new DataTable({
    name: `compare-${at}`,
    caption: '',
    tall: true,
    limit: 80,
    rowClass: ({ row }) => `verdict-${row.verdict}`,
  });
  table.fill({
    rows,
    caption: captionOf(compare),
    columns: columnsOf(rows, newer, store, open),
  });
  const counts = ORDER.map((v) => [v, rows.filter(({ row }) => row.verdict === v).length]).filter(([, n]) => n);
  return el(
    'article',
    { class: 'comparison' },
    el('h3', {}, title),
    compare.conclusion ? el('p', { class: 'conclusion' }, foreign(compare.conclusion)) : null,
    el(
      'p',
      { class: 'verdicts' },
      counts.map(([verdict, n], i) => [
        i ? ' · ' : null,
        el('span', { class: `verdict ${verdict}` }, `${SIGNS[verdict]} ${n} ${words(verdict)}`),
      ]),
    ),
    compare.moved_floor
      ? el(
          'p',
          { class: 'bad' },
          'The floor moved: ',
          name(compare.moved_floor.stack),
          ` ×${sig3(compare.moved_floor.ratio)}.`,
        )
      : null,
    differences(compare.differences ?? []),
    table.element,
    leftOut(compare.left_out ?? []),
    compare.notes?.length
      ? el(
          'ul',
          { class: 'notes' },
          compare.notes.map((n) => el('li', {}, foreign(n))),
        )
      : null,
  );
}

const words = (verdict) =>
  verdict.replace('machine-moved', 'undecided, the machine moved').replace('left-out', 'left out');

function captionOf(compare) {
  const parts = ['New over base, with the interval of the ratio'];
  if (compare.paired) parts.push('trials in pairs');
  if (Number.isFinite(compare.confidence)) parts.push(`${sig3(100 * compare.confidence)} % sure over the whole table`);
  if (Number.isFinite(compare.margin)) parts.push(`“same” is within ${sig3(100 * compare.margin)} %`);
  return parts.join('; ');
}

function columnsOf(rows, newer, store, open) {
  const cellOf = (cell) => find(store.model, newer, cell);
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
        const known = cellOf(cell);
        const label = [
          name(cell.stack),
          cell.base_stack && cell.base_stack !== cell.stack ? [' over ', name(cell.base_stack)] : null,
        ];
        return known ? el('button', { type: 'button', class: 'open', on: { click: () => open(known) } }, label) : label;
      },
      sort: ({ cell }) => cell.stack,
    },
    {
      key: 'experiment',
      title: 'Experiment',
      cell: ({ cell }) => name(cell.experiment),
      sort: ({ cell }) => cell.experiment,
    },
    {
      key: 'conditions',
      title: 'Conditions',
      class: 'factor',
      cell: ({ cell }) => conditions(cell),
      sort: ({ cell }) => conditions(cell),
    },
    { key: 'figure', title: 'Figure', cell: ({ row }) => figureName(row.figure), sort: ({ row }) => row.figure },
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
      cell: ({ row }) => [
        el('span', { class: `verdict ${row.verdict}` }, `${SIGNS[row.verdict] ?? ''} ${words(row.verdict)}`),
        row.text || row.reason ? el('span', { class: 'why' }, ' ', foreign(row.text ?? row.reason)) : null,
      ],
      sort: ({ row }) => ORDER.indexOf(row.verdict),
    },
    {
      key: 'trials',
      title: 'Trials',
      help: 'base and new',
      cell: ({ row }) =>
        row.base_trials === undefined
          ? NONE
          : `${row.base_trials}, ${row.new_trials}${row.more_trials ? ` (${row.more_trials} would decide)` : ''}`,
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
  return unit === 'ns' ? duration(value) : withPrefix(value, unit ?? '');
}

function figureName(figure) {
  return String(figure)
    .replace('rtt_ns', 'round trip')
    .replace('response_ns', 'response time')
    .replace('service_ns', 'service time')
    .replace('first_message_ns', 'first message')
    .replace('delivered_hz', 'delivered rate')
    .replace('cpu_ns_per_message', 'CPU per message');
}

/** The experiment of a run that a judgement's cell speaks of. */
function find(model, run, cell) {
  const same = ['experiment', 'stack', 'payload_bytes', 'wait', 'access', 'placement', 'topology'];
  return model.cells.find((c) => c.run === run && same.every((key) => c.e[key] === cell[key])) ?? null;
}

function differences(all) {
  if (all.length === 0)
    return el('p', { class: 'hint' }, 'Nothing that was recorded of the two runs differs but their trials.');
  const table = new DataTable({ name: 'differences', caption: 'What differs between the two runs', limit: 12 });
  table.fill({
    rows: all,
    columns: [
      { key: 'aspect', title: 'Of', cell: (d) => d.aspect },
      { key: 'what', title: 'What', header: true, cell: (d) => foreign(d.what) },
      { key: 'base', title: 'Base', cell: (d) => foreign(d.base) },
      { key: 'new', title: 'New', cell: (d) => foreign(d.new) },
    ],
  });
  return table.element;
}

function leftOut(all) {
  if (all.length === 0) return null;
  return el(
    'details',
    {},
    el('summary', {}, `${all.length} experiments were not compared`),
    el(
      'ul',
      {},
      all.map(({ cell, reason }) =>
        el(
          'li',
          {},
          typeof cell === 'string' ? foreign(cell) : [name(cell.experiment), ', ', name(cell.stack)],
          ': ',
          foreign(reason),
        ),
      ),
    ),
  );
}

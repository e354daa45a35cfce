// Figures that others published, beside ours, and what is known to be wrong with them.

import { button, el, foreign, name } from './dom.js';
import { quantileKey, quantileOf } from './cells.js';
import { NONE, QUANTILES, conditions, sig3, splitFactors, timeEstimate } from './format.js';
import { DataTable, foreignColumn, nameColumn, textColumn } from './table.js';
import { metricName } from './tables.js';

/** All published figures of the selected cells, each with its cell and study. */
function figuresOf(view) {
  const shown = new Set(view.cells.map((c) => `${c.run}.${c.index}`));
  return view.runs.flatMap((run) =>
    (run.published ?? [])
      .filter((p) => shown.has(`${run.index}.${p.experiment}`))
      .map((p) => ({
        ...p,
        cell: view.cellOf(run.index, p.experiment),
        study: view.studies[p.study] ?? null,
        at: p.study,
      })),
  );
}

/** Fills the section and keeps it up to date. */
export function published(section, store, open) {
  const table = new DataTable({ name: 'published', caption: '', tall: true, limit: 60 });
  const studies = el('div', { class: 'studies' });
  section.append(table.element, studies);
  store.watch((view) => {
    studies.replaceChildren(...view.studies.map(study));
    const rows = figuresOf(view);
    table.fill({
      rows,
      caption: 'Published figures beside the figures of this report; hardware and versions differ',
      columns: columnsOf(rows, view, open),
    });
  });
}

/** Ours that a published figure stands beside: its estimate, or the plain number where it is none. */
function ours(p) {
  const { e } = p.cell;
  const m = e.metrics?.[p.metric];
  if (!m) return { value: NONE, interval: '' };
  if (p.quantile in QUANTILES) return quantileOf(e, p.metric, p.quantile);
  const plain = m[p.quantile];
  return Number.isFinite(plain)
    ? { value: timeEstimate({ value: plain, lo: plain, hi: plain }).replace(/ \[.*\]/, ''), interval: '' }
    : { value: NONE, interval: '' };
}

function oursKey(p) {
  const { e } = p.cell;
  if (p.quantile in QUANTILES) return quantileKey(e, p.metric, p.quantile);
  return e.metrics?.[p.metric]?.[p.quantile] ?? null;
}

function columnsOf(rows, view, open) {
  const { varying } = splitFactors(rows.map((p) => p.cell.e));
  const several = view.doc.runs.length > 1;
  const ratio = (p) => {
    const own = oursKey(p);
    return own && Number.isFinite(own) && p.value_ns > 0 ? own / p.value_ns : null;
  };
  return [
    {
      key: 'stack',
      title: 'Stack',
      header: true,
      class: 'stack',
      cell: (p) => button(name(p.cell.e.stack), () => open(p.cell), { class: 'open' }),
      sort: (p) => p.cell.e.stack,
    },
    several && nameColumn('run', 'Run', (p) => view.doc.runs[p.cell.run].name, { sort: (p) => p.cell.run }),
    nameColumn('experiment', 'Experiment', (p) => p.cell.e.experiment),
    textColumn('conditions', 'Conditions', (p) => conditions(varying, p.cell.e), { class: 'factor' }),
    {
      key: 'metric',
      title: 'Figure',
      cell: (p) => `${metricName(p.metric)}, ${QUANTILES[p.quantile] ?? p.quantile}`,
      sort: (p) => `${p.metric} ${p.quantile}`,
    },
    { key: 'ours', title: 'Here', numeric: true, cell: ours, sort: oursKey },
    { key: 'theirs', title: 'Published', numeric: true, cell: (p) => foreign(p.text), sort: (p) => p.value_ns },
    {
      key: 'ratio',
      title: 'Here / published',
      numeric: true,
      cell: (p) => (ratio(p) === null ? NONE : sig3(ratio(p))),
      sort: ratio,
    },
    foreignColumn('as', 'Published as', (p) => p.as),
    {
      key: 'study',
      title: 'Source',
      cell: (p) => (p.study ? el('a', { href: `#study-${p.at}` }, shortSource(p.study)) : NONE),
      sort: (p) => p.at,
    },
  ].filter(Boolean);
}

function shortSource(study) {
  const first = study.authors?.[0]?.split(' ').pop() ?? study.title;
  return `${first}${study.authors?.length > 1 ? ' et al.' : ''} ${study.year}`;
}

function study(s, at) {
  return el(
    'article',
    { class: 'study', id: `study-${at}`, tabindex: '-1' },
    el('h3', {}, foreign(s.title)),
    el(
      'p',
      { class: 'source' },
      `${(s.authors ?? []).join(', ')}. ${s.where}, ${s.year}. `,
      s.testbed ? ['Measured on: ', foreign(s.testbed), '.'] : null,
    ),
    s.flaws?.length
      ? [
          el('h4', {}, 'Known errors and open questions'),
          el(
            'ul',
            { class: 'flaws' },
            s.flaws.map((f) => el('li', {}, el('strong', {}, f.about), ': ', foreign(f.says))),
          ),
        ]
      : null,
  );
}

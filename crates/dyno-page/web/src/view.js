// The state of the page and the view that follows from it. Pure: knows nothing of the page itself.
//
// State is what the reader chose; it lives in the URL's fragment, so that a link keeps the selection.
// A view is the document through that choice: what every section and every plot draws. Plots get
//
//   view = {
//     doc,             the page's document
//     runs,            [{index, name, show, details, answers, published, problems, running}], selected ones
//     studies,         doc.studies
//     selected,        {runs, stacks, experiments, flows, workloads, sizes, waits, topologies, placements}: Sets
//     metric,          'auto' (each experiment's headline) | a metric's name
//     quantile,        'p50' | 'p90' | 'p99' | 'p999': for plots that show one
//     ratio,           'best' | 'floor': what the matrix divides by
//     log,             logarithmic axes
//     cells,           [{run, index, e, d, style, question, mixes, way}]: selected experiments, in the order of the plan;
//                      run and index count in doc.runs and show.experiments, style counts stacks; `question` in words, `mixes` where
//                      each stack waits in its own way, `way` where that takes to tell a stack's cells apart
//     metricOf(cell),  the metric to show of a cell
//     cellOf(run, index)  any cell of the document, selected or not
//     one              true in the dialog of one experiment: a single cell, whose trials may stand apart
//   }

import { flowOf, payload } from './format.js';
import { isClosedLoop, learn, metricChoices as allChoices, metricName } from './tables.js';

/** What cells can be selected by: key in `selected`, name in the URL, heading, value, text of it. */
const FACETS = [
  { key: 'runs', param: 'run', title: 'Runs', of: (c, doc) => doc.runs[c.run].name },
  { key: 'stacks', param: 'stack', title: 'Stacks', of: (c) => c.e.stack },
  { key: 'experiments', param: 'experiment', title: 'Experiments', of: (c) => c.e.experiment },
  { key: 'flows', param: 'flow', title: 'Flows', of: (c) => flowOf(c.e), show: (name) => name || 'none' },
  { key: 'workloads', param: 'workload', title: 'Workloads', of: (c) => c.e.workload },
  {
    key: 'sizes',
    param: 'payload',
    title: 'Payload sizes',
    of: (c) => c.e.payload_bytes,
    show: payload,
    parse: Number,
    order: (a, b) => a - b,
  },
  { key: 'waits', param: 'wait', title: 'Wait strategies', of: (c) => c.e.wait },
  { key: 'topologies', param: 'topology', title: 'Topologies', of: (c) => c.e.topology },
  { key: 'placements', param: 'placement', title: 'Placements', of: (c) => c.e.placement },
];

/** The state of a page that nobody has touched. */
export function initialState() {
  return { chosen: {}, metric: 'auto', quantile: 'p50', ratio: 'best', log: true, sorts: {}, cell: null };
}

/** All cells of the document, with a stable style number for each stack. */
function allCells(doc) {
  const styles = new Map();
  const cells = [];
  doc.runs.forEach((run, runIndex) => {
    (run.show?.experiments ?? []).forEach((e, index) => {
      if (!styles.has(e.stack)) styles.set(e.stack, styles.size);
      const d = run.details?.[index] ?? null;
      if (d?.factors) e.factors = d.factors;
      cells.push({ run: runIndex, index, e, d, style: styles.get(e.stack) });
    });
  });
  nameWaits(doc, cells);
  return cells;
}

/** Marks the cells of questions in which each stack waits in its own way, and names the wait where a stack has several. */
function nameWaits(doc, cells) {
  const at = new Map(cells.map((c) => [`${c.run}.${c.index}`, c]));
  doc.runs.forEach((run, runIndex) => {
    for (const answer of run.answers ?? []) {
      const asked = (answer.experiments ?? []).map((index) => at.get(`${runIndex}.${index}`)).filter(Boolean);
      const mixes = new Set(asked.map((c) => c.e.wait)).size > 1;
      for (const cell of asked) {
        cell.mixes = mixes;
        cell.question = answer.question;
        const own = asked.filter((c) => c.e.stack === cell.e.stack);
        cell.way = mixes && new Set(own.map((c) => c.e.wait)).size > 1 ? cell.e.wait : null;
      }
    }
  });
}

/** The values that a facet has in these cells, in the order of their appearance or of the facet. */
function facetValues(facet, cells, doc) {
  const values = [...new Set(cells.map((c) => facet.of(c, doc)))];
  return facet.order ? values.sort(facet.order) : values;
}

/** The metric choices that some cell can show. */
export function metricChoices(cells) {
  return allChoices().filter(({ value }) => {
    if (value === 'auto') return true;
    const able = cells.filter((c) => hasMetric(c, value));
    // A choice that would show what the headline shows already is none.
    return able.some((c) => c.e.headline !== value);
  });
}

function hasMetric(cell, metric) {
  return Boolean(cell.e.metrics?.[metric]);
}

/**
 * The metric to show of a cell under a choice: closed loops have no service time apart from their
 * round trip, so it stands for it; `null` where the cell has nothing to show.
 */
export function metricFor(cell, choice) {
  if (choice === 'auto' || hasMetric(cell, choice)) {
    return choice === 'auto' ? cell.e.headline : choice;
  }
  return choice === 'service_ns' && isClosedLoop(cell.e) ? cell.e.headline : null;
}

/** The document and what is computed of it once: cells and the values of facets. */
export function modelOf(doc) {
  learn(doc);
  const cells = allCells(doc);
  const byPlace = new Map(cells.map((c) => [`${c.run}.${c.index}`, c]));
  const facets = FACETS.map((facet) => ({ ...facet, values: facetValues(facet, cells, doc) }));
  return { doc, cells, facets, cellOf: (run, index) => byPlace.get(`${run}.${index}`) ?? null };
}

/** The view of a state. */
export function viewOf(model, state) {
  const { doc } = model;
  const selected = {};
  for (const facet of model.facets) {
    const chosen = state.chosen[facet.key];
    selected[facet.key] = new Set(chosen ?? facet.values);
  }
  const cells = model.cells.filter(
    (c) => model.facets.every((f) => selected[f.key].has(f.of(c, doc))) && metricFor(c, state.metric) !== null,
  );
  const runs = doc.runs
    .map((run, index) => ({ ...run, index }))
    .filter((run) => selected.runs.has(run.name) || run.show?.experiments?.length === 0);
  return {
    doc,
    runs,
    studies: doc.studies ?? [],
    selected,
    metric: state.metric,
    quantile: state.quantile,
    ratio: state.ratio,
    log: state.log,
    cells,
    metricOf: (cell) => metricFor(cell, state.metric) ?? cell.e.headline,
    cellOf: model.cellOf,
    one: false,
  };
}

/** The view of one cell, for its dialog. */
export function viewOfCell(view, cell) {
  return {
    ...view,
    runs: view.doc.runs.map((run, index) => ({ ...run, index })).filter((r) => r.index === cell.run),
    cells: [cell],
    one: true,
  };
}

/** The choice in words: what is left out, or that nothing is. */
export function selectionText(model, view) {
  const parts = [];
  for (const facet of model.facets) {
    const selected = facet.values.filter((v) => view.selected[facet.key].has(v));
    if (selected.length === facet.values.length) continue;
    const shown = selected.map((v) => (facet.show ? facet.show(v) : v));
    parts.push(`${facet.title.toLowerCase()}: ${shown.length ? shown.join(', ') : 'none'}`);
  }
  const what = parts.length ? `Shown: ${parts.join('; ')}` : 'Everything is shown';
  const choice = allChoices().find((c) => c.value === view.metric);
  const metric = view.metric === 'auto' ? '' : `; ${choice ? choice.title.toLowerCase() : metricName(view.metric)}`;
  return `${what}${metric}.`;
}

// ---- The state as text ----

/** The state as a URL fragment without `#`; empty for the initial one. */
export function hashOf(state) {
  const params = new URLSearchParams();
  for (const facet of FACETS) {
    const chosen = state.chosen[facet.key];
    if (!chosen) continue;
    // An empty choice must not read as none made.
    if (chosen.length === 0) params.append(facet.param, '');
    for (const value of chosen) params.append(facet.param, String(value));
  }
  if (state.metric !== 'auto') params.set('metric', state.metric);
  if (state.quantile !== 'p50') params.set('quantile', state.quantile);
  if (state.ratio !== 'best') params.set('ratio', state.ratio);
  if (!state.log) params.set('scale', 'linear');
  for (const [table, sort] of Object.entries(state.sorts)) {
    params.set(`sort-${table}`, `${sort.descending ? '-' : ''}${sort.key}`);
  }
  if (state.cell) params.set('open', `${state.cell.run}.${state.cell.index}`);
  return params.toString();
}

/** The state that a URL fragment describes; what the document does not have is left out. */
export function stateOf(hash, model) {
  const state = initialState();
  const text = hash.replace(/^#/, '');
  // A fragment without `=` names a place of the page.
  if (!text.includes('=')) return state;
  const params = new URLSearchParams(text);
  for (const facet of model.facets) {
    const given = params.getAll(facet.param);
    if (given.length === 0) continue;
    const parsed = new Set(given.map((text) => (facet.parse ? facet.parse(text) : text)));
    const known = facet.values.filter((v) => parsed.has(v));
    // A link made for another page names nothing that is here: then all is shown.
    const meant = known.length > 0 || given.every((text) => text === '');
    if (meant && known.length < facet.values.length) state.chosen[facet.key] = known;
  }
  if (allChoices().some((c) => c.value === params.get('metric'))) state.metric = params.get('metric');
  if (['p90', 'p99', 'p999'].includes(params.get('quantile'))) state.quantile = params.get('quantile');
  if (params.get('ratio') === 'floor') state.ratio = 'floor';
  state.log = params.get('scale') !== 'linear';
  for (const [name, value] of params) {
    const table = /^sort-([a-z]+)$/.exec(name)?.[1];
    const sort = /^(-?)([a-z0-9_-]+)$/.exec(value);
    if (table && sort) state.sorts[table] = { key: sort[2], descending: sort[1] === '-' };
  }
  const open = /^(\d+)\.(\d+)$/.exec(params.get('open') ?? '');
  if (open && model.cellOf(Number(open[1]), Number(open[2]))) {
    state.cell = { run: Number(open[1]), index: Number(open[2]) };
  }
  return state;
}

/** Fields of the state that make another view; the others only open or sort. */
const VIEW_STATE = ['chosen', 'metric', 'quantile', 'ratio', 'log'];

/** The state, and who wants to know when it changes. */
export class Store {
  constructor(model, state) {
    this.model = model;
    this.state = state;
    this.view = viewOf(model, state);
    this.listeners = [];
  }

  /** Calls `listener(view, state, {view: bool, doc: bool})` at each change; the last says what changed. */
  subscribe(listener) {
    this.listeners.push(listener);
  }

  /** Calls `update(view)` now and whenever there is another view. */
  watch(update) {
    update(this.view);
    this.subscribe((view, _state, changed) => changed.view && update(view));
  }

  /** Takes over these fields of the state. */
  set(patch) {
    this.state = { ...this.state, ...patch };
    const view = VIEW_STATE.some((key) => key in patch);
    if (view) this.view = viewOf(this.model, this.state);
    this.tell({ view, doc: false });
  }

  /** Takes another document, such as a newer one of a run that is still written; the state stays. */
  replace(doc) {
    this.model = modelOf(doc);
    this.state = stateOf(`#${hashOf(this.state)}`, this.model);
    this.view = viewOf(this.model, this.state);
    this.tell({ view: true, doc: true });
  }

  tell(changed) {
    for (const listener of this.listeners) listener(this.view, this.state, changed);
  }

  /** Selects these values of a facet; all of them is the same as no choice. */
  choose(key, values) {
    const facet = this.model.facets.find((f) => f.key === key);
    const chosen = { ...this.state.chosen };
    const kept = facet.values.filter((v) => values.has(v));
    if (kept.length === facet.values.length) delete chosen[key];
    else chosen[key] = kept;
    this.set({ chosen });
  }
}

// The dialog of one experiment: its figures, distribution and time series, every trial, what failed and
// why, what disturbed it, and where it ran.

import { announce, button, el, fold, foreign, foreignList, name, pairs, refill } from './dom.js';
import { cellTitle, floorOf, lostOf, quantileOf, spread, stackMarks, trialsOf } from './cells.js';
import { chainParts } from './chain.js';
import { Figure, applies } from './figure.js';
import {
  NONE,
  QUANTILES,
  commonTimeUnit,
  conditions,
  count,
  duration,
  estimateParts,
  factors,
  memory,
  rate,
  share,
  sig3,
  unresolvable,
  withPrefix,
} from './format.js';
import { environment } from './runs.js';
import { nameColumn, numberColumn, tableOf, textColumn } from './table.js';
import { metricName } from './tables.js';
import { viewOfCell } from './view.js';

/** Plots that say something of one experiment, in this order. */
const PLOTS = ['ecdf', 'percentiles', 'time'];

/** Makes `dialog` the dialog of cells; gives `{open(cell, opener), close(), repaint()}`. */
export function drill(dialog, plots, store, context) {
  let drawn = [];
  let opener = null;
  const heading = el('h2', { id: 'drill-title' });
  const close = button('Close', () => dialog.close(), { class: 'close', 'aria-label': 'Close the dialog' });
  const body = el('div', { class: 'drill-body' });
  dialog.setAttribute('aria-labelledby', 'drill-title');
  refill(dialog, el('div', { class: 'drill-head' }, heading, close), body);

  function clear() {
    for (const figure of drawn) figure.dispose();
    drawn = [];
    refill(body);
  }

  function fill(cell) {
    clear();
    const view = viewOfCell(store.view, cell);
    const run = store.model.doc.runs[cell.run];
    refill(heading, cellTitle(cell.e));
    drawn = PLOTS.map((id) => plots.find((p) => p.id === id))
      .filter((plot) => plot && applies(plot, view))
      .map((plot) => new Figure(plot, view, { ...context, prefix: 'drill-', open: () => {} }));
    refill(
      body,
      about(cell, run, store.model.doc),
      troubles(cell),
      section('Figures', metricsTable(cell), facts(cell)),
      drawn.length
        ? section('Distribution and course over time', el('div', { class: 'grid' }, drawn.map((f) => f.element)))
        : null,
      way(cell),
      section('Trials', trialsTable(cell, view)),
      processes(cell),
      section('Environment', environment(run)),
    );
  }

  dialog.addEventListener('close', () => {
    clear();
    if (store.state.cell) store.set({ cell: null });
    const back = opener;
    opener = null;
    if (back?.isConnected) back.focus({ preventScroll: true });
  });
  // A click beside the dialog closes it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });

  return {
    open(cell, from = document.activeElement) {
      if (!dialog.open) opener = from;
      fill(cell);
      if (!dialog.open) dialog.showModal();
      dialog.scrollTop = 0;
      close.focus();
      // Drawings need the width that the open dialog gives them.
      for (const figure of drawn) figure.approach();
      announce(`${cell.e.experiment}, ${cell.e.stack}`);
      store.set({ cell: { run: cell.run, index: cell.index } });
    },
    close() {
      if (dialog.open) dialog.close();
    },
    repaint() {
      for (const figure of drawn) figure.update(figure.view);
    },
  };
}

function section(title, ...content) {
  return el('section', {}, el('h3', {}, title), ...content);
}

/** The way of a message, where the stack is a chain. */
function way({ e }) {
  const parts = chainParts(e.chain);
  return parts.length ? section('The path of a message', ...parts) : null;
}

function about(cell, run, doc) {
  const { e } = cell;
  const marks = stackMarks(e);
  return pairs([
    ['Stack', [foreign(e.stack), marks.length ? ` (${marks.join(', ')})` : null]],
    ['Experiment', foreign(e.experiment)],
    ['Run', doc.runs.length > 1 ? [name(run.name), ' · ', foreign(run.show.run.id)] : null],
    ['Conditions', conditions(factors(), e)],
    ['Trials', trialsOf(e)],
  ]);
}

/** Everything that makes one trust the figures less, before the figures. */
function troubles(cell) {
  const { e } = cell;
  const items = [];
  const say = (...content) => items.push(el('li', {}, ...content));
  const faster = (stacks) => `${stacks.join(', ')} ${stacks.length > 1 ? 'are' : 'is'} faster.`;
  for (const f of e.failures ?? []) {
    const printed = f.stderr?.length ? fold('Its output', el('pre', {}, f.stderr.join('\n'))) : null;
    const what = `✕ ${f.count} failed: ${f.kind} in ${f.step}: `;
    items.push(el('li', { class: 'bad' }, what, foreign(f.message), printed));
  }
  if (e.unstable && e.trials > 0) say('~ unstable: ', foreign(e.unstable_reason ?? 'a repeat may differ'));
  if (unresolvable(e, 'response_ns')) {
    say(`One-way times are not shown: the clocks of the hosts may differ by up to ${duration(e.clock_bound_ns)}.`);
  }
  for (const d of e.disturbances ?? []) say(`Disturbed (${d.trials}): `, foreign(d.text));
  if (e.all_disturbed) say('The host disturbed every trial, so Dyno uses the disturbed trials.');
  if (e.floor?.why_none) say(`No × floor: ${e.floor.why_none}.`);
  if (e.floor?.undercut_by?.length) {
    say(`${e.floor.stack} is only a reference here, not a floor: ${faster(e.floor.undercut_by)}`);
  }
  if (e.undercut_by?.length) say(`Only a reference here, not a floor: ${faster(e.undercut_by)}`);
  for (const w of e.warnings ?? []) say(`Warning (${w.trials}): `, foreign(w.text));
  return items.length ? section('Warnings', el('ul', { class: 'troubles' }, items)) : null;
}

function metricsTable({ e }) {
  const rows = Object.entries(e.metrics ?? {}).map(([metric, m]) => ({ metric, m, e }));
  // Side by side with what the figures would be if the disturbed trials counted.
  if (e.with_disturbed) {
    const { figures: m, trials } = e.with_disturbed;
    const at = rows.findIndex((row) => row.metric === e.headline);
    const all = { metric: e.headline, m, e: { ...e, metrics: { ...e.metrics, [e.headline]: m } }, with: trials };
    rows.splice(at + 1, 0, all);
  }
  const plainTime = (of) => ({
    numeric: true,
    cell: (row) => (row.m[of] === null || unresolvable(e, row.metric) ? NONE : duration(row.m[of])),
  });
  return tableOf({
    name: 'metrics',
    caption: 'All metrics, over the trials that count',
    rows,
    columns: [
      {
        key: 'metric',
        title: 'Metric',
        header: true,
        cell: (row) => [
          metricName(row.metric),
          row.with
            ? el('span', { class: 'marks' }, ` with the disturbed trials (${row.with} trials)`)
            : row.metric === e.headline
              ? el('span', { class: 'marks' }, ' headline')
              : null,
        ],
      },
      { key: 'n', title: 'n', help: 'samples that arrived', numeric: true, cell: (row) => count(row.m.n) },
      {
        key: 'lost',
        title: 'Lost',
        help: 'lost messages count as infinitely late in every quantile',
        numeric: true,
        cell: (row) => count(row.m.infinite),
      },
      { key: 'min', title: 'Smallest', ...plainTime('min') },
      ...Object.entries(QUANTILES).map(([q, title]) => ({
        key: q,
        title,
        numeric: true,
        cell: (row) => quantileOf(row.e, row.metric, q),
      })),
      { key: 'max', title: 'Largest', ...plainTime('max') },
      {
        key: 'saturated',
        title: 'Saturated',
        help: 'samples beyond the range of the recorder',
        numeric: true,
        cell: (row) => count(row.m.saturated),
      },
    ],
  });
}

function facts({ e }) {
  const t = e.throughput;
  const c = e.cost;
  const floor = floorOf(e);
  const at = (of, write) => {
    const s = spread(of, write);
    return s === NONE ? null : el('span', { title: s.title }, s.value);
  };
  const tail = e.host?.tail ?? {};
  const tails = Object.entries(tail)
    .filter(([, of]) => of)
    .map(
      ([q, of]) =>
        `${QUANTILES[q]} ${duration(of.own_ns)}${of.explained === null ? '' : ` (explains ${share(of.explained)})`}`,
    );
  const counts = e.counts ?? {};
  const odd = ['duplicated', 'reordered', 'corrupted', 'truncated', 'refused', 'late'].filter((k) => counts[k]);
  return pairs([
    ['× floor', e.floor?.p50_ratio ? `${floor.value} ${floor.interval}` : null],
    ['Delivered', e.delivered_ratio === null ? null : `${share(e.delivered_ratio)} of ${count(counts.offered)}`],
    ['Lost', lostOf(e) === NONE ? null : lostOf(e)],
    ['Also counted', odd.map((k) => `${k} ${count(counts[k])}`).join(', ')],
    ['Offered', t ? at(t.offered_hz, rate) : null],
    ['Delivered rate', t ? at(t.delivered_hz, rate) : null],
    ['Payload delivered', t ? at(t.delivered_bytes_per_s, (v) => withPrefix(v, 'B/s')) : null],
    ['Blocked in sends', t ? at(t.blocked_share, share) : null],
    ['CPU per message', c ? at(c.cpu_ns_per_message, duration) : null],
    ['CPU in the window', c ? at(c.cpu_ns, duration) : null],
    ['Context switches per message', c ? at(c.switches_per_message, sig3) : null],
    ['Memory (PSS)', c ? at(c.pss_bytes, memory) : null],
    ['Peak RSS', c ? at(c.peak_rss_bytes, memory) : null],
    ['Opening', at(e.open_ns, duration)],
    ['Matching', at(e.matching_ns, duration)],
    ['Warm-up', at(e.warmup_ns, duration)],
    [
      'A repeat may differ by',
      e.repeat_within === null || e.repeat_within === undefined ? null : share(e.repeat_within),
    ],
    ['Drift within the window', e.drift ? ratioText(e.drift) : null],
    ['Modes', e.modes ? modesText(e.modes) : null],
    ['Tail from gaps of the machine', tails.join(', ')],
    ["Hosts' clocks differ by at most", Number.isFinite(e.clock_bound_ns) ? duration(e.clock_bound_ns) : null],
    ['Precision', precisionText(e.precision)],
  ]);
}

function ratioText(estimate) {
  const parts = estimateParts(estimate);
  return `× ${parts.value} ${parts.interval}`;
}

function modesText(m) {
  const cause = m.cause ? `; cause: ${m.cause}` : '';
  return `${duration(m.low_ns)} and ${duration(m.high_ns)} (${share(m.high_share)} of the blocks are slow)${cause}`;
}

function precisionText(p) {
  if (!p) return null;
  const got = p.got === null ? 'no bound' : `±${share(p.got)}`;
  return `${got}, requested ±${share(p.asked)}${p.reached ? '' : ' (not reached)'}`;
}

function trialsTable(cell, view) {
  const { e, d } = cell;
  const trials = d?.trials ?? [];
  const metric = view.metricOf(cell);
  const unit = commonTimeUnit(trials.map((t) => t.metrics?.[metric]?.p50).filter((v) => v !== null));
  const at = (q) => (t) => {
    const m = t.metrics?.[metric];
    if (!m || unresolvable(e, metric)) return null;
    const v = m[q];
    // Null is infinite, where so much was lost; what too few samples bear is left out.
    if (v === null && q !== 'max') return Infinity;
    return v ?? null;
  };
  const time = (q, title) => ({
    key: q,
    title,
    unit: unit.name,
    numeric: true,
    cell: (t) => (at(q)(t) === null ? NONE : sig3(at(q)(t) / unit.ns)),
    sort: at(q),
  });
  const plain = (key, title, write, of = (t) => t[key], unit = null) => {
    const known = (v) => (v === null ? NONE : write(v));
    return numberColumn(key, title, known, (t) => of(t) ?? null, { unit });
  };
  return tableOf({
    name: 'trials',
    limit: 50,
    tall: true,
    rowClass: (t) => (t.outcome === 'failed' ? 'failed' : t.counted ? null : 'left-out'),
    rows: trials,
    caption: `${trials.length} trials; ${metricName(metric)}, each in fresh processes`,
    columns: [
      numberColumn('number', 'Trial', String, (t) => t.number, { header: true }),
      textColumn('state', 'State', stateOf),
      plain('start', 'Began', sig3, (t) => t.start_s, 's'),
      plain('took', 'Took', sig3, (t) => t.wall_s, 's'),
      plain('n', 'n', count, (t) => t.metrics?.[metric]?.n),
      time('p50', 'p50'),
      time('p90', 'p90'),
      time('p99', 'p99'),
      time('max', 'Largest'),
      plain('lost', 'Lost', count),
      plain('delivered_hz', 'Delivered', rate),
      plain('cpu', 'CPU/message', duration, (t) => t.cpu_ns_per_message),
      plain('pss', 'Memory', memory, (t) => t.pss_bytes),
      plain('stolen', 'Stolen', share, (t) => t.host?.stolen),
      plain('foreign', 'Others', share, (t) => t.host?.foreign),
      plain('gaps', 'Gaps', share, (t) => t.host?.gaps),
      { key: 'why', title: 'Remarks', class: 'remarks', cell: remarksOf },
    ],
  });
}

function stateOf(t) {
  if (t.outcome === 'failed') return '✕ failed';
  if (!t.counted) return 'left out';
  return t.disturbed?.length ? 'counts, disturbed' : 'counts';
}

function remarksOf(t) {
  const parts = [];
  if (t.outcome === 'failed') parts.push(`${t.kind} in ${t.step}: ${t.message}`);
  parts.push(...(t.disturbed ?? []), ...(t.warnings ?? []));
  return parts.length ? foreignList(parts) : '';
}

/** Where the cost goes: every process of the trials that have some, daemons apart. */
function processes({ d }) {
  const rows = (d?.trials ?? []).flatMap((t) => (t.processes ?? []).map((p) => ({ trial: t.number, ...p })));
  if (rows.length === 0) return null;
  const table = tableOf({
    name: 'processes',
    caption: 'Cost of every process',
    limit: 20,
    tall: true,
    rows,
    columns: [
      numberColumn('trial', 'Trial', String, (p) => p.trial),
      nameColumn('label', 'Process', (p) => p.label, { header: true }),
      { key: 'daemon', title: 'Daemon', cell: (p) => (p.daemon ? 'yes' : 'no'), sort: (p) => (p.daemon ? 0 : 1) },
      numberColumn('cpu', 'CPU', duration, (p) => p.cpu_ns),
      numberColumn('pss', 'Memory (PSS)', memory, (p) => p.pss_bytes),
    ],
  });
  return section('Processes', table);
}

// Delivered against offered rate of open loops. What lies on the diagonal delivered everything; the distance
// below it was lost or held up.

import { rate, share, withPrefix } from '../format.js';
import {
  MAX_PANELS,
  MAX_SERIES,
  conditionKey,
  entryOf,
  fastest,
  fill,
  groupBy,
  lack,
  lacks,
  leftOut,
  limited,
  panelsOf,
  place,
  seriesName,
  styleOf,
  yardsticksLast,
} from './common.js';
import {
  asideOf,
  axisOf,
  dots,
  failedSeries,
  markLabel,
  onPanel,
  scaleOf,
  thinLine,
} from './chart.js';
import { cellColumns, column, plotOf, rounded } from './plot.js';
import { plural, rateTick, short } from './text.js';
import { cellTip } from './tip.js';

const OPEN = new Set(['stream', 'flood', 'burst']);
/** From this share on a loss is written beside its mark. */
const LOSS = 0.01;
/** Conditions under which offered rates may differ within a panel. */
const WITHIN = ['workload', 'topology', 'cpus', 'window', 'experiment'];

/** Rates of a cell per second: `{ offered, delivered, lost }`, the medians of its trials; or null. */
function ratesOf(cell) {
  const t = cell.e.throughput;
  // What is sent once is to arrive at each receiver, and counts at each.
  const offered = (t?.offered_hz?.median ?? 0) * receiversOf(cell);
  if (!(offered > 0)) return null;
  const delivered = t.delivered_hz.median;
  // Counts are exact; rates of a short window also miss what is still on its way.
  const ratio = cell.e.delivered_ratio ?? delivered / offered;
  return { offered, delivered, lost: Math.max(0, 1 - ratio), spread: t.delivered_hz };
}

/** `1-1`, or `1-1x4` of four exchanges at once: `[senders, receivers, copies]`. */
const sidesOf = (cell) => {
  const [senders, receivers, copies = 1] = cell.e.topology.split(/[-x]/).map(Number);
  return [senders, receivers, copies];
};

const receiversOf = (cell) => sidesOf(cell)[1] || 1;

/** What a cell without a trial would have offered, as far as the plan says it. */
function planned(cell) {
  const [senders, receivers, copies] = sidesOf(cell);
  const { load = {}, workload } = cell.e;
  const each = workload === 'burst' ? load.messages / (load.period_ns / 1e9) : load.rate_hz;
  const hz = each * senders * receivers * copies;
  return Number.isFinite(hz) ? hz : null;
}

/** Whether a panel has more than one place for marks: stacks that deliver all of one rate share a dot that says nothing. */
function tells(group) {
  const rates = group.items.map(ratesOf).filter(Boolean);
  const places = new Set(rates.map((r) => `${r.offered.toPrecision(2)} ${r.delivered.toPrecision(2)}`));
  return places.size > 1 || rates.some((r) => r.lost >= LOSS);
}

function drawn(view) {
  const cells = view.cells.filter((c) => OPEN.has(c.e.workload) && (ratesOf(c) || lack(c)));
  const groups = groupBy(cells, (c) => conditionKey(c.e, WITHIN));
  const all = yardsticksLast(groups.filter(tells));
  const { panels, shared, ...rest } = panelsOf(limited(all, MAX_PANELS), {
    without: WITHIN,
    all: true,
    keep(g) {
      const stacks = groupBy(g.items, (c) => seriesName(view, c)).map((s) => s.items);
      // The most delivered first: of what is left out least is lost to the reader.
      return fastest(stacks, (s) => -Math.max(...s.map((c) => ratesOf(c)?.delivered ?? 0)), MAX_SERIES);
    },
    panel(stacks, words, g) {
      const names = [...new Set(g.items.map((c) => c.e.experiment))];
      return { title: [short(names.join(', '), 60), ...words].join(', '), stacks };
    },
  });
  const losing = panels.some((p) => p.stacks.flat().some((c) => ratesOf(c)?.lost >= LOSS));
  const notes = [
    ...(losing ? [`Hollow with a percentage: ${100 * LOSS} % or more of the messages were lost.`] : []),
    ...leftOut({ panels, ...rest }).map((n) => n.replace('the fastest ones', 'those that deliver most')),
    ...lacks(view, rest.cells),
  ];
  return { panels, shared, notes };
}

const room = (d) => ({ height: d.panels.length === 1 ? 360 : 250, minWidth: 400, right: 56 });

function panelOf(view, theme, panel, i) {
  const cells = panel.stacks.flat();
  const rates = cells.map(ratesOf).filter(Boolean);
  const failed = cells.filter((c) => !ratesOf(c));
  const offered = rates.map((r) => r.offered).concat(failed.map(planned).filter((v) => v !== null));
  const x = scaleOf(offered, { log: view.log, ticks: 5 });
  const delivered = rates.flatMap((r) => [r.delivered, r.offered]).filter((v) => v > 0);
  const y = scaleOf(delivered, { log: view.log, ticks: 5 });
  const series = [diagonal(theme, i, x, y)];
  panel.stacks.forEach((stack, k) => {
    const style = styleOf(view, stack[0], theme);
    const known = stack.map((cell) => ({ cell, ...ratesOf(cell) })).filter((p) => p.offered);
    known.sort((a, b) => a.offered - b.offered);
    const aside = asideOf(k, panel.stacks.length, 5, 36);
    const data = known.map((p) => ({
      value: [p.offered, view.log ? Math.max(p.delivered, y.min) : p.delivered],
      open: place(p.cell),
      symbolOffset: [aside, 0],
      itemStyle: p.lost >= LOSS ? { ...fill(style, true), borderWidth: 2 } : undefined,
      label: p.lost >= LOSS ? { ...markLabel(theme, `−${share(p.lost)}`), distance: 4 } : undefined,
    }));
    const labelLayout = { moveOverlap: 'shiftY', hideOverlap: true };
    const name = seriesName(view, stack[0]);
    series.push(dots(i, style, { id: `throughput:${i}:${k}`, name, symbolSize: 9, data, labelLayout }));
    // A sweep of one experiment's rates is a line; different topologies and loads are not.
    const sweep = sweepOf(known);
    if (new Set(sweep.map((p) => p.offered)).size > 2) {
      const lineStyle = { color: style.color, type: style.dash, width: 1.4, opacity: 0.8 };
      const swept = sweep.map((p) => [p.offered, p.delivered]);
      series.push(thinLine(i, style, { id: `throughput:${i}:${k}:sweep`, name, data: swept, lineStyle }));
    }
  });
  if (failed.length > 0) {
    const at = (n) => ({ symbolOffset: [(n % 7) * 5 - 15, -8] });
    const crosses = failed.map((c, n) => ({ value: [planned(c) ?? x.min, y.min], ...at(n), open: place(c) }));
    series.push(failedSeries(theme, i, crosses));
  }
  const look = { log: view.log, format: rateTick };
  return {
    xAxis: axisOf(theme, i, x, { ...look, title: 'offered to all receivers, messages/s', gap: 28 }),
    yAxis: axisOf(theme, i, y, { ...look, title: 'delivered', gap: 56 }),
    series,
  };
}

/** The points of the topology that was tried with the most rates. */
function sweepOf(known) {
  const groups = groupBy(known, (p) => JSON.stringify([p.cell.e.topology, p.cell.e.workload]));
  return groups.map((g) => g.items).sort((a, b) => b.length - a.length)[0] ?? [];
}

function diagonal(theme, i, x, y) {
  const lo = Math.max(x.min, y.min);
  const hi = Math.min(x.max, y.max);
  return {
    id: `diagonal:${i}`,
    name: 'all delivered',
    type: 'line',
    ...onPanel(i),
    data: [[lo, lo], { value: [hi, hi], label: { ...markLabel(theme, 'all delivered', 'insideBottomRight'), color: theme.muted } }],
    symbol: 'circle',
    symbolSize: 0.1,
    silent: true,
    tooltip: { show: false },
    lineStyle: { color: theme.muted, type: [4, 4], width: 1 },
    itemStyle: { color: theme.muted },
    z: 1,
  };
}

function hover(view, theme, d, { cell }) {
  const r = ratesOf(cell);
  const bytes = cell.e.throughput?.delivered_bytes_per_s?.median;
  const blocked = cell.e.throughput?.blocked_share?.median;
  const first = r
    ? [
        ['offered', rate(r.offered)],
        ['delivered', `${rate(r.delivered)} [${rate(r.spread.min)} to ${rate(r.spread.max)} over trials]`],
        ['lost', r.lost > 0 ? share(r.lost) : 'none'],
        ['data', bytes ? withPrefix(bytes, 'B/s') : null],
        ['blocked in sends', blocked > 0 ? share(blocked) : null],
      ]
    : [];
  return cellTip(view, cell, theme, { first });
}

const entries = (view, theme, d) => d.panels.flatMap((p) => p.stacks.map(([cell]) => entryOf(view, theme, cell)));

const columns = (view) => [
  ...cellColumns(view),
  rounded('offered', ({ r }) => r?.offered, '1/s'),
  rounded('delivered', ({ r }) => r?.delivered, '1/s'),
  rounded('delivered min', ({ r }) => r?.spread.min, '1/s'),
  rounded('delivered max', ({ r }) => r?.spread.max, '1/s'),
  rounded('delivered data', ({ r, cell }) => r && cell.e.throughput.delivered_bytes_per_s?.median, 'bytes/s'),
  rounded('lost share', ({ r }) => r?.lost),
  rounded('lost messages', ({ r, cell }) => r && cell.e.counts.lost),
  rounded('blocked share', ({ r, cell }) => r && cell.e.throughput.blocked_share?.median),
  column('trials', ({ cell }) => cell.e.trials),
  column('remark', ({ cell }) => lack(cell)?.text),
];

const rows = (d) => d.panels.flatMap((p) => p.stacks.flat()).map((cell) => ({ cell, r: ratesOf(cell) }));

function summary(view) {
  const cells = drawn(view).panels.flatMap((p) => p.stacks.flat());
  if (cells.length === 0) return 'Throughput: no stream, flood or burst is selected.';
  const losing = cells.filter((c) => ratesOf(c)?.lost >= LOSS);
  const failed = cells.filter((c) => !ratesOf(c));
  const worst = losing.sort((a, b) => ratesOf(b).lost - ratesOf(a).lost)[0];
  const parts = [`Delivered against offered rate of ${plural(cells.length, 'experiment')}.`];
  parts.push(
    worst
      ? `${losing.length} lost 1 % or more, the most ${seriesName(view, worst)} with ${share(ratesOf(worst).lost)}.`
      : 'None lost 1 % or more.',
  );
  if (failed.length) parts.push(`${plural(failed.length, 'experiment')} failed or did not run.`);
  return parts.join(' ');
}

export const throughput = plotOf({
  id: 'throughput',
  title: 'Throughput',
  question: 'How many of the offered messages arrive?',
  kinds: { log: true, response: false },
  empty: 'No stream, flood or burst is selected. (In a closed loop, the offered rate is the delivered rate.)',
  drawn,
  room,
  panelOf,
  entries,
  hover,
  columns,
  rows,
  summary,
});

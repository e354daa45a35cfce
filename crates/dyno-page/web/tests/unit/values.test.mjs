// What each plot draws and exports, value by value.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitFactors } from '../../src/format.js';
import { TABLES } from '../fixture.mjs';
import { learn } from '../../src/tables.js';
import { inBlocks } from '../../src/matrix.js';
import { pointsOf } from '../../src/plots/distribution.js';
import { plots } from '../../src/plots/index.js';
import { inkOn, luminance, rampAt } from '../../src/plots/matrix.js';
import { fitLine, fitText } from '../../src/plots/scaling.js';
import { HOSTILE, bare, cell, documentOf, rich, S, searched, several, stacks, theme, two, unplugged, view, viewOfOne } from './fixture.mjs';

const plot = (id) => plots.find((p) => p.id === id);
/** Rows of a table as objects by column name. */
function rows(id, v) {
  const { columns, rows } = plot(id).table(v);
  return rows.map((row) => Object.fromEntries(row.map((value, i) => [columns[i].name, value])));
}
const series = (id, v, match, t = theme()) => plot(id).option(v, t).series.filter((s) => match.test(s.id));

test('flows tell rows apart, and an experiment that is none says nothing of flows', () => {
  learn({ tables: TABLES });
  const flow = (name, by_itself) => ({ flow: { name, by_itself } });
  const factor = splitFactors([flow('control', false), flow('control', true)]).varying.find((f) => f.key === 'flow');
  assert.deepEqual([flow('control', false), flow('control', true), {}].map(factor.of), ['control', 'control alone', '']);
});

test('percentiles: the largest of n samples stands at the rank 1 - 1/n, p50 with its interval', () => {
  const v = view(stacks(1));
  const { points, lost } = pointsOf(v, v.cells[0]);
  assert.equal(lost, null);
  const last = points[points.length - 1];
  assert.equal(last.ns, 200_000);
  assert.ok(Math.abs(last.x - Math.log10(2000)) < 1e-9);
  const all = rows('percentiles', v);
  const half = all.find((r) => r.rank === 0.5);
  assert.equal(half.latency, 10_000);
  assert.deepEqual([half.lo, half.hi], [9800, 10_200]);
  assert.equal(all[all.length - 1].rank, 1);
  assert.equal(all[0].samples, 2000);
});

test('percentiles: a curve leaves at the top where messages were lost, and says how many', () => {
  const v = view(documentOf([[cell(0, { infinite: 500 })]]));
  const [line] = series('percentiles', v, /:curve$/);
  const last = line.data[line.data.length - 1];
  assert.ok(last.lost);
  assert.ok(Math.abs(last.value[0] - -Math.log10(0.2)) < 1e-9, 'at the rank up to which messages arrived');
  assert.equal(last.value[1], plot('percentiles').option(v, theme()).yAxis[0].max);
  // Beside the arrow where the panel has no names at its right.
  assert.match(series('percentiles', v, /:curve$/, theme('light', 500))[0].data.pop().label.formatter(), /lost 20\.0 %/);
  const all = rows('percentiles', v);
  assert.equal(all[all.length - 1].latency, Infinity);
});

test('percentiles: one experiment shows its single trials, disturbed ones apart', () => {
  const v = viewOfOne(stacks(1));
  const names = series('percentiles', v, /:trial/).map((s) => s.name);
  assert.deepEqual(names, ['single trials', 'single trials', 'disturbed trials']);
  assert.equal(series('percentiles', view(stacks(1)), /:trial/).length, 0);
});

test('percentiles: the axis is stretched by nines and labelled as ranks', () => {
  const [axis] = plot('percentiles').option(view(stacks(1)), theme()).xAxis;
  const labels = axis.axisLabel.customValues.map((x) => axis.axisLabel.formatter(x));
  assert.deepEqual(labels, ['0 %', '50 %', '90 %', '99 %', '99.9 %']);
});

test('ecdf: ends below the whole where messages were lost', () => {
  const v = view(documentOf([[cell(0, { infinite: 500 })]]));
  const [line] = series('ecdf', v, /:curve$/);
  const last = line.data[line.data.length - 1];
  assert.equal(last.value[1], 0.8);
  assert.match(series('ecdf', v, /:curve$/, theme('light', 500))[0].data.pop().label.formatter(), /20\.0 % lost/);
});

test('service time is shown where it is asked for', () => {
  const doc = documentOf([[cell(0, { workload: 'stream' })]]);
  assert.equal(rows('percentiles', view(doc)).find((r) => r.rank === 0.5).latency, 10_000);
  const service = rows('percentiles', view(doc, { metric: 'service_ns' })).find((r) => r.rank === 0.5);
  assert.deepEqual([service.metric, service.latency], ['service_ns', 9000]);
});

test('size: p50 with interval over payload, the fit with S beside it, losses at the top', () => {
  const v = view(rich());
  const all = rows('size', v);
  const tcp = all.filter((r) => r.stack === 'tcp');
  assert.deepEqual(tcp.map((r) => r.payload), [100_000, 1_000_000, 2_000_000, 4_000_000]);
  assert.equal(tcp[0].p50, 225_000);
  assert.deepEqual([tcp[0].S, tcp[0]['S lo'], tcp[0]['S hi']], [S.value, S.lo, S.hi]);
  assert.equal(all.filter((r) => r.stack === 'zenoh-tcp')[0].remark, 'too few trials');
  // 1500 of 3500 lost: the p50 is still known.
  assert.equal(all.filter((r) => r.stack === 'fastdds-udp').pop().hi > 0, true);
  assert.ok(series('size', v, /:fit$/).length >= 1);
});

test('size: a fit is a straight line of S ns per byte, and has no place below zero on logarithmic axes', () => {
  const fit = { s_ms_per_mb: S, intercept_ns: 200_000 };
  assert.deepEqual(fitLine(fit, 0, 4_000_000, false), [[0, 200_000], [4_000_000, 1_200_000]]);
  const below = fitLine({ s_ms_per_mb: S, intercept_ns: -100_000 }, 100_000, 4_000_000, true);
  assert.ok(below.length > 0 && below.every(([, ns]) => ns > 0));
  assert.equal(fitText(fit), '0.250 [0.200, 0.300] ms/MB');
  assert.equal(fitText({ s_ms_per_mb: null, reason: 'too few' }), 'too few');
  assert.equal(fitText({ s_ms_per_mb: { value: 1, lo: null, hi: null } }), '1.00 [-∞, ∞] ms/MB');
});

test('size: the quantile that the reader chose', () => {
  const [first] = rows('size', view(rich(), { quantile: 'p99' }));
  assert.equal(first.p99, 225_000 * 4);
});

test('topology: boxes by topology, lost ones infinite, failed ones with their reason', () => {
  const doc = documentOf([[
    cell(0, { stack: 'a', topology: '1-1' }),
    cell(1, { stack: 'a', topology: '1-3', infinite: 100 }),
    cell(2, { stack: 'b', topology: '1-1', state: 'failed' }),
  ]]);
  const all = rows('topology', view(doc));
  assert.deepEqual(all.map((r) => [r.stack, r.topology, r.p50, r.max]), [
    ['a', '1-1', 10_000, 200_000],
    ['a', '1-3', 10_000, Infinity],
    ['b', '1-1', null, null],
  ]);
  assert.match(all[2].remark, /crash in ready/);
  assert.deepEqual(plot('topology').option(view(doc), theme()).xAxis[0].data, ['1-1', '1-3']);
});

test('first message: a dot for each start, with its parts', () => {
  const v = view(rich());
  const all = rows('first-message', v);
  assert.equal(all.length, 9);
  assert.deepEqual(all.slice(0, 3).map((r) => r.trial), [0, 1, 2]);
  assert.equal(all[0]['first message'], 3e7);
  assert.deepEqual([all[0].open, all[0].match, all[0]['first delivery']], [9e6, 1.5e7, 6e6]);
  assert.equal(all[2].counted, 'no');
  const bars = series('first-message', v, /^parts:1:0$/)[0];
  // The median of trials 0 and 1; the disturbed one does not count.
  assert.ok(Math.abs(bars.data[0].value[0] - 0.3 * 3.05e7) < 1);
});

test('outages: a line for each trial, deaf and failed ones marked', () => {
  const v = view(unplugged());
  const all = rows('outages', v).filter((r) => r.stack === 'zenoh-tcp');
  assert.deepEqual(all.map((r) => [r.trial, r.recovery, r.counted]), [
    [1, 1.5e8, 'yes'],
    [2, Infinity, 'yes'],
    [3, null, 'no'],
  ]);
  const spans = series('outages', v, /^fault:/);
  assert.deepEqual(spans.map((s) => s.data), [[[0, 1e9]], [[0, 1e9]]]);
  const notes = plot('outages').notes(v).join(' ');
  assert.ok(/Red: /.test(notes) && /✕: /.test(notes), notes);
  assert.equal(plot('outages').applies(view(rich())), false);
});

test('growing: the median of each trial, and the fit at its size', () => {
  const all = rows('growing', view(rich())).filter((r) => r.stack === 'tcp');
  assert.equal(all.length, 12);
  assert.equal(all[0].metric, 'service_ns');
  assert.equal(all[0].fit, 225_000);
  const notes = plot('growing').notes(view(rich()));
  assert.ok(notes.some((n) => n.includes('zenoh-tcp has no scaling factor S: too few trials')), String(notes));
});

test('throughput: rates, and the loss from counts', () => {
  const v = view(documentOf([[
    cell(0, { workload: 'stream', infinite: 500 }),
    cell(1, { workload: 'stream', stack: 'b', state: 'failed' }),
    cell(2, { workload: 'ping-pong' }),
  ]]));
  const all = rows('throughput', v);
  assert.equal(all.length, 2, 'closed loops are left out');
  assert.deepEqual([all[0].offered, all[0].delivered, all[0]['lost share'], all[0]['lost messages']], [200, 160, 0.2, 500]);
  assert.match(all[1].remark, /crash/);
  const [dots] = series('throughput', v, /^throughput:0:0$/);
  assert.match(dots.data[0].label.formatter(), /−20\.0 %/);
  assert.equal(series('throughput', v, /^failed:/)[0].data.length, 1);
});

test('throughput: stacks that deliver all of one rate are one dot, which is not drawn', () => {
  const v = view(documentOf([[cell(0, { workload: 'stream' }), cell(1, { workload: 'stream', stack: 'b' })]]));
  assert.equal(plot('throughput').applies(v), false);
});

test('the lowest p99 is named question by question', () => {
  const v = view(documentOf([[
    cell(0, { experiment: 'control' }),
    cell(1, { experiment: 'control', stack: 'b' }),
    cell(2, { experiment: 'camera', payload_bytes: 1_048_576 }),
  ]]));
  const text = plot('percentiles').summary(v);
  assert.match(text, /The lowest p99: control[^;]*: [^;]+; camera[^;]*: /);
});

test('memory has one scale in all panels', () => {
  const v = view(documentOf([[cell(0, { experiment: 'control' }), cell(1, { experiment: 'camera', payload_bytes: 1_048_576 })]]));
  const option = plot('resources').option(v, theme());
  const ends = option.xAxis.filter((_, i) => i % 2 === 0).map((x) => [x.min, x.max]);
  assert.equal(ends.length, 2);
  assert.deepEqual(ends[0], ends[1]);
});

test('time: trials in the order of the run, in relation to their median where they are many', () => {
  const v = view(stacks(30));
  const dots = series('time', v, /^trials:0:0$/)[0].data;
  assert.deepEqual(dots.map((d) => d.value[0]), [0, 2.5, 5]);
  assert.deepEqual(dots.map((d) => Number(d.value[1].toPrecision(6))), [1, 1.1, 1]);
  const few = series('time', view(stacks(1)), /^trials:0:0$/)[0].data;
  assert.deepEqual(few.slice(0, 2).map((d) => [d.quantile, d.value[1]]), [['p50', 10_000], ['p99', 30_000]]);
  assert.equal(series('time', v, /^disturbed:/)[0].markArea.data.length, 1, 'spans that touch are one');
  const start = rows('time', v)[0];
  assert.deepEqual([start.start, start['stolen share'], start['foreign share']], [0, 0.01, 0.004]);
});

test('time: blocks of a window for few experiments; an empty block is a gap, a lost one leaves the scale', () => {
  const v = viewOfOne(stacks(1));
  const p50 = series('time', v, /^block:2:0:0$/)[0].data;
  assert.deepEqual(p50.map((d) => d.value[1]), [10_000, null, 11_000]);
  assert.deepEqual(p50.map((d) => d.value[0]), [5e7, 1.5e8, 2.5e8]);
  const largest = series('time', v, /^block:2:2:0$/)[0].data;
  assert.ok(largest[2].lost);
  assert.equal(rows('time', v).filter((r) => r.block === 3 && r.trial === 0)[0].max, Infinity);
  assert.equal(series('time', view(stacks(30)), /^block:/).length, 0);
});

test('resources: daemons are a part of the whole', () => {
  const v = view(documentOf([[cell(0, { daemons: ['RouDi', 'router'] }), cell(1, { stack: 'b' })]]));
  const [first, second] = rows('resources', v);
  assert.deepEqual([first['pss'], first['pss of daemons'], first.daemons], [8e6, 8e6, 'RouDi router']);
  assert.deepEqual([first['cpu per message'], first['cpu per message of daemons']], [9000, 2000]);
  assert.deepEqual([second['pss of daemons'], second.daemons], [0, null]);
  const [rest, daemons] = ['rest', 'daemons'].map((k) => series('resources', v, new RegExp(`^cost:1:${k}$`))[0].data[1].value[0]);
  assert.deepEqual([rest, daemons], [7000, 2000]);
});

test('matrix: times the best stack; floors are not the best, what failed has a cross', () => {
  const v = view(documentOf([[
    cell(0, { stack: 'floor-futex', p50: 1000 }),
    cell(1, { stack: 'a', p50: 10_000, floor: { id: 0, stack: 'floor-futex', p50_ratio: { value: 10, lo: 9, hi: 11, infinite: false } } }),
    cell(2, { stack: 'b', p50: 25_000 }),
    cell(3, { stack: 'c', state: 'failed' }),
    cell(4, { stack: 'd', refused: ['p50'] }),
    cell(5, { stack: 'e', infinite: 9000 }),
  ]]));
  const best = rows('matrix', v);
  assert.deepEqual(best.map((r) => r['times best']), [0.1, 1, 2.5, null, null, null]);
  assert.match(best[3].remark, /crash/);
  assert.match(best[4].remark, /needs/);
  assert.match(best[5].remark, /lost: 81\.8 %/);
  const floor = rows('matrix', { ...v, ratio: 'floor' });
  assert.deepEqual(floor.map((r) => r['times floor']), [1, 10, null, null, null, null]);
  const texts = series('matrix', v, /^matrix:0$/)[0].data.map((d) => d.label.formatter());
  assert.deepEqual(texts, ['0.10', '1.00', '2.5']);
});

test('matrix: text has contrast to every colour of the scale', () => {
  for (const mode of ['light', 'dark']) {
    const { visualMap } = plot('matrix').option(view(rich()), theme(mode));
    const ramp = visualMap.inRange.color;
    for (let share = 0; share <= 1; share += 0.01) {
      const rgb = rampAt(ramp, share);
      const [ink, ground] = [inkOn(rgb) === '#000000' ? 0 : 1, luminance(rgb)];
      const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
      assert.ok(contrast >= 4.5, `${mode} at ${share}: ${contrast}`);
    }
  }
});

test('times between hosts whose clocks are too far apart are not shown', () => {
  const all = rows('matrix', view(bare()));
  const row = all.find((r) => r.stack === 'clocks');
  assert.equal(row.p50, null);
  assert.match(row.remark, /clocks/);
  assert.equal(rows('percentiles', view(bare())).some((r) => r.stack === 'clocks'), false);
});

test('figures of others are hollow marks with source and known flaws', () => {
  const v = view(rich(), { metric: 'service_ns' });
  for (const id of ['size', 'percentiles']) {
    const option = plot(id).option(v, theme());
    const marks = option.series.find((s) => s.id.startsWith('published'));
    assert.equal(marks.data[0].itemStyle.color, 'transparent', id);
    const params = { data: marks.data[0], seriesId: marks.id };
    const html = option.tooltip.formatter(option.tooltip.trigger === 'axis' ? [params] : params);
    assert.match(html, /A\. Author et al\., 2025, somewhere &lt;i&gt;/, id);
    assert.match(html, /Known flaw \(communication\): no bound &lt;b&gt;/, id);
    assert.match(html, /not measured by Dyno/, id);
  }
});

test('several runs stand side by side with their names', () => {
  const names = new Set(rows('matrix', view(two())).map((r) => r.run));
  assert.deepEqual([...names], ['A', 'B']);
  assert.deepEqual(plot('matrix').option(view(two()), theme()).yAxis[0].data, ['A: tcp', 'A: uds', 'B: tcp', 'B: uds']);
});

test('copies: each copy stands on its CPU, and the line is one alone', () => {
  const v = view(several());
  const all = rows('copies', v).map((r) => [r.stack, r['at once'], r.CPUs, r.p50]);
  assert.deepEqual(all, [
    ['tcp', 1, '0', 10_000],
    ['tcp', 2, '0', 11_000],
    ['tcp', 2, '1', 13_000],
    [HOSTILE[0], 2, '0', 7_000],
    [HOSTILE[0], 2, '1', Infinity],
    ['ground', 1, '1', 2_000],
    ['ground', 2, '0', 2_100],
    ['ground', 2, '1', 2_300],
  ]);
  const [line] = series('copies', v, /^copies:0:0:alone$/);
  assert.deepEqual(line.data, [[0, 10_000], [1, 10_000]]);
  assert.equal(series('copies', v, /^copies:0:1:alone$/).length, 0, 'this one has none that is alone');
  assert.equal(plot('copies').applies(view(stacks(2))), false);
});

test('the way to a capacity: every value that was tried stands over the one that was raised, with limit and answer', () => {
  const v = view(searched());
  const all = rows('knee', v).map((r) => [r.stack, r['value tried'], r.result, r.required, r.found, r.hi]);
  assert.deepEqual(all.filter(([stack]) => stack === 'tcp'), [
    ['tcp', 1000, 'kept', 'loss ≤ 0', 0, 0],
    ['tcp', 2000, 'kept', 'loss ≤ 0', 0, 0],
    ['tcp', 2000, 'kept, confirming', 'loss ≤ 0', 0, 0],
    ['tcp', 3000, 'undecided', 'loss ≤ 0', 0, 0],
    ['tcp', 4000, 'broken', 'loss ≤ 0', 0.1, 0.11],
    ['tcp', 1000, 'kept', 'p99 response ≤ 1.00 ms', 1e5, 1.2e5],
    ['tcp', 2000, 'kept', 'p99 response ≤ 1.00 ms', 2e5, 2.4e5],
    ['tcp', 2000, 'kept, confirming', 'p99 response ≤ 1.00 ms', 3e5, 3.6e5],
    ['tcp', 3000, 'undecided', 'p99 response ≤ 1.00 ms', 1.1e6, 1.32e6],
    ['tcp', 4000, 'broken', 'p99 response ≤ 1.00 ms', Infinity, Infinity],
  ]);
  const option = plot('knee').option(v, theme());
  const [limit] = series('knee', v, /^knee:1:limit$/);
  assert.deepEqual(limit.data.map(([, y]) => y), [1e6, 1e6]);
  // The last word on a value is its confirmation; what was lost stands at the top.
  const [line] = series('knee', v, /^knee:1:0:line$/);
  assert.deepEqual(line.data, [[1000, 1e5], [2000, 3e5], [3000, 1.1e6], [4000, option.yAxis[1].max]]);
  // Shares begin at zero, also where scales are logarithmic.
  assert.deepEqual([option.yAxis[0].type, option.yAxis[0].min, option.yAxis[1].type], ['value', 0, 'log']);
  const bands = [0, 1, 2].map((k) => series('knee', v, new RegExp(`^knee:0:${k}:band$`))[0].data);
  const { min, max } = option.xAxis[0];
  assert.deepEqual(bands, [[[2000, 4000, 0]], [[min, 1000, 0]], [[2000, max, 0]]]);
  const [marks] = series('knee', v, /^knee:0:0$/);
  assert.equal(new Set(marks.data.map((m) => m.symbol)).size, 2, 'what is broken has a mark of its own');
  assert.equal(marks.data.find((m) => m.symbolSize === 12).value[0], 2000);
  const notes = plot('knee').notes(v);
  assert.equal(notes[0], 'tcp, stream: met up to 2 kHz, violated from 4 kHz (nothing lost, loss ≤ 0: 10 %); 3 kHz undecided.');
  assert.match(notes[1], /not even 1 kHz meets all limits with confidence, violated from 1 kHz \(the sources sent only 50 % of what was due\)\.$/);
  assert.match(notes[2], /^udp, stream: not finished; so far met up to 2 kHz\.$/);
  assert.equal(plot('knee').applies(view(stacks(2))), false, 'a run that was no search');
});

test('matrix: what polls and what sleeps have a matrix each, under a title of its own', () => {
  const v = view(documentOf([[
    cell(0, { stack: 'a', p50: 10_000 }),
    cell(1, { stack: 'a', p50: 1000, wait: 'spin' }),
    cell(2, { stack: 'b', p50: 20_000 }),
    cell(3, { stack: 'b', p50: 3000, wait: 'spin' }),
  ]]));
  const option = plot('matrix').option(v, theme());
  assert.deepEqual(option.title.map((t) => t.text).filter((t) => t.startsWith('wait')), ['wait block', 'wait spin']);
  const shown = [0, 1].map((b) => series('matrix', v, new RegExp(`^matrix:${b}$`))[0].data.map((d) => d.open.experiment));
  assert.deepEqual(shown, [[0, 2], [1, 3]]);
  assert.deepEqual(rows('matrix', v).map((r) => r['times best']), [1, 2, 1, 3]);
});

test('all experiments: each floor stands at the head of the block whose ratios it is of', () => {
  const floor = (id) => ({ id, stack: 'floor-futex', p50_ratio: null });
  const v = view(documentOf([[
    cell(0, { stack: 'a', floor: floor(3) }),
    cell(1, { stack: 'a', wait: 'callback', floor: floor(3) }),
    cell(2, { stack: 'a', wait: 'spin', floor: floor(4) }),
    cell(3, { stack: 'floor-futex' }),
    cell(4, { stack: 'floor-spin', wait: 'spin' }),
    cell(5, { stack: 'b', wait: 'spin', floor: floor(4) }),
  ]]));
  assert.deepEqual(inBlocks(v.cells).map((c) => c.index), [3, 0, 1, 4, 2, 5]);
});

// Numbers read as in Dyno's terminal tables (crates/dyno-report/src/number.rs has the same cases).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as f from '../../src/format.js';
import { learn } from '../../src/tables.js';
import { TABLES } from '../fixture.mjs';

const estimate = (value, lo, hi) => ({ value, lo, hi, infinite: value === null });

test('three digits without an exponent', () => {
  for (const [value, text] of [
    [0, '0'],
    [0.03124, '0.0312'],
    [1, '1.00'],
    [9.995, '9.99'],
    [9.996, '10.0'],
    [99.96, '100'],
    [123.4, '123'],
    [12_345, '12300'],
    [1.3e6, '1300000'],
    [Infinity, '∞'],
  ]) {
    assert.equal(f.sig3(value), text);
  }
});

test('a unit is the largest in which the value is at least one', () => {
  assert.equal(f.duration(999), '999 ns');
  assert.equal(f.duration(12_345), '12.3 µs');
  assert.equal(f.duration(2e9), '2.00 s');
  assert.equal(f.duration(0.4), '0.400 ns');
  assert.equal(f.duration(null), '∞');
  assert.equal(f.duration(undefined), '–');
});

test('a column takes the unit of its median', () => {
  assert.equal(f.commonTimeUnit([30, 8e3, 4e4]).name, 'µs');
  assert.equal(f.commonTimeUnit([Infinity]).name, 'µs');
  assert.equal(f.commonTimeUnit([5e6]).name, 'ms');
});

test('an interval stands beside its value', () => {
  assert.equal(f.timeEstimate(estimate(12_300, 12_000, 15_900)), '12.3 [12.0, 15.9] µs');
  assert.equal(f.timeEstimate(estimate(2e6, 1e6, null)), '2.00 [1.00, ∞] ms');
  assert.equal(f.timeEstimate(estimate(null, 1e6, null)), '∞ (lost) [1.00, ∞] ms');
  assert.equal(f.timeEstimate(null), '–');
  assert.deepEqual(f.estimateParts(estimate(12_300, 12_300 - 1e-9, 12_300 + 2e-9), 1e3), {
    value: '12.3',
    interval: '[12.3, 12.3]',
  });
});

test('only the whole is a hundred percent', () => {
  assert.equal(f.share(1), '100 %');
  assert.equal(f.share(0.9999999), '>99.999 %');
  assert.equal(f.share(0.99996), '99.996 %');
  assert.equal(f.share(0.5), '50.0 %');
  assert.equal(f.share(0), '0 %');
  assert.equal(f.share(null), '–');
});

test('sizes are exact, amounts of memory are not', () => {
  assert.equal(f.payload(64), '64 B');
  assert.equal(f.payload(4096), '4 KiB');
  assert.equal(f.payload(1_000_000), '1 MB');
  assert.equal(f.memory(69_310_000), '66.1 MiB');
  assert.equal(f.memory(null), '–');
});

test('workloads read as in the terminal', () => {
  const e = (workload, load, paired = false) => ({ workload, load, paired });
  assert.equal(f.exchange(e('ping-pong', { gap_ns: 0 })), 'ping-pong');
  assert.equal(f.exchange(e('stream', { rate_hz: 12_500, arrivals: 'poisson' })), 'stream 12.5 kHz poisson');
  assert.equal(f.exchange(e('burst', { messages: 10, period_ns: 1e7 })), 'burst 10 every 10.0 ms');
  assert.equal(f.exchange(e('call', { gap_ns: 0 }, true)), 'call (pair)');
});

test('factors that all share are told apart from those that vary', () => {
  learn({ tables: TABLES });
  const e = (payload_bytes) => ({
    workload: 'flood',
    load: {},
    payload_bytes,
    wait: 'block',
    cpus: [],
    window: { duration_ns: 3e8, messages: null },
  });
  const { constant, varying } = f.splitFactors([e(64), e(128)]);
  assert.deepEqual(
    varying.map((v) => v.key),
    ['payload'],
  );
  assert.match(f.conditions(constant, e(64)), /^flood · wait block · .*window 300 ms$/);
});

test('a factor of which nothing is known but its name comes in words', () => {
  learn({ tables: { factors: [{ name: 'made up', lead: 'of ' }] } });
  const [factor] = f.factors();
  assert.equal(f.conditions([factor], { factors: { 'made up': 'made up of nothing' } }), 'made up of nothing');
  assert.equal(f.conditions([factor], {}), '');
  learn({ tables: TABLES });
});

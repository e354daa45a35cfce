// What the dialog says of the way through a chain.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partName, segments, tailFrom } from '../../src/chain.js';

const part = (stage, number, at_median_ns, in_tail_ns, more = {}) => ({ stage, number, at_median_ns, in_tail_ns, ...more });

test('a part is called by its place and its stack', () => {
  assert.equal(partName(part('leg', 2, 0, 0, { stack: 'tcp', back: true })), 'leg 2 (tcp) back');
  assert.equal(partName(part('echo', undefined, 0, 0)), 'echo');
});

test('the tail comes from the part that grew most', () => {
  const parts = [part('leg', 1, 100, 110), part('gateway', 1, 20, 500), part('leg', 2, 300, 310)];
  const tail = tailFrom(parts);
  assert.equal(tail.part, parts[1]);
  assert.equal(tail.ns, 480);
  assert.equal(tail.share, 480 / 500);
  assert.equal(tailFrom([part('leg', 1, 100, 90)]), null);
});

test('a row is as long as its parts, and none is below zero', () => {
  const parts = [part('leg', 1, 30, 0), part('gateway', 1, -5, 0), part('leg', 2, 70, 0)];
  assert.deepEqual(segments(parts, 'at_median_ns', 100), [
    { from: 0, length: 0.3 },
    { from: 0.3, length: 0 },
    { from: 0.3, length: 0.7 },
  ]);
});

// Histograms as run directories store them: HdrHistogram V2, compressed, base64. Bounds and digits are Dyno's.

import { deflateSync } from 'node:zlib';

const HIGHEST = 3_600_000_000_000n;
const HALF = 1024;

/** The place of a value (a whole number of nanoseconds) among the counts. */
function place(value) {
  const bucket = Math.max(0, Math.floor(Math.log2(Math.max(value, 1))) - 10);
  // log2 of large whole numbers may be off by one.
  const fixed = value / 2 ** bucket >= 2 * HALF ? bucket + 1 : bucket;
  return fixed * HALF + Math.floor(value / 2 ** fixed);
}

/** LEB128 of a number that was folded to be positive; counts are small. */
function leb(number, out) {
  let left = number >= 0 ? 2n * BigInt(number) : -2n * BigInt(number) - 1n;
  while (left > 127n) {
    out.push(Number(left & 127n) | 128);
    left >>= 7n;
  }
  out.push(Number(left));
}

/** The histogram of these values. */
export function encoded(values) {
  const counts = new Map();
  for (const value of values) {
    const at = place(value);
    counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  const bytes = [];
  let next = 0;
  for (const at of [...counts.keys()].sort((a, b) => a - b)) {
    if (at > next) leb(-(at - next), bytes);
    leb(counts.get(at), bytes);
    next = at + 1;
  }
  const head = Buffer.alloc(40);
  head.writeUInt32BE(0x1c849313, 0);
  head.writeUInt32BE(bytes.length, 4);
  head.writeUInt32BE(0, 8);
  head.writeUInt32BE(3, 12);
  head.writeBigUInt64BE(1n, 16);
  head.writeBigUInt64BE(HIGHEST, 24);
  head.writeDoubleBE(1, 32);
  const packed = deflateSync(Buffer.concat([head, Buffer.from(bytes)]));
  const outer = Buffer.alloc(8);
  outer.writeUInt32BE(0x1c849314, 0);
  outer.writeUInt32BE(packed.length, 4);
  return Buffer.concat([outer, packed]).toString('base64');
}

/** What a run directory keeps of a metric: blocks of the window, their total, and its sums. */
export function distribution(blocks, infinite = 0) {
  const all = blocks.flat();
  return {
    total: encoded(all),
    blocks: blocks.map((block) => encoded(block)),
    n: all.length,
    infinite,
    saturated: 0,
    sum: all.reduce((a, b) => a + b, 0),
    min: all.length ? all.reduce((a, b) => Math.min(a, b)) : 0,
    max: all.length ? all.reduce((a, b) => Math.max(a, b)) : 0,
  };
}

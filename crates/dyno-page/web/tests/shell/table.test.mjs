import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvOf, fileName } from '../../src/export.js';
import { sorted } from '../../src/table.js';

test('unknown comes last either way, infinite is largest', () => {
  const columns = [{ key: 'v', sort: (r) => r.v }];
  const rows = [{ v: 3 }, { v: null }, { v: Infinity }, { v: 1 }];
  const order = (descending) => sorted(rows, columns, { key: 'v', descending }).map((r) => r.v);
  assert.deepEqual(order(false), [1, 3, Infinity, null]);
  assert.deepEqual(order(true), [Infinity, 3, 1, null]);
  assert.equal(sorted(rows, columns, { key: 'none', descending: false }), rows);
});

test('texts sort as people count', () => {
  const columns = [{ key: 't', sort: (r) => r }];
  assert.deepEqual(sorted(['e10', 'E2', 'a'], columns, { key: 't', descending: false }), ['a', 'E2', 'e10']);
});

test('CSV quotes what it must, names units, and gives spreadsheets no formulas', () => {
  const text = csvOf({
    columns: [{ name: 'stack' }, { name: 'p50', unit: 'ns' }],
    rows: [
      ['a,"b"\nc', 1.5],
      ['=1+1', Infinity],
      ['plain', null],
      ['-x', -2],
    ],
  });
  assert.equal(text, 'stack,p50 (ns)\r\n"a,""b""\nc",1.5\r\n\'=1+1,inf\r\nplain,\r\n\'-x,-2\r\n');
});

test('file names hold nothing that a file system minds', () => {
  assert.equal(fileName(['percentiles', '../../etc/<b> "x"'], 'svg'), 'dyno-percentiles-etc-b-x.svg');
  assert.equal(fileName(['ecdf', 'שלום'], 'csv'), 'dyno-ecdf.csv');
  assert.ok(fileName(['x'.repeat(500)], 'png').length < 100);
});

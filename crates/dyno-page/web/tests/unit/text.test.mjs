// Names and ticks: what is drawn and what stands in tooltips.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logTicks, scaleOf, spread, wrap } from '../../src/plots/chart.js';
import { brief, escapeHtml, name, plural, rankName, short, sizeTick, textWidth, timeTick } from '../../src/plots/text.js';
import { tip } from '../../src/plots/tip.js';
import { HOSTILE } from './fixture.mjs';

test('escaped text opens no tag, closes no attribute and names no entity', () => {
  assert.equal(escapeHtml(`<b a="1" c='2'>&amp;\`</b>`), '&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&#96;&lt;/b&gt;');
  for (const text of HOSTILE) assert.doesNotMatch(escapeHtml(text), /[<>"'`]|&(?!(amp|lt|gt|quot|#39|#96);)/);
  assert.equal(escapeHtml(null), 'null');
});

test('a tooltip has no tags but its own, whatever the names', () => {
  for (const text of HOSTILE) {
    const html = tip({ title: text, style: { symbol: text, color: text }, rows: [[text, text]], notes: [text] });
    const tags = new Set([...html.matchAll(/<\/?([a-z]+)/gi)].map((m) => m[1]));
    assert.deepEqual([...tags].filter((t) => !['div', 'p', 'table', 'tbody', 'tr', 'th', 'td', 'svg', 'path'].includes(t)), []);
    assert.doesNotMatch(html, /style=|onerror=alert\(1\)>/);
  }
});

test('rows without a value are left out of tooltips', () => {
  assert.equal(tip({ rows: [['a', null], ['b', undefined], ['c', '']] }), '<div class="tip"></div>');
});

test('a short name keeps whole characters and says that it goes on', () => {
  assert.equal(short('iceoryx2', 20), 'iceoryx2');
  assert.equal(short('zenoh-tcp-best-effort', 10), 'zenoh-tcp…');
  const cut = short('🚗💨'.repeat(60), 11);
  assert.equal(cut, '🚗💨🚗💨🚗…');
  assert.doesNotMatch(cut, /[\ud800-\udbff](?![\udc00-\udfff])/);
  assert.ok(Array.from(short('x'.repeat(500), 24)).length <= 24);
});

test('emoji and East Asian characters take the room of two', () => {
  assert.equal(textWidth('a🚗漢'), 5);
  assert.equal(short('漢字漢字漢字', 8), '漢字漢…');
  assert.deepEqual(wrap('漢'.repeat(60), 61).map((l) => Array.from(l).length), [10, 10, 10, 10, 10, 10]);
});

test('control characters are gone, and right-to-left text is isolated', () => {
  assert.equal(name('two\nlines\u0000'), 'two lines');
  assert.equal(name('a\u202eb\u2069c'), 'a b c');
  assert.equal(name('مرحبا'), '\u2068مرحبا\u2069');
  assert.equal(name('   '), '(no name)');
});

test('ticks are short and in the unit of what they show', () => {
  assert.equal(timeTick(10_000), '10 µs');
  assert.equal(timeTick(1_500_000), '1.5 ms');
  assert.equal(timeTick(999.9), '1 µs');
  assert.equal(timeTick(0), '0');
  assert.equal(sizeTick(1_270_000), '1.27 MB');
  assert.equal(brief(100), '100');
  assert.equal(brief(0.05), '0.05');
});

test('ranks are named as people say them', () => {
  assert.equal(rankName(0.5), '50 %');
  assert.equal(rankName(0.999), '99.9 %');
  assert.equal(rankName(1 - 1e-6), '99.9999 %');
  assert.equal(rankName(1), 'max');
});

test('counts agree with their noun', () => {
  assert.equal(plural(1, 'panel'), '1 panel');
  assert.equal(plural(0, 'panel'), '0 panels');
  assert.equal(plural(2, 'series'), '2 series');
});

test('lines are broken at blanks, and words that are too long within', () => {
  const lines = wrap(`${'word '.repeat(60)}${'x'.repeat(400)}`, 300);
  assert.ok(lines.length > 5);
  for (const line of lines) assert.ok(line.length * 6.1 <= 306, line);
});

test('logarithmic ticks are round, within the scale and not too many', () => {
  assert.deepEqual(logTicks(1e3, 1e6), [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6].filter((v) => /^1/.test(String(v))));
  assert.deepEqual(logTicks(5e3, 2e4), [5e3, 6e3, 7e3, 8e3, 9e3, 1e4, 1.5e4, 2e4]);
  assert.ok(logTicks(1, 1e18).length <= 9);
});

test('a scale holds its values, also one value, none, or infinite ones', () => {
  for (const log of [true, false]) {
    for (const values of [[5], [5, 5], [], [Infinity], [1, 1e9, Infinity], [0, 7], [1e-3, 2e-3]]) {
      const { min, max, ticks } = scaleOf(values, { log, headroom: true });
      assert.ok(min < max, `${values} ${log}`);
      if (log) assert.ok(min > 0);
      for (const v of values.filter((x) => Number.isFinite(x) && (!log || x > 0))) assert.ok(v >= min && v <= max, `${v} in ${min}..${max}`);
      for (const t of ticks) assert.ok(t >= min * (1 - 1e-9) && t <= max * (1 + 1e-9));
    }
  }
});

test('names beside a plot stand apart, in the order of what they name, and within it', () => {
  assert.deepEqual(spread([10, 50], 14, 0, 100), [10, 50]);
  assert.deepEqual(spread([50, 50, 49], 10, 0, 100), [59, 69, 49]);
  const crowded = spread(Array(6).fill(98), 14, 2, 100);
  assert.deepEqual(crowded, [30, 44, 58, 72, 86, 100]);
});

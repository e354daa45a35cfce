// Contrast as WCAG 2.2 computes it: text 4.5:1, graphics 3:1, on every ground that they stand on.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DASHES, SYMBOLS, palette } from '../../src/theme.js';

function luminance(hex) {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

for (const mode of ['light', 'dark', 'print']) {
  test(`${mode}: text and marks stand out from their ground`, () => {
    const p = palette(mode);
    for (const ground of [p.page, p.surface, p.grid]) {
      for (const text of ['text', 'muted', 'accent', 'good', 'bad', 'warn']) {
        const c = contrast(p[text], ground);
        assert.ok(c >= 4.5, `${text} ${p[text]} on ${ground}: ${c.toFixed(2)}`);
      }
    }
    for (const ground of [p.page, p.surface]) {
      for (const color of p.colors) {
        const c = contrast(color, ground);
        assert.ok(c >= 3, `${color} on ${ground}: ${c.toFixed(2)}`);
      }
    }
    // The chosen segment.
    assert.ok(contrast(p.surface, p.accent) >= 4.5);
    assert.equal(new Set(p.colors).size, p.colors.length);
  });
}

test('colour, symbol and dash together tell 280 stacks apart', () => {
  const n = palette('light').colors.length;
  const styles = new Set(Array.from({ length: 280 }, (_, i) => `${i % n} ${i % SYMBOLS.length} ${i % DASHES.length}`));
  assert.equal(styles.size, 280);
});

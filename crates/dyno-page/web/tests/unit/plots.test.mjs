// Every plot on every kind of document: shapes that hold for all of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plots } from '../../src/plots/index.js';
import { HOSTILE, bare, empty, hostile, many, rich, searched, several, stacks, theme, two, unplugged, view, viewOfOne } from './fixture.mjs';

const DOCUMENTS = {
  empty: empty(),
  rich: rich(),
  one: stacks(1),
  thirty: stacks(30),
  many: many(520),
  hostile: hostile(),
  bare: bare(),
  two: two(),
  several: several(),
  searched: searched(),
  unplugged: unplugged(),
};
const STATES = [{}, { log: false }, { metric: 'service_ns', quantile: 'p99' }, { ratio: 'floor' }];

function* views() {
  for (const [label, doc] of Object.entries(DOCUMENTS)) {
    // The large one is about limits, which states do not change.
    for (const state of label === 'many' ? STATES.slice(0, 1) : STATES) yield [`${label} ${JSON.stringify(state)}`, { ...view(doc, state), ratio: state.ratio ?? 'best' }];
    if (doc.runs[0].details.length > 0) yield [`one of ${label}`, viewOfOne(doc)];
  }
}

const lists = (value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]);
const items = (series) => (series.data ?? []).map((d) => (Array.isArray(d) ? { value: d } : d));

/** What ECharts gives to renderItem, for a square of 100 by 100 px. */
const api = (value) => ({
  value: (i) => lists(value)[i],
  coord: ([x, y]) => [Number(x), Number(y)],
  size: () => [40, 20],
});

for (const plot of plots) {
  test(`${plot.id}: what it draws is whole`, () => {
    for (const [label, v] of views()) {
      for (const mode of ['light', 'dark', 'print']) {
        const t = theme(mode, mode === 'print' ? 700 : 1200);
        const option = plot.option(v, t);
        const height = plot.height(v, t);
        assert.ok(Number.isFinite(height) && height > 0, `${label}: height ${height}`);
        assert.equal(option.animation, false, label);
        const axes = [lists(option.xAxis), lists(option.yAxis), lists(option.grid)];
        assert.deepEqual(axes.map((a) => a.length), Array(3).fill(axes[0].length), label);
        const ids = lists(option.series).map((s) => s.id);
        assert.equal(new Set(ids).size, ids.length, `${label}: ids ${ids}`);
        for (const grid of axes[2]) assert.ok(grid.top >= 0 && grid.top + grid.height <= height, `${label}: a panel sticks out`);
        for (const series of lists(option.series)) {
          assert.ok(series.xAxisIndex < axes[0].length, `${label}: ${series.id}`);
          for (const [n, item] of items(series).entries()) {
            for (const x of lists(item.value)) assert.ok(x === null || Number.isFinite(x), `${label}: ${series.id} has ${lists(item.value)}`);
            if (series.renderItem) {
              const shape = series.renderItem({ dataIndex: n, coordSys: { x: 0, y: 0, width: 100, height: 100 } }, api(item.value));
              assert.doesNotMatch(JSON.stringify(shape), /null/, `${label}: ${series.id}`);
            }
          }
        }
        // What is copied for each drawing must not hold the document.
        assert.ok(JSON.stringify(option).length < 4e6, label);
      }
    }
  });

  test(`${plot.id}: tables are rectangles of plain values`, () => {
    for (const [label, v] of views()) {
      const { columns, rows } = plot.table(v);
      assert.ok(columns.length > 0, label);
      for (const c of columns) assert.equal(typeof c.name, 'string');
      for (const row of rows) {
        assert.equal(row.length, columns.length, label);
        for (const value of row) {
          assert.ok(value === null || ['number', 'string'].includes(typeof value), `${label}: ${row}`);
          assert.ok(!Number.isNaN(value), `${label}: ${row}`);
        }
      }
      if (plot.applies(v)) assert.ok(rows.length > 0, `${label}: drawn, but its table is empty`);
    }
  });

  test(`${plot.id}: summaries and notes are sentences`, () => {
    for (const [label, v] of views()) {
      const text = plot.summary(v);
      assert.match(text, /\.$/, label);
      assert.doesNotMatch(text, /undefined|NaN|null|\[object/, label);
      for (const note of plot.notes(v)) assert.doesNotMatch(note, /undefined|NaN|\[object/, `${label}: ${note}`);
    }
  });

  test(`${plot.id}: a click on any mark opens a cell that is there`, () => {
    for (const [label, v] of views()) {
      for (const series of lists(plot.option(v, theme()).series)) {
        for (const data of items(series)) {
          const place = plot.pick({ data, seriesId: series.id }, v);
          if (place) assert.ok(v.cellOf(place.run, place.experiment), `${label}: ${JSON.stringify(place)}`);
        }
      }
      assert.equal(plot.pick({}, v), null);
    }
  });

  test(`${plot.id}: every tooltip is escaped and says no nonsense`, () => {
    let seen = 0;
    for (const [label, v] of views()) {
      const option = plot.option(v, theme());
      if (!option.tooltip) continue;
      for (const series of lists(option.series).filter((s) => !s.silent)) {
        for (const data of items(series)) {
          const params = { data, seriesId: series.id, seriesName: series.name };
          const html = option.tooltip.formatter(option.tooltip.trigger === 'axis' ? [params] : params);
          if (html === '') continue;
          seen += 1;
          const tags = new Set([...html.matchAll(/<\/?([a-z]+)/gi)].map((m) => m[1]));
          for (const tag of tags) assert.ok(['div', 'p', 'table', 'tbody', 'tr', 'th', 'td', 'svg', 'path'].includes(tag), `${label}: <${tag}>`);
          assert.doesNotMatch(html, /undefined|NaN|\[object/, `${label}: ${html}`);
        }
      }
    }
    assert.ok(seen > 0, 'no tooltip was seen');
  });

  test(`${plot.id}: does not change its view`, () => {
    const doc = rich();
    const before = JSON.stringify(doc);
    const v = view(doc);
    plot.option(v, theme());
    plot.table(v);
    assert.equal(JSON.stringify(doc), before);
  });
}

test('plots have names of their own, titles and questions', () => {
  assert.equal(new Set(plots.map((p) => p.id)).size, 13);
  for (const p of plots) {
    assert.match(p.id, /^[a-z-]+$/);
    assert.match(p.question, /[?.]$/);
    assert.equal(typeof p.kinds.log, 'boolean');
    assert.equal(typeof p.kinds.response, 'boolean');
  }
});

test('titles tell the panels of a plot apart', () => {
  for (const plot of plots) {
    for (const [label, v] of views()) {
      for (const width of [960, 340]) {
        const bold = plot.option(v, { ...theme(), width }).title.filter((t) => t.textStyle.fontWeight === 600).map((t) => t.text);
        assert.equal(new Set(bold).size, bold.length, `${plot.id}, ${label}: ${bold}`);
      }
    }
  }
});

test('nothing applies to nothing', () => {
  assert.deepEqual(plots.filter((p) => p.applies(view(empty()))).map((p) => p.id), []);
});

test('names in axes and legends are cut', () => {
  for (const plot of plots) {
    const option = plot.option(view(hostile()), theme());
    for (const axis of [...lists(option.xAxis), ...lists(option.yAxis)]) {
      for (const text of axis.data ?? []) assert.ok(Array.from(axis.axisLabel.formatter(text)).length <= 28, plot.id);
    }
    for (const entry of option.legend?.data ?? []) assert.ok(Array.from(option.legend.formatter(entry.name)).length <= 36);
    for (const title of option.title) {
      for (const line of title.text.split('\n')) assert.ok(line.length <= 200, `${plot.id}: ${line}`);
    }
  }
});

test('what is left out is said, with the way to see it', () => {
  for (const id of ['percentiles', 'ecdf', 'topology', 'resources']) {
    const notes = plots.find((p) => p.id === id).notes(view(many(520)));
    assert.ok(notes.some((n) => /drawn|left out/.test(n) && /[Cc]hoose/.test(n)), `${id}: ${notes}`);
  }
  const notes = plots.find((p) => p.id === 'percentiles').notes(view(stacks(30)));
  assert.ok(notes.some((n) => n.includes('18 series left out')), String(notes));
});

test('a series is drawn in its stack’s colour, symbol and dash in every plot', () => {
  const v = view(two());
  const t = theme();
  const option = plots.find((p) => p.id === 'percentiles').option(v, t);
  const byName = new Map(option.series.map((s) => [s.name, s]));
  assert.equal(byName.get('A: tcp').lineStyle.color, byName.get('B: tcp').lineStyle.color);
  assert.notDeepEqual(byName.get('A: tcp').lineStyle.type, byName.get('B: tcp').lineStyle.type);
  assert.notEqual(byName.get('A: tcp').symbol, byName.get('A: uds').symbol);
});

test('hostile names stay names in every table', () => {
  for (const plot of plots) {
    const { rows } = plot.table(view(hostile()));
    const all = new Set(rows.flat().filter((v) => typeof v === 'string'));
    if (rows.length > 0) assert.ok(HOSTILE.some((name) => all.has(name)), plot.id);
  }
});

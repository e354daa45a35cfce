// Every option is drawn by ECharts itself, without a browser: nothing is warned of, nothing is lost on the way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { echarts } from '../../src/plots/echarts.js';
import { plots } from '../../src/plots/index.js';
import { bare, empty, hostile, many, rich, searched, stacks, theme, two, unplugged, view, viewOfOne } from './fixture.mjs';

/** The SVG of a plot, and what ECharts said while drawing. */
function draw(plot, v, t) {
  const said = [];
  const original = { warn: console.warn, error: console.error };
  console.warn = (...words) => said.push(words.join(' '));
  console.error = console.warn;
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: t.width, height: plot.height(v, t) });
  try {
    chart.setOption(plot.option(v, t));
    return { svg: chart.renderToSVGString(), said };
  } finally {
    chart.dispose();
    Object.assign(console, original);
  }
}

const VIEWS = {
  empty: view(empty()),
  rich: view(rich()),
  linear: view(rich(), { log: false }),
  service: view(rich(), { metric: 'service_ns', quantile: 'p99' }),
  thirty: view(stacks(30)),
  many: view(many(520)),
  hostile: view(hostile()),
  bare: view(bare()),
  two: view(two()),
  one: viewOfOne(rich()),
  searched: view(searched()),
  unplugged: view(unplugged()),
  'searched, linear': view(searched(), { log: false }),
};

for (const plot of plots) {
  test(`${plot.id}: ECharts draws it in all views, widths and modes`, () => {
    for (const [label, v] of Object.entries(VIEWS)) {
      for (const [mode, width] of [['light', 1200], ['dark', 700], ['print', 960], ['light', 320]]) {
        const { svg, said } = draw(plot, v, theme(mode, width));
        assert.deepEqual(said, [], `${label} ${mode} ${width}`);
        assert.doesNotMatch(svg, /NaN|undefined|Infinity/, `${label} ${mode} ${width}`);
        assert.doesNotMatch(svg, /<(img|script|b|i|u)\b/, `${label} ${mode} ${width}`);
        if (plot.applies(v)) assert.ok(svg.length > 1500, `${label} ${mode} ${width}`);
      }
    }
  });
}

test('the lines of a legend name the stacks', () => {
  const { svg } = draw(plots.find((p) => p.id === 'percentiles'), view(rich()), theme());
  for (const name of ['floor-futex', 'tcp', 'zenoh-tcp', 'fastdds-udp']) assert.ok(svg.includes(name), name);
});

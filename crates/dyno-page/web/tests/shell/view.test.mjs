// The selection: what it shows, and that an address holds all of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldedBy, questionsOf } from '../../src/answers.js';
import { Store, hashOf, initialState, metricFor, modelOf, selectionText, stateOf, viewOf } from '../../src/view.js';
import { documentOf, experiment } from '../fixture.mjs';

const doc = () =>
  documentOf(
    [
      experiment(0, 'tcp', 9000),
      experiment(1, 'pipe', 5000),
      experiment(2, 'udp & co', 5200),
      experiment(3, 'broken', null),
      experiment(4, 'tcp', 20_000, { payload_bytes: 4096 }),
      experiment(5, 'tcp', 4000, {
        workload: 'ping-pong',
        headline: 'rtt_ns',
        metrics: { rtt_ns: { n: 5, infinite: 0, p50: null } },
      }),
    ],
    [{ question: 'one-way', experiments: [1, 2, 0, 3], best: [1, 2], metric: 'response_ns', text: 'pipe is fastest' }],
  );

test('an address holds the whole selection', () => {
  const model = modelOf(doc());
  const store = new Store(model, initialState());
  store.choose('stacks', new Set(['udp & co', 'tcp']));
  store.choose('sizes', new Set([64]));
  store.set({
    metric: 'service_ns',
    quantile: 'p99',
    ratio: 'floor',
    log: false,
    sorts: { matrix: { key: 'p999', descending: true } },
    cell: { run: 0, index: 2 },
  });
  const back = stateOf(`#${hashOf(store.state)}`, model);
  assert.deepEqual(back, store.state);
  assert.equal(hashOf(initialState()), '');
});

test('an empty choice stays empty, and an address of another page chooses nothing', () => {
  const model = modelOf(doc());
  const store = new Store(model, initialState());
  store.choose('stacks', new Set());
  assert.equal(store.view.cells.length, 0);
  assert.deepEqual(stateOf(hashOf(store.state), model).chosen, { stacks: [] });
  assert.deepEqual(stateOf('#stack=elsewhere&open=0.99&metric=nonsense', model), initialState());
  assert.deepEqual(stateOf('#matrix', model), initialState());
});

test('choosing everything is no choice', () => {
  const store = new Store(modelOf(doc()), initialState());
  store.choose('sizes', new Set([64, 4096]));
  assert.deepEqual(store.state.chosen, {});
});

test('stacks keep their style in every selection', () => {
  const model = modelOf(doc());
  const styles = new Map(model.cells.map((c) => [c.e.stack, c.style]));
  const view = viewOf(model, { ...initialState(), chosen: { stacks: ['udp & co'] } });
  assert.deepEqual(
    view.cells.map((c) => c.style),
    [styles.get('udp & co')],
  );
});

test('a round trip stands for the service time, and nothing stands for lateness', () => {
  const model = modelOf(doc());
  const [stream, , , , , closed] = model.cells;
  assert.equal(metricFor(stream, 'service_ns'), 'service_ns');
  assert.equal(metricFor(closed, 'service_ns'), 'rtt_ns');
  assert.equal(metricFor(closed, 'lateness_ns'), null);
});

test('the best of the selected ones is best, with those that cannot be told from it', () => {
  const model = modelOf(doc());
  const [all] = questionsOf(viewOf(model, initialState()));
  assert.deepEqual([all.best.e.stack, all.ties.map((c) => c.e.stack), all.partial], ['pipe', ['udp & co'], false]);
  assert.deepEqual(
    all.failed.map((c) => c.e.stack),
    ['broken'],
  );
  const [some] = questionsOf(viewOf(model, { ...initialState(), chosen: { stacks: ['tcp', 'udp & co'] } }));
  assert.deepEqual([some.best.e.stack, some.ties, some.partial], ['udp & co', [], true]);
  const [none] = questionsOf(viewOf(model, { ...initialState(), chosen: { stacks: ['broken'] } }));
  assert.equal(none.best, null);
});

test('the answers of two runs to one question stand open or fold together', () => {
  const row = (run, payload) => ({
    run,
    question: `${payload} B`,
    asked: [{ e: { experiment: 'sizes', payload_bytes: payload, headline: 'rtt_ns' } }],
  });
  const runs = ['A', 'B'];
  const rows = [64, 128, 256, 8192, 512].flatMap((payload) => runs.map((run) => row(run, payload)));
  const { open, folded } = foldedBy(rows);
  const told = (all) => all.map((r) => `${r.run} ${r.question}`);
  const both = (payloads) => payloads.flatMap((payload) => runs.map((run) => `${run} ${payload} B`));
  assert.deepEqual(told(open), both([64, 128, 256, 8192]), 'the first three and the heaviest');
  assert.deepEqual(folded.length, 1);
  assert.deepEqual(told(folded[0].rows), both([512]));
  assert.deepEqual(foldedBy(rows.slice(0, 8)).folded, [], 'four questions, eight answers');
});

test('what is left out can be said in words', () => {
  const model = modelOf(doc());
  const view = viewOf(model, { ...initialState(), chosen: { sizes: [4096] }, metric: 'service_ns' });
  assert.equal(selectionText(model, view), 'Shown: payload sizes: 4 KiB; service.');
  assert.equal(selectionText(model, viewOf(model, initialState())), 'Everything is shown.');
});

test('a newer document keeps the selection', () => {
  const store = new Store(modelOf(doc()), initialState());
  store.choose('stacks', new Set(['pipe']));
  const newer = doc();
  newer.runs[0].show.experiments.push(experiment(6, 'zenoh', 7000));
  let told = null;
  store.subscribe((_view, _state, changed) => {
    told = changed;
  });
  store.replace(newer);
  assert.deepEqual(told, { view: true, doc: true });
  assert.deepEqual(
    store.view.cells.map((c) => c.e.stack),
    ['pipe'],
  );
});

// Where the reader goes and what the reader selects: links to the sections, one list of boxes per factor,
// the metric and the scale. Keeps nothing itself; everything goes through the store.

import { announce, button, el, name, refill, segmented } from './dom.js';
import { QUANTILES } from './format.js';
import { swatch } from './marks.js';
import { initialState, metricChoices } from './view.js';

/** Fills `nav` with links and controls. `places` are [id, title] of the sections that have content. */
export function controls(nav, store, places) {
  let built = build(nav, store, places);
  store.subscribe((view, _state, changed) => {
    // A run that is still written gets new stacks and sizes now and then, hardly ever.
    if (changed.doc && signature(store.model) !== built.signature) built = build(nav, store, places);
    else if (changed.view) built.update(view);
    if (changed.view && !changed.doc) announce(`${countText(store.model, view)} shown`);
  });

  // One list is open at a time; a click elsewhere and Escape close it.
  document.addEventListener('click', (event) => {
    for (const list of nav.querySelectorAll('details[open]')) {
      if (!list.contains(event.target)) list.open = false;
    }
  });
  nav.addEventListener('keydown', (event) => {
    const list = event.target.closest('details[open]');
    if (event.key !== 'Escape' || !list) return;
    event.preventDefault();
    list.open = false;
    list.querySelector('summary').focus();
  });
  nav.addEventListener('focusout', (event) => {
    const list = event.target.closest('details[open]');
    if (list && event.relatedTarget && !list.contains(event.relatedTarget)) list.open = false;
  });
}

function signature(model) {
  return JSON.stringify(model.facets.map((f) => f.values));
}

function countText(model, view) {
  const all = model.cells.length;
  const shown = view.cells.length;
  return shown === all ? `${all} experiments` : `${shown} of ${all} experiments`;
}

function build(nav, store, places) {
  const pickers = store.model.facets.filter((f) => f.values.length > 1).map((facet) => picker(facet, store));
  const radios = el('div', { class: 'radios' }, groups(store));
  const status = el('p', { class: 'status' });
  const reset = button('Reset', () => {
    const { chosen, metric, quantile, ratio, log } = initialState();
    store.set({ chosen, metric, quantile, ratio, log });
  });
  reset.classList.add('reset');
  refill(
    nav,
    el(
      'ul',
      { class: 'places' },
      places.map(([id, title]) => el('li', {}, el('a', { href: `#${id}` }, title))),
    ),
    el(
      'form',
      { class: 'choices', 'aria-label': 'Selection', on: { submit: (event) => event.preventDefault() } },
      pickers.length
        ? el(
            'div',
            { class: 'pickers' },
            pickers.map((p) => p.element),
          )
        : null,
      radios,
      el('div', { class: 'state' }, status, reset),
    ),
  );

  function update(view) {
    for (const p of pickers) p.update(view);
    const values = { metric: view.metric, quantile: view.quantile, scale: view.log ? 'log' : 'linear' };
    for (const input of radios.querySelectorAll('input')) input.checked = input.value === values[input.name];
    const partial = view.cells.length !== store.model.cells.length;
    refill(status, countText(store.model, view));
    status.classList.toggle('partial', partial);
    const touched = view.metric !== 'auto' || !view.log || view.quantile !== 'p50' || view.ratio !== 'best';
    reset.disabled = !partial && !touched && Object.keys(store.state.chosen).length === 0;
  }
  update(store.view);
  return { update, signature: signature(store.model) };
}

function groups(store) {
  const { view } = store;
  const metrics = metricChoices(store.model.cells);
  return [
    metrics.length > 1 &&
      segmented({
        legend: 'Metric',
        name: 'metric',
        choices: metrics,
        value: view.metric,
        onChange: (metric) => store.set({ metric }),
      }),
    segmented({
      legend: 'Quantile',
      name: 'quantile',
      choices: Object.entries(QUANTILES).map(([value, title]) => ({ value, title })),
      value: view.quantile,
      onChange: (quantile) => store.set({ quantile }),
    }),
    segmented({
      legend: 'Scale',
      name: 'scale',
      choices: [
        { value: 'log', title: 'Log' },
        { value: 'linear', title: 'Linear' },
      ],
      value: view.log ? 'log' : 'linear',
      onChange: (value) => store.set({ log: value === 'log' }),
    }),
  ].filter(Boolean);
}

/** Moves an open list to the left where it would leave the window. */
function keepInside(panel) {
  panel.style.setProperty('--shift', '0px');
  const box = panel.getBoundingClientRect();
  const beyond = box.right - (document.documentElement.clientWidth - 8);
  if (beyond > 0) panel.style.setProperty('--shift', `${-Math.min(beyond, box.left - 8)}px`);
}

/** One factor: its values as boxes in a list that opens. */
function picker(facet, store) {
  const number = el('span', { class: 'n' });
  const boxes = facet.values.map((value) => {
    const input = el('input', { type: 'checkbox', on: { change: () => take() } });
    const text = facet.show ? facet.show(value) : String(value);
    const style = facet.key === 'stacks' ? styleOf(store.model, value) : null;
    return { value, input, label: el('label', {}, input, style === null ? null : swatch(style), name(text)) };
  });
  const take = () => store.choose(facet.key, new Set(boxes.filter((b) => b.input.checked).map((b) => b.value)));
  const all = (checked) => {
    for (const b of boxes) b.input.checked = checked;
    take();
  };
  const panel = el(
    'div',
    { class: 'panel' },
    el(
      'fieldset',
      {},
      el('legend', { class: 'sr' }, facet.title),
      el(
        'div',
        { class: 'bulk' },
        button('All', () => all(true)),
        button('None', () => all(false)),
      ),
      el(
        'div',
        { class: 'boxes' },
        boxes.map((b) => b.label),
      ),
    ),
  );
  const element = el(
    'details',
    {
      class: 'pick',
      name: 'pick',
      dataset: { facet: facet.key },
      on: { toggle: () => element.open && keepInside(panel) },
    },
    el('summary', {}, facet.title, ' ', number),
    panel,
  );
  return {
    element,
    update(view) {
      let on = 0;
      for (const b of boxes) {
        b.input.checked = view.selected[facet.key].has(b.value);
        if (b.input.checked) on += 1;
      }
      refill(number, on === boxes.length ? `${boxes.length}` : `${on}/${boxes.length}`);
      element.classList.toggle('partial', on !== boxes.length);
    },
  };
}

function styleOf(model, stack) {
  return model.cells.find((c) => c.e.stack === stack)?.style ?? 0;
}

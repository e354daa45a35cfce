// Paper: every plot drawn light and still, everything that folds unfolded, the selection in words.

import { el, refill } from './dom.js';
import { selectionText } from './view.js';

/** Prepares the page when it is printed, and puts it back afterwards. */
export function printing(store, drawn) {
  const said = el('p', { class: 'print-only selection' });
  document.getElementById('controls').before(said);
  let unfolded = null;

  function before() {
    if (unfolded) return;
    unfolded = [...document.querySelectorAll('main details:not([open])')].filter((d) => !d.closest('nav'));
    for (const details of unfolded) details.open = true;
    refill(said, selectionText(store.model, store.view));
    drawn.print();
  }
  function after() {
    if (!unfolded) return;
    for (const details of unfolded) details.open = false;
    unfolded = null;
    drawn.unprint();
  }
  window.addEventListener('beforeprint', before);
  window.addEventListener('afterprint', after);
  matchMedia('print').addEventListener('change', (event) => (event.matches ? before() : after()));
}

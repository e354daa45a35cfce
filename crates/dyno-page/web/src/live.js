// A page that a server shows of a run that is still written: asks for newer data while the page is looked at.
// A page from a file names no address and asks for nothing.

import { el, refill } from './dom.js';

/** Milliseconds between two questions. */
const EVERY = 3000;

/** Follows the address that `<html data-live>` names, if there is one. */
export function follow(store, top, parse) {
  const url = document.documentElement.dataset.live;
  if (!url) return;
  const said = el('p', { class: 'live', role: 'status' });
  top.append(said);
  let last = null;
  const running = () => store.model.doc.runs.some((run) => run.running);

  async function ask() {
    if (document.visibilityState === 'visible') {
      try {
        const response = await fetch(url, { cache: 'no-cache' });
        if (!response.ok) throw new Error(`the server answers ${response.status}`);
        const text = await response.text();
        if (text !== last) {
          last = text;
          store.replace(parse(text));
        }
        refill(
          said,
          running() ? `Following the run; last update at ${new Date().toLocaleTimeString()}` : 'The run has ended.',
        );
      } catch (error) {
        refill(said, `No newer data: ${error.message}. Trying again.`);
      }
    }
    if (running()) setTimeout(ask, EVERY);
  }
  if (running()) setTimeout(ask, EVERY);
}

// The page: takes the document out of it, makes the sections, and connects them with the address, the
// keyboard, the theme and the printer. Everything is built by the modules; what follows is who knows whom.

import { announce, button, el, foreign, refill } from './dom.js';
import { answers } from './answers.js';
import { comparison } from './comparison.js';
import { controls } from './controls.js';
import { drill } from './drill.js';
import { contextOf, figures } from './figure.js';
import { follow } from './live.js';
import { matrix } from './matrix.js';
import { plots } from './plots/index.js';
import { printing } from './print.js';
import { published } from './published.js';
import { runs } from './runs.js';
import { applyChoice, storedChoice } from './theme.js';
import { Store, hashOf, modelOf, stateOf } from './view.js';

/** The version of the page's data that this script reads. */
const FORMAT = 1;

/** The document from its text. Seeds have 64 bits, more than a number of JavaScript: they become text. */
export function parse(text) {
  // Within a string a quote has a backslash before it, so that this matches fields only.
  const doc = JSON.parse(text.replace(/([{,]"seed":)(\d{16,})/g, '$1"$2"'));
  if (doc.format !== FORMAT) {
    throw new Error(`its data has format ${doc.format}, but this page reads only format ${FORMAT}`);
  }
  return doc;
}

/** The browser lacks something; the page is as it should be. */
class Unable extends Error {}

/** The text of data that a large page carries compressed: base64 of what is deflated with zlib's header. */
async function unpack(text) {
  if (typeof DecompressionStream === 'undefined') {
    throw new Unable('this browser is too old to unpack it; the answers below are complete');
  }
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(unpacked).text();
}

async function main() {
  applyChoice(storedChoice());
  const top = document.getElementById('top');
  let doc;
  try {
    const data = document.getElementById('dyno-data');
    doc = parse(data.dataset.encoding ? await unpack(data.textContent) : data.textContent);
  } catch (error) {
    const advice = error instanceof Unable ? '' : ' Create the report again with `dyno report`.';
    const said = `The data of this page cannot be shown: ${error.message}.${advice}`;
    top.append(el('p', { class: 'notice', role: 'alert' }, said));
    return;
  }
  const model = modelOf(doc);
  const store = new Store(model, stateOf(location.hash, model));
  build(store, top);
  performance.mark('dyno-interactive');
  document.documentElement.dataset.ready = 'true';
}

function build(store, top) {
  const at = (id) => document.getElementById(id);
  const { doc, cells } = store.model;

  let dialog = null;
  const open = (cell, opener) => dialog.open(cell, opener);
  const context = contextOf(store, open);
  dialog = drill(at('drill'), plots, store, context);

  const any = cells.length > 0;
  const has = {
    answers: true,
    plots: any,
    matrix: any,
    comparison: (doc.comparisons ?? []).length > 0,
    published: doc.runs.some((run) => run.published?.length > 0),
    runs: doc.runs.length > 0,
  };
  const titles = {
    answers: 'Answers',
    plots: 'Plots',
    matrix: 'All experiments',
    comparison: 'Comparison',
    published: 'Published figures',
    runs: doc.runs.length > 1 ? 'Runs' : 'Run',
  };
  for (const [id, title] of Object.entries(titles)) prepare(at(id), title, has[id]);

  if (any) answers(at('answers'), store, open);
  const drawn = figures(at('plots'), plots, store, context);
  matrix(at('matrix'), store, open);
  if (has.comparison) comparison(at('comparison'), store, open);
  if (has.published) published(at('published'), store, open);
  if (has.runs) runs(at('runs'), store);
  // What Dyno has written itself: no selection changes what was asked.
  const asked = ['requirements', 'changes'].filter(at).map((id) => [id, at(id).querySelector('h2').textContent]);
  const places = [...asked, ...Object.entries(titles).filter(([id]) => has[id])];
  if (any) controls(at('controls'), store, places);
  else at('controls').hidden = true;

  toolbar(top, () => {
    drawn.repaint();
    dialog.repaint();
  });
  anchors();
  // Only now is there a place to go to.
  if (location.hash.length > 1 && !location.hash.includes('=')) {
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
  roomBelow(at('controls'));
  address(store, dialog);
  printing(store, drawn);
  follow(store, top, parse);
}

/** A section with its heading and nothing else; what the page says without a script makes room. */
function prepare(section, title, shown) {
  section.hidden = !shown;
  const id = `${section.id}-title`;
  const heading = section.querySelector(':scope > h2') ?? el('h2', {}, title);
  heading.id = id;
  section.setAttribute('aria-labelledby', id);
  refill(section, heading);
}

/** Colours and printing, which concern the whole page. */
function toolbar(top, repaint) {
  const choose = el(
    'select',
    {
      id: 'theme',
      on: {
        change: () => {
          applyChoice(choose.value);
          repaint();
        },
      },
    },
    [
      ['auto', 'system setting'],
      ['light', 'light'],
      ['dark', 'dark'],
    ].map(([value, text]) => el('option', { value }, text)),
  );
  choose.value = storedChoice();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
  top.append(
    el(
      'div',
      { class: 'toolbar' },
      el('label', {}, 'Colours ', choose),
      button('Print', () => window.print(), { title: 'print, or save as PDF' }),
    ),
  );
}

/** Links within the page go to their section and leave the selection in the address alone. */
function anchors() {
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = document.getElementById(link.getAttribute('href').slice(1));
    if (!target) return;
    event.preventDefault();
    const focused = target.querySelector('h2, h3') ?? target;
    if (!focused.hasAttribute('tabindex')) focused.setAttribute('tabindex', '-1');
    target.scrollIntoView();
    focused.focus({ preventScroll: true });
  });
}

/** Places that links go to stay clear of the selection where that stays in sight. */
function roomBelow(nav) {
  const measure = () => {
    const sticks = getComputedStyle(nav).position === 'sticky';
    document.documentElement.style.setProperty('--nav-height', sticks ? `${nav.offsetHeight}px` : '0px');
  };
  // The observer also tells the first size, when the browser has laid out the page anyway.
  new ResizeObserver(measure).observe(nav);
  window.addEventListener('resize', measure);
}

/** The state goes into the address, and what the address says when it changes becomes the state. */
function address(store, dialog) {
  let written = null;
  const show = () => {
    const { cell } = store.state;
    const found = cell && store.model.cellOf(cell.run, cell.index);
    if (found) dialog.open(found);
    else dialog.close();
  };
  store.subscribe((_view, state) => {
    const hash = hashOf(state);
    if (hash === written) return;
    // An address that nobody has touched keeps the place that it names.
    if (!hash && !location.hash.includes('=')) return;
    written = hash;
    const url = new URL(location.href);
    url.hash = hash;
    try {
      history.replaceState(null, '', url);
    } catch {
      location.hash = hash; // some browsers refuse it for files
    }
  });
  window.addEventListener('hashchange', () => {
    if (!location.hash.includes('=') && location.hash.length > 1) return;
    store.set(stateOf(location.hash, store.model));
    announce('Selection taken from the address');
    show();
  });
  show();
}

main().catch((error) => {
  console.error(error);
  const said = `This page could not be built: ${error.message}.`;
  document.getElementById('top')?.append(el('p', { class: 'notice', role: 'alert' }, foreign(said)));
});

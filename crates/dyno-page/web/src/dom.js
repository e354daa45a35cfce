// Building elements. Text from runs is untrusted: it becomes text nodes and attribute values only, never
// markup, and this is the only module that creates elements.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element with properties and children. `class`, `text`, `dataset` and `on` (listeners by event) are
 * special; `true` makes a bare attribute, `false`, `null` and `undefined` leave it out. Children are
 * nodes or text; `null`, `false` and `undefined` are left out.
 */
export function el(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'text') element.textContent = value;
    else if (key === 'dataset') Object.assign(element.dataset, value);
    else if (key === 'on') {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (key.startsWith('on')) throw new Error(`listeners go into \`on\`, found ${key}`);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

/** Appends nodes and texts, nested lists of them too. */
export function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Empties an element and fills it again. */
export function refill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/**
 * A name that somebody gave: isolated, so that right-to-left text does not turn its surroundings round,
 * cut with an ellipsis where it has no room, and whole in its title.
 */
export function name(text, properties = {}) {
  const whole = String(text);
  const { class: more, ...rest } = properties;
  const classes = more ? `name ${more}` : 'name';
  return el('bdi', { class: classes, title: whole.length > 16 ? whole : null, ...rest }, whole);
}

/** A text in which some names occur: the names as `name` makes them, the rest as it is. */
export function withNames(text, names) {
  const known = [...new Set(names)].filter(Boolean).sort((a, b) => b.length - a.length);
  const parts = [];
  let rest = String(text);
  while (rest) {
    let first = null;
    for (const candidate of known) {
      const at = rest.indexOf(candidate);
      if (at >= 0 && (first === null || at < first.at)) first = { at, candidate };
    }
    if (!first) break;
    if (first.at > 0) parts.push(rest.slice(0, first.at));
    parts.push(name(first.candidate));
    rest = rest.slice(first.at + first.candidate.length);
  }
  if (rest) parts.push(rest);
  return parts;
}

/** A longer text that somebody else wrote: whole, and breaking anywhere. */
export function foreign(text, properties = {}) {
  const { class: more, ...rest } = properties;
  return el('bdi', { class: more ? `foreign ${more}` : 'foreign', ...rest }, String(text));
}

/** Texts that somebody else wrote, as a list. */
export function foreignList(texts, properties = {}) {
  return el('ul', properties, texts.map((text) => el('li', {}, foreign(text))));
}

/** What opens below its title. */
export function fold(title, ...content) {
  return el('details', {}, el('summary', {}, title), ...content);
}

/** A button that is no submit button. */
export function button(label, onClick, properties = {}) {
  return el('button', { type: 'button', on: { click: onClick }, ...properties }, label);
}

/** Pairs as a description list; pairs whose value is empty are left out. */
export function pairs(entries, properties = {}) {
  const list = el('dl', { class: 'pairs', ...properties });
  for (const [term, value] of entries) {
    if (value === null || value === undefined || value === '' || value === false) continue;
    list.append(el('div', {}, el('dt', {}, term), el('dd', {}, value)));
  }
  return list;
}

/** Text that only screen readers get. */
export function hidden(text) {
  return el('span', { class: 'sr' }, text);
}

/** Two or more choices of which one holds, as radio buttons in a row. */
export function segmented({ legend, name: group, choices, value, onChange }) {
  return el(
    'fieldset',
    { class: 'segmented' },
    el('legend', {}, legend),
    el(
      'div',
      { class: 'segments' },
      choices.map((choice) =>
        el(
          'label',
          { title: choice.help },
          el('input', {
            type: 'radio',
            name: group,
            value: choice.value,
            checked: choice.value === value,
            on: { change: () => onChange(choice.value) },
          }),
          el('span', {}, choice.title),
        ),
      ),
    ),
  );
}

let region = null;

/** Tells screen readers what has changed. */
export function announce(text) {
  if (!region) {
    region = el('div', { class: 'sr', role: 'status', 'aria-live': 'polite' });
    document.body.append(region);
  }
  region.textContent = text;
}

// Tables of data: sortable by mouse and keyboard, with a caption, units in the headings and intervals
// beside their values. Knows nothing of what it shows.
//
// A column is {key, title, unit, help, numeric, cell(row), sort(row), csv} where `cell` gives text, a
// node or a list of both, or {value, interval} for a value with its interval, and `sort` a number, a
// text or null (unknown: last in either direction). Columns without `sort` are not sortable.

import { button, el, foreign, hidden, name, refill } from './dom.js';

const COLLATOR = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

let tables = 0;

/** Only what scrolls is a place that the keyboard stops at. */
const scrolling =
  typeof ResizeObserver === 'undefined'
    ? null
    : new ResizeObserver((entries) => {
        for (const { target } of entries) {
          const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
          const set = (key, value) => (scrolls ? target.setAttribute(key, value) : target.removeAttribute(key));
          set('tabindex', '0');
          set('role', 'region');
          set('aria-labelledby', target.dataset.caption);
        }
      });

/** A table that can be filled again. */
export class DataTable {
  /**
   * `name` is short and unique, for the state; `sort` is {key, descending} or null: the rows' own order;
   * `limit` shows that many rows until asked for more; `onSort(sort)` is told of the reader's wish;
   * `rowClass(row)` marks rows; `tall` keeps the headings in sight while the rows scroll; `explain` says below
   * the table what its columns hold, for whom a pointer's hint is out of reach, and leaves out columns without a value.
   */
  constructor({
    name,
    caption,
    sort = null,
    limit = Infinity,
    onSort = null,
    rowClass = null,
    tall = false,
    explain = false,
  }) {
    this.name = name;
    this.sort = sort;
    this.limit = limit;
    this.onSort = onSort;
    this.rowClass = rowClass;
    this.columns = [];
    this.rows = [];
    tables += 1;
    const captionId = `table-${name}-${tables}`;
    this.caption = el('caption', { id: captionId }, caption);
    this.head = el('thead');
    this.body = el('tbody');
    this.table = el('table', { class: 'data' }, this.caption, this.head, this.body);
    this.wrap = el(
      'div',
      {
        class: tall ? 'table-wrap tall' : 'table-wrap',
        dataset: { caption: captionId },
      },
      this.table,
    );
    scrolling?.observe(this.wrap);
    this.more = el('p', { class: 'more' });
    this.legend = explain ? el('dl', { class: 'pairs' }) : null;
    const legend =
      explain && el('details', { class: 'columns' }, el('summary', {}, 'Meaning of the columns'), this.legend);
    this.element = el('div', { class: 'table-block' }, this.wrap, this.more, legend);
  }

  /** Shows these rows in these columns. */
  fill({ columns, rows, caption }) {
    const used = (column) => rows.length === 0 || rows.some((row) => hasValue(column.cell(row)));
    this.columns = this.legend ? columns.filter(used) : columns;
    this.rows = rows;
    const left = columns.filter((column) => !this.columns.includes(column)).map((column) => column.title);
    const absent = left.length ? `. Without a value: ${left.join(', ')}` : '';
    if (caption !== undefined) refill(this.caption, caption + absent);
    this.draw();
  }

  /** Sorts as told, without telling anybody. */
  sortBy(sort) {
    if (sort?.key === this.sort?.key && sort?.descending === this.sort?.descending) return;
    this.sort = sort;
    this.draw();
  }

  draw() {
    this.drawHead();
    this.drawBody();
  }

  drawHead() {
    const cells = this.columns.map((column) => {
      const sorted = this.sort?.key === column.key && column.sort;
      const label = [
        el('span', { class: 'title' }, column.title),
        column.unit ? el('span', { class: 'unit' }, ` ${column.unit}`) : null,
      ];
      const properties = {
        scope: 'col',
        class: classes(column),
        'aria-sort': sorted ? (this.sort.descending ? 'descending' : 'ascending') : null,
        title: column.help,
      };
      if (!column.sort) return el('th', properties, label);
      return el(
        'th',
        properties,
        button([label, el('span', { class: 'arrow', 'aria-hidden': 'true' })], () => this.turn(column), {
          class: 'sort',
          dataset: { key: column.key },
        }),
      );
    });
    refill(this.head, el('tr', {}, cells));
    if (!this.legend) return;
    const said = this.columns.filter((column) => column.help);
    refill(
      this.legend,
      said.map((column) => el('div', {}, el('dt', {}, column.title), el('dd', {}, column.help))),
    );
  }

  drawBody() {
    const rows = sorted(this.rows, this.columns, this.sort);
    const contents = rows.map((row) => this.columns.map((column) => column.cell(row)));
    // Values stand in line when the intervals beside them have one width.
    const widths = this.columns.map((_, at) =>
      contents.reduce((widest, row) => Math.max(widest, breadth(row[at]?.interval ?? '')), 0),
    );
    const made = rows.map((row, y) => {
      const tr = el('tr', { class: this.rowClass?.(row) || null });
      if (y >= this.limit) tr.classList.add('beyond');
      this.columns.forEach((column, x) => tr.append(cellOf(column, contents[y][x], widths[x])));
      return tr;
    });
    this.body.replaceChildren(...made);
    const beyond = rows.length - this.limit;
    refill(
      this.more,
      beyond > 0
        ? button(`Show all ${rows.length} rows`, () => {
            this.limit = Infinity;
            this.draw();
          })
        : null,
    );
    if (rows.length === 0) {
      const text = 'Nothing to show.';
      this.body.append(el('tr', {}, el('td', { colspan: this.columns.length, class: 'nothing' }, text)));
    }
  }

  /** The reader asks for another order. */
  turn(column) {
    const again = this.sort?.key === column.key;
    const descending = again ? !this.sort.descending : Boolean(column.descendingFirst);
    this.sort = { key: column.key, descending };
    this.draw();
    // The button was drawn anew; the keyboard stays where it was.
    this.head.querySelector(`button[data-key="${CSS.escape(column.key)}"]`)?.focus();
    this.onSort?.(this.sort);
  }
}

/** A table that is filled once, as an element. */
export function tableOf({ rows, columns, ...options }) {
  const table = new DataTable({ caption: '', ...options });
  table.fill({ rows, columns });
  return table.element;
}

/** A table whose order of rows the state keeps. */
export function keptTable(store, options) {
  const order = (state) => state.sorts[options.name] ?? null;
  const onSort = (sort) => store.set({ sorts: { ...store.state.sorts, [options.name]: sort } });
  const table = new DataTable({ ...options, sort: order(store.state), onSort });
  store.subscribe((_view, state) => table.sortBy(order(state)));
  return table;
}

/** A column that shows what `of` says of a row, and is sorted by it: a text that the page has written itself. */
export const textColumn = (key, title, of, more) => ({ key, title, cell: of, sort: of, ...more });

/** The same of names that somebody gave. */
export const nameColumn = (key, title, of, more) => textColumn(key, title, of, { cell: (row) => name(of(row)), ...more });

/** The same of longer texts that somebody else wrote. */
export const foreignColumn = (key, title, of, more) =>
  textColumn(key, title, of, { cell: (row) => foreign(of(row)), ...more });

/** A column of numbers that `write` makes texts of. */
export const numberColumn = (key, title, write, of, more) =>
  textColumn(key, title, of, { numeric: true, cell: (row) => write(of(row)), ...more });

function classes(column) {
  const names = [];
  if (column.numeric) names.push('num');
  if (column.class) names.push(column.class);
  return names.join(' ') || null;
}

/** How broad a text is, in digits: what is no digit is about half as broad. */
function breadth(text) {
  let sum = 0;
  for (const c of text) sum += /[\d∞n]/.test(c) ? 1 : 0.55;
  return sum;
}

function cellOf(column, content, width) {
  const properties = { class: classes(column) };
  const tag = column.header ? 'th' : 'td';
  if (column.header) properties.scope = 'row';
  if (!content || typeof content !== 'object' || !('interval' in content)) return el(tag, properties, content);
  if (content.title) properties.title = content.title;
  const interval = width > 0 ? el('span', { class: 'ci' }, content.interval) : null;
  interval?.style.setProperty('min-width', `${width.toFixed(1)}ch`);
  return el(
    tag,
    properties,
    el('span', { class: content.interval && content.value !== '–' ? 'v est' : 'v' }, content.value),
    interval ? [' ', interval] : null,
    content.unit ? el('span', { class: 'u' }, ` ${content.unit}`) : null,
    content.note ? hidden(` ${content.note}`) : null,
  );
}

/** The rows in that order; what is unknown comes last either way. */
export function sorted(rows, columns, sort) {
  const column = sort && columns.find((c) => c.key === sort.key && c.sort);
  if (!column) return rows;
  const keyed = rows.map((row, at) => ({ row, at, key: column.sort(row) }));
  const turn = sort.descending ? -1 : 1;
  keyed.sort((a, b) => {
    const [noA, noB] = [unknown(a.key), unknown(b.key)];
    if (noA || noB) return noA === noB ? a.at - b.at : noA ? 1 : -1;
    const order =
      typeof a.key === 'number' && typeof b.key === 'number'
        ? a.key < b.key
          ? -1
          : a.key > b.key
            ? 1
            : 0
        : COLLATOR.compare(String(a.key), String(b.key));
    return order * turn || a.at - b.at;
  });
  return keyed.map(({ row }) => row);
}

/** Whether a cell says more than that there is nothing. */
function hasValue(content) {
  const value = content && typeof content === 'object' && 'interval' in content ? content.value : content;
  return value !== '–' && value !== '' && value !== null && value !== undefined;
}

function unknown(key) {
  return key === null || key === undefined || Number.isNaN(key);
}

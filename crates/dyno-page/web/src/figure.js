// A plot on the page: its heading and help, the drawing, its data as a table, and what can be saved of it.
// What a plot draws is its own affair (plots/); when, how large and in which colours is this module's.
//
// Plots are drawn when they come near the window, so that a page with many is ready at once, and drawn again
// when the view, the width or the theme changes. For paper each is drawn once more as a still picture in
// print colours, because a browser lays paper out without waiting.

import { csvOf, fileName, picture, pngBlob, save, svgBlob } from './export.js';
import { button, el, foreign, name, refill, segmented } from './dom.js';
import { echarts } from './plots/echarts.js';
import { DataTable } from './table.js';
import { currentMode, themeOf } from './theme.js';
import { metricChoices } from './tables.js';
import { selectionText } from './view.js';

/** CSS pixels of a plot on A4 and in saved files. */
const PAPER_WIDTH = 960;
const HEIGHT = 380;
/** Rows of a data table before one must ask for more. */
const ROWS = 60;

/** One plot. */
export class Figure {
  /** `context` has `headings(plot, view)` for saved files, `file(plot, view)` and `open(cell, opener)`. */
  constructor(plot, view, context) {
    this.plot = plot;
    this.view = view;
    this.context = context;
    this.chart = null;
    this.near = false;
    this.stale = true;
    this.tableOpen = false;
    this.build();
  }

  build() {
    const { plot } = this;
    const id = `${this.context.prefix ?? ''}plot-${plot.id}`;
    this.canvas = el('div', { class: 'canvas' });
    this.box = el('div', { class: 'drawing', role: 'img', tabindex: '-1' }, this.canvas);
    this.paper = el('div', { class: 'paper', 'aria-hidden': 'true' });
    this.data = el('div', { class: 'plot-data', id: `${id}-data`, hidden: true });
    this.notes = el('ul', { class: 'plot-notes' });
    this.summary = el('p', { class: 'summary' });
    this.message = el('p', { class: 'message', role: 'status', hidden: true });
    const act = (label, what, run) =>
      button(label, () => this.attempt(run), { title: what, 'aria-label': `${plot.title}: ${what}` });
    this.toggle = button('Table', () => this.showTable(!this.tableOpen), {
      'aria-expanded': 'false',
      'aria-controls': `${id}-data`,
      'aria-label': `${plot.title}: data as a table`,
      title: 'data as a table',
    });
    this.extra = el('div', { class: 'extra' });
    this.element = el(
      'figure',
      { class: 'plot', id, 'aria-labelledby': `${id}-title`, dataset: { plot: plot.id } },
      el(
        'div',
        { class: 'plot-head' },
        el('h3', { id: `${id}-title` }, plot.title),
        el('p', { class: 'help' }, plot.question),
        el(
          'div',
          { class: 'tools', role: 'group', 'aria-label': `${plot.title}: data and saving` },
          this.extra,
          this.toggle,
          act('CSV', 'save its data as CSV', () => this.saveCsv()),
          act('SVG', 'save as SVG', () => this.saveSvg()),
          act('PNG', 'save as PNG', () => this.savePng()),
        ),
      ),
      this.message,
      this.box,
      this.paper,
      el('figcaption', {}, this.notes, this.summary),
      this.data,
    );
  }

  /** Takes another view; draws it now if the figure is near, else when it comes near. */
  update(view) {
    this.view = view;
    this.stale = true;
    if (this.near) this.draw();
  }

  /** The figure has come near the window. */
  approach() {
    this.near = true;
    if (this.stale) this.draw();
  }

  height(width, mode = currentMode()) {
    return this.heightIn(themeOf(mode, width));
  }

  heightIn(theme) {
    return Math.round(this.plot.height?.(this.view, theme) ?? HEIGHT);
  }

  /** The theme of drawings on the page, which says the notes of a plot below it. */
  theme(width, mode = currentMode()) {
    return { ...themeOf(mode, width), notes: false };
  }

  /** Takes the room that the drawing will need, so that nothing moves when it comes. */
  reserve() {
    const width = this.box.clientWidth;
    if (!this.stale || width === 0) return;
    try {
      this.canvas.style.height = `${this.height(width)}px`;
    } catch (error) {
      console.error(`${this.plot.id}: height`, error);
    }
  }

  draw() {
    const width = this.box.clientWidth;
    if (width === 0) return;
    this.stale = false;
    this.width = width;
    const { plot, view } = this;
    try {
      const theme = this.theme(width);
      const height = this.heightIn(theme);
      this.canvas.style.height = `${height}px`;
      if (!this.chart) {
        this.chart = echarts.init(this.canvas, null, { renderer: 'svg', width, height });
        this.chart.on('click', (params) => this.clicked(params));
      } else this.chart.resize({ width, height });
      this.chart.setOption(plot.option(view, theme), { notMerge: true });
      this.box.setAttribute('aria-label', `${plot.title}. ${plot.summary(view)}`);
      this.describe();
      this.say('');
    } catch (error) {
      this.fail('The plot could not be drawn', error);
    }
    if (this.tableOpen) this.fillTable();
  }

  /** Says below the drawing what it shows and what is to be known of it. */
  describe() {
    const { plot, view } = this;
    const notes = plot.notes?.(view) ?? [];
    refill(this.summary, foreign(plot.summary(view)));
    refill(
      this.notes,
      notes.map((note) => el('li', {}, foreign(note))),
    );
  }

  clicked(params) {
    const place = this.plot.pick?.(params, this.view);
    const cell = place && this.view.cellOf(place.run, place.experiment);
    if (cell) this.context.open(cell, this.box);
  }

  showTable(open) {
    this.tableOpen = open;
    this.data.hidden = !open;
    this.toggle.setAttribute('aria-expanded', String(open));
    if (open) this.attempt(() => this.fillTable());
  }

  fillTable() {
    if (!this.table) {
      this.table = new DataTable({ name: `data-${this.plot.id}`, caption: '', limit: ROWS, tall: true });
      this.data.append(this.table.element);
    }
    const { columns, rows } = this.plot.table(this.view);
    this.table.fill({
      caption: `Data of “${this.plot.title}”`,
      rows,
      columns: columns.map((column, at) => ({
        key: String(at),
        title: column.name,
        unit: column.unit,
        numeric: rows.some((row) => typeof row[at] === 'number'),
        header: at === 0,
        cell: (row) => plain(row[at]),
        sort: (row) => row[at],
      })),
    });
  }

  saveCsv() {
    const text = csvOf(this.plot.table(this.view));
    save(this.file('csv'), new Blob([text], { type: 'text/csv;charset=utf-8' }));
  }

  picture(mode) {
    const { plot, view } = this;
    return picture({
      plot,
      view,
      mode,
      width: PAPER_WIDTH,
      height: this.height(PAPER_WIDTH, mode),
      headings: this.context.headings(plot, view),
    });
  }

  saveSvg() {
    save(this.file('svg'), svgBlob(this.picture(currentMode())));
  }

  async savePng() {
    save(this.file('png'), await pngBlob(this.picture(currentMode())));
  }

  file(extension) {
    return fileName([this.plot.id, ...this.context.fileParts(this.view)], extension);
  }

  /** Draws the still picture for paper. */
  print() {
    try {
      const { plot, view } = this;
      const height = this.heightIn(this.theme(PAPER_WIDTH, 'print'));
      const made = picture({ plot, view, mode: 'print', width: PAPER_WIDTH, height, notes: false });
      refill(this.paper, made.element);
      this.describe();
    } catch (error) {
      this.fail('The plot could not be drawn for printing', error);
    }
  }

  unprint() {
    refill(this.paper);
  }

  async attempt(run) {
    try {
      await run();
    } catch (error) {
      this.fail('Saving failed', error);
    }
  }

  say(text) {
    this.message.hidden = !text;
    refill(this.message, text);
  }

  fail(what, error) {
    console.error(`${this.plot.id}: ${what}`, error);
    this.say(`${what}: ${error.message}. Its data is still available as a table or CSV.`);
  }

  /** Frees the drawing. */
  dispose() {
    this.chart?.dispose();
    this.chart = null;
  }
}

function plain(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number') {
    if (value === Infinity) return '∞';
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  }
  return name(value);
}

/** All plots in one section. Those that have nothing to show of a selection are named below. */
export function figures(section, plots, store, context) {
  const grid = el('div', { class: 'grid' });
  const absent = el('p', { class: 'hint' });
  section.append(grid, absent);
  const all = plots.map((plot) => new Figure(plot, store.view, context));
  grid.append(...all.map((f) => f.element));
  for (const figure of all) {
    if (figure.plot.kinds?.ratio) figure.extra.append(ratioControl(store));
  }

  function update(view) {
    const missing = [];
    for (const input of grid.querySelectorAll('input[name="ratio"]')) input.checked = input.value === view.ratio;
    for (const figure of all) {
      const shows = applies(figure.plot, view);
      figure.element.hidden = !shows;
      if (shows) figure.update(view);
      else missing.push(figure.plot.title);
    }
    for (const figure of all) if (!figure.element.hidden) figure.reserve();
    refill(absent, missing.length ? `Plots without data in this selection: ${missing.join(', ')}.` : '');
  }
  store.watch(update);

  const byElement = new Map(all.map((f) => [f.element, f]));
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const figure = byElement.get(target);
        figure.near = isIntersecting;
        if (isIntersecting) figure.approach();
      }
    },
    { rootMargin: '600px 0px' },
  );
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const figure = byElement.get(target.closest('figure'));
      if (target.clientWidth > 0 && target.clientWidth !== figure.width) {
        figure.stale = true;
        if (figure.near) requestAnimationFrame(() => figure.draw());
        else figure.reserve();
      }
    }
  });
  for (const figure of all) {
    watcher.observe(figure.element);
    sizes.observe(figure.box);
  }
  return {
    all,
    repaint: () => all.forEach((f) => !f.element.hidden && f.update(store.view)),
    print: () => all.forEach((f) => !f.element.hidden && f.print()),
    unprint: () => all.forEach((f) => f.unprint()),
  };
}

/** Whether a plot has something to show of a view. */
export function applies(plot, view) {
  try {
    return view.cells.length > 0 && plot.applies(view);
  } catch (error) {
    console.error(`${plot.id}: applies`, error);
    return false;
  }
}

function ratioControl(store) {
  return segmented({
    legend: 'Relative to',
    name: 'ratio',
    choices: [
      { value: 'best', title: 'best', help: 'divide by the fastest stack under the same conditions' },
      { value: 'floor', title: 'floor', help: 'divide by the floor under the same conditions' },
    ],
    value: store.view.ratio,
    onChange: (ratio) => store.set({ ratio }),
  });
}

/** Headings and file names of saved plots: what it is, of which runs, and what was left out. */
export function contextOf(store, open) {
  const runsOf = (view) => view.runs.map((r) => r.show?.run?.id ?? r.name);
  return {
    open,
    headings(plot, view) {
      const chosen = metricChoices().find((c) => c.value === view.metric)?.title ?? view.metric;
      const cell = view.one ? view.cells[0].e : null;
      const what = cell ? `${cell.experiment}, ${cell.stack}` : selectionText(store.model, view);
      return [
        plot.title,
        `Dyno · ${runsOf(view).join(', ')}${plot.kinds?.response ? ` · ${chosen.toLowerCase()}` : ''}`,
        what,
      ];
    },
    fileParts(view) {
      const runs = runsOf(view).slice(0, 2);
      return view.one ? [...runs, `e${view.cells[0].index}`] : runs;
    },
  };
}

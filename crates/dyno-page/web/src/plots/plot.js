// What makes a plot of its parts: the drawing of its panels, tooltips, the table of its data, and what a click
// opens. Pure.

import { allConditions, runName } from './common.js';
import { compose, exported, gridAt, layout, legendOf, nothing, panelTitle } from './chart.js';

/**
 * A plot of panels, as index.js describes it, made of what is its own:
 *
 *   drawn(view)                          { panels, shared, notes }: what it draws
 *   boxes, room(drawn, theme)            how many boxes a panel has (1), and the measures of the layout; or
 *   placeOf(theme, drawn)                the whole layout
 *   empty                                what it says where there is no panel
 *   panelOf(view, theme, panel, index, box, drawn)  what a panel draws in its one box: { xAxis, yAxis, series }; or
 *   partsOf(view, theme, drawn, at)      the same for all boxes of the layout, with a `title`; under a `subtitle`
 *                                        instead it belongs to the panel before it
 *   entries(view, theme, drawn, series)  entries of the legend
 *   hover(view, theme, drawn, hovered)   HTML of the tooltip of a mark; `hovered` has its cell, data and seriesId
 *   tooltip(view, theme, drawn)          instead of `hover`, the whole tooltip
 *   columns(view), rows(drawn, view)     those of the table; every row has a `cell`
 */
export const plotOf = ({
  drawn,
  boxes = 1,
  room,
  placeOf = (theme, d) =>
    layout(theme, d.panels.length * boxes, { caption: d.shared, notes: d.notes, ...room(d, theme) }),
  empty,
  panelOf,
  partsOf = (view, theme, d, at) =>
    d.panels.map((panel, i) => ({ title: panel.title, ...panelOf(view, theme, panel, i, at.boxes[i], d) })),
  entries,
  hover,
  tooltip,
  columns,
  rows,
  ...plot
}) => ({
  applies: (view) => drawn(view).panels.length > 0,
  height: (view, theme) => placeOf(theme, drawn(view)).total,
  notes: (view) => drawn(view).notes,
  table: (view) => dataOf(columns(view), rows(drawn(view), view)),
  pick,
  option(view, theme) {
    const d = drawn(view);
    if (d.panels.length === 0) return nothing(theme, empty);
    const at = placeOf(theme, d);
    const parts = partsOf(view, theme, d, at);
    const series = parts.flatMap((part) => part.series);
    return compose(theme, at, {
      grid: at.boxes.map(gridAt),
      xAxis: parts.map((part) => part.xAxis),
      yAxis: parts.map((part) => part.yAxis),
      series,
      titles: parts.flatMap(({ title, subtitle }, i) => panelTitle(theme, at.boxes[i], title, subtitle)),
      caption: d.shared,
      notes: d.notes,
      summary: plot.summary(view),
      legend: legendOf(theme, entries(view, theme, d, series)),
      tooltip: tooltip ? tooltip(view, theme, d) : onCells(view, (hovered) => hover(view, theme, d, hovered)),
    });
  },
  ...plot,
});

/** What a click opens: the cell of the mark, or of the line. */
export function pick(params) {
  const open = params?.data?.open;
  if (open) return { run: open.run, experiment: open.experiment };
  const id = /^cell:(\d+)\.(\d+):/.exec(params?.seriesId ?? '');
  return id ? { run: Number(id[1]), experiment: Number(id[2]) } : null;
}

/** A tooltip of the marks that open a cell. */
const onCells = (view, text) => ({
  formatter({ data, seriesId }) {
    const open = data?.open;
    const cell = open && view.cells.find((c) => c.run === open.run && c.index === open.experiment);
    return cell ? text({ cell, data, seriesId }) : '';
  },
});

// ---- Tables ----

/** A column: its name, what it says of a row, and its unit. Null and undefined are not known. */
export const column = (name, of, unit) => ({ name, unit, of });

/** A column of figures, rounded to what they bear. */
export const rounded = (name, of, unit) => column(name, (row) => exported(of(row)), unit);

/** The columns that say which cell a row is of. */
export const cellColumns = (view) => [...stackColumns(view), column('conditions', ({ cell }) => allConditions(cell))];

/** The run and the stack of a row's cell. */
export const stackColumns = (view) => [
  column('run', ({ cell }) => runName(view, cell)),
  column('stack', ({ cell }) => cell.e.stack),
];

export const dataOf = (columns, rows) => ({
  columns: columns.map(({ name, unit }) => ({ name, unit })),
  rows: rows.map((row) => columns.map(({ of }) => of(row) ?? null)),
});

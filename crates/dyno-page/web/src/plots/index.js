// All plots of the page, in the order in which they are shown.
//
// A plot is a set of pure functions of `view` (made by ../view.js) and, where it draws, of `theme`
// (made by ../theme.js). None touches the document, and none keeps state.
//
//   id, title, question   name in addresses, heading, one-line help
//   kinds                 { log, response }: which controls make sense, the scale and the kind of latency;
//                         `ratio` (the matrix alone): view.ratio is `best` (also when absent) or `floor`
//   applies(view)         whether there is something to show
//   height(view, theme)   px that the drawing takes; plots with several panels grow
//   option(view, theme)   ECharts option, laid out for theme.width px (960 where absent); made anew when
//                         the width changes
//   table(view)           { columns: [{ name, unit }], rows }: the data of what is drawn, in plain units
//                         (ns, bytes, Hz). Infinity is a lost message, null is not known
//   summary(view)         one sentence for screen readers
//   notes(view)           what is left out or to be known, as sentences; the drawing says them, too
//   pick(params, view)    what a click opens: { run: index of the run, experiment: index in its
//                         show.experiments }, or null
//
// Most are made of their parts by plot.js. `theme` has `notes: false` where the page says the notes beside the
// drawing. Tooltips are HTML with the classes of tip.js and no style of their own; every text in them is escaped.

import { copies } from './copies.js';
import { ecdf } from './ecdf.js';
import { firstMessage } from './first-message.js';
import { growing } from './growing.js';
import { knee } from './knee.js';
import { matrix } from './matrix.js';
import { outages } from './outages.js';
import { percentiles } from './percentiles.js';
import { resources } from './resources.js';
import { size } from './size.js';
import { throughput } from './throughput.js';
import { time } from './time.js';
import { topology } from './topology.js';

export const plots = [
  knee,
  matrix,
  percentiles,
  ecdf,
  size,
  topology,
  copies,
  firstMessage,
  outages,
  growing,
  throughput,
  time,
  resources,
];

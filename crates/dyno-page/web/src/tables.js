// What Dyno says of its metrics and workloads: the tables of the document, which every section and plot reads.

const known = { workloads: new Map(), metrics: new Map(), figures: new Map(), factors: new Map() };

/** Takes the tables of a document; there is one document on a page. */
export function learn({ tables }) {
  for (const key of Object.keys(known)) known[key] = new Map((tables?.[key] ?? []).map((row) => [row.name, row]));
}

/** The factors in the order of Dyno's tables: `[{ name, lead }]`. */
export const factorNames = () => [...known.factors.values()];

/** The name of a metric that people read; an unknown one is shown as it is. */
export const metricName = (metric) => known.metrics.get(metric)?.title ?? metric;

/** A text with the names of metrics and figures as people read them. */
export function inWords(text) {
  const rows = [...known.metrics.values(), ...known.figures.values()];
  // The longest first: one name may be a part of another.
  rows.sort((a, b) => b.name.length - a.name.length);
  return rows.reduce((said, row) => said.replaceAll(row.name, row.title), String(text));
}

/** Whether times of a metric end on another host than they began on. */
export const isBetweenHosts = (metric) => known.metrics.get(metric)?.between_hosts ?? false;

/** Whether an experiment measures its start and nothing else. */
export const isStart = (e) => known.workloads.get(e.workload)?.loop === 'start';

/** Whether each message of an experiment waits for the reply to the last one. */
export const isClosedLoop = (e) => known.workloads.get(e.workload)?.loop === 'closed';

/** Metrics that can be chosen. `auto` is the headline of each experiment; parts are shown with their whole. */
export function metricChoices() {
  const choice = ({ name, short, meaning }) => ({
    value: name,
    title: short.charAt(0).toUpperCase() + short.slice(1),
    help: meaning,
  });
  const headline = { value: 'auto', title: 'Response', help: 'counted from the due time of a message; round trips count as a whole' };
  return [headline, ...[...known.metrics.values()].filter((m) => !m.part_of).map(choice)];
}

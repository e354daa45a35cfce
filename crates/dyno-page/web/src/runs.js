// Where the figures come from: each run's command, environment, adapters, what was refused, and what could
// not be read.

import { el, fold, foreign, foreignList, name, pairs } from './dom.js';
import { count, duration, instant, memory, share, sig3, withPrefix } from './format.js';
import { foreignColumn, nameColumn, tableOf } from './table.js';

/** Fills the section. */
export function runs(section, store) {
  const box = el('div', { class: 'runs' });
  section.append(box);
  const update = () => box.replaceChildren(...store.model.doc.runs.map((run) => card(run)));
  update();
  store.subscribe((_view, _state, changed) => {
    if (changed.doc) update();
  });
}

function card(run) {
  const r = run.show.run;
  const t = r.trials ?? {};
  return el(
    'article',
    { class: 'run' },
    el('h3', {}, name(run.name), run.name === r.id ? null : [' · ', name(r.id)]),
    el('p', { class: 'title' }, foreign(r.suite), ': ', foreign(r.title)),
    run.running ? el('p', { class: 'hint' }, 'This run is still in progress.') : null,
    list('Parts that could not be read', run.problems, 'bad'),
    pairs([
      ['Began', instant(r.started_unix_ms)],
      ['Testbed', foreign(r.testbed)],
      ['Trials', trialsText(t)],
      ['Part of the plan', r.shard ? `${r.shard.index} of ${r.shard.count}` : null],
      ['Compared with', r.against ? againstText(r.against) : null],
      ['Seed', String(r.seed)],
      ['Command', r.command?.length ? el('code', {}, foreign(r.command.join(' '))) : null],
    ]),
    environment(run),
    list('Warnings', r.warnings),
    adapters(r.adapters ?? []),
    refused(r.refused ?? []),
  );
}

function trialsText(t) {
  const parts = [`${count(t.completed)} of ${count(t.planned)} completed`];
  if (t.failed) parts.push(`${count(t.failed)} failed`);
  if (t.disturbed) parts.push(`${count(t.disturbed)} disturbed`);
  return parts.join(', ');
}

function againstText(a) {
  if (a.kind === 'same') return 'the same experiment again';
  return a.kind === 'stack' ? name(a.name) : foreign(`${a.program} (${a.version})`);
}

function list(title, texts, mark) {
  if (!texts?.length) return null;
  return [el('h4', { class: mark }, title), foreignList(texts, { class: mark })];
}

/** The machine that a run ran on, and what it did while idle. */
export function environment(run) {
  const r = run.show.run;
  const e = r.environment ?? {};
  const clock = e.clock ?? {};
  const bare = r.bare;
  return pairs([
    ['Host', foreign(e.host ?? '')],
    ['CPU', e.cpu_model ? foreign(`${e.cpu_model}, CPUs ${(e.cpus ?? []).join(',')}`) : null],
    ['Memory', Number.isFinite(e.memory_bytes) ? memory(e.memory_bytes) : null],
    ['Kernel', foreign(e.kernel ?? '')],
    ['Hypervisor', e.hypervisor ? foreign(e.hypervisor) : 'none'],
    [
      'Clock',
      clock.source
        ? `${clock.source}, ${sig3(clock.cost_ns)} ns to read, resolution ${sig3(clock.resolution_ns)} ns${
            clock.frequency_hz ? `, ${withPrefix(clock.frequency_hz, 'Hz')}` : ''
          }`
        : null,
    ],
    ['Dyno', `${e.dyno_version ?? ''} (${e.build_profile ?? ''})`],
    [
      'The idle host before the run',
      bare
        ? [
            `others used ${share(bare.foreign_share)} of its CPUs`,
            `the hypervisor took ${share(bare.stolen_share)}`,
            bare.gap_share === null
              ? null
              : `gaps took ${share(bare.gap_share)}, the longest ${duration(bare.longest_gap_ns)}`,
          ]
            .filter(Boolean)
            .join('; ')
        : null,
    ],
  ]);
}

function adapters(all) {
  if (all.length === 0) return null;
  const table = tableOf({
    name: 'adapters',
    caption: 'Adapters and their loaded libraries',
    limit: 40,
    rows: all,
    columns: [
      nameColumn('name', 'Adapter', (a) => a.name, { header: true }),
      foreignColumn('version', 'Version', (a) => a.version),
    ],
  });
  return fold(`Adapters (${all.length})`, table);
}

function refused(all) {
  if (all.length === 0) return null;
  const table = tableOf({
    name: 'refused',
    caption: 'Experiments of the suite that Dyno refused for this stack',
    limit: 60,
    tall: true,
    rows: all,
    columns: [
      nameColumn('stack', 'Stack', (r) => r.stack, { header: true }),
      nameColumn('experiment', 'Experiment', (r) => r.experiment),
      foreignColumn('factors', 'Conditions', (r) => r.factors),
      foreignColumn('reason', 'Reason', (r) => r.reason),
    ],
  });
  return fold(`Refused while planning (${all.length})`, table);
}

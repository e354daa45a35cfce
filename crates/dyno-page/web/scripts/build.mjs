// Builds ../assets/page.js and page.css from src/. The same sources and lock file give the same bytes.
//
//   node scripts/build.mjs           writes them
//   node scripts/build.mjs --check   exits with 1 where what is checked in differs from a fresh build

import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { palette } from '../src/theme.js';

const WEB = dirname(dirname(fileURLToPath(import.meta.url)));
const ASSETS = join(WEB, '..', 'assets');
/** Old enough for the browsers that vehicle makers have, new enough for `dialog` and CSS `:is`. */
const TARGET = ['chrome103', 'firefox102', 'safari16'];

/** Packages that the bundle holds parts of, with the files that their licences ask to be passed on. */
const BUNDLED = [
  { name: 'echarts', licence: 'Apache-2.0', files: ['NOTICE'] },
  { name: 'zrender', licence: 'BSD-3-Clause', files: ['LICENSE'] },
  { name: 'tslib', licence: '0BSD', files: [] },
];

/** The notices of everything in the bundle, as one comment. */
async function notices() {
  const parts = ['The page of Dyno, Apache-2.0. It holds parts of the following packages.'];
  for (const { name, licence, files } of BUNDLED) {
    const folder = join(WEB, 'node_modules', name);
    const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    if (manifest.license !== licence) {
      throw new Error(
        `${name} ${manifest.version} has licence ${manifest.license}, expected ${licence}: look at it and mend scripts/build.mjs`,
      );
    }
    parts.push(`${name} ${manifest.version}, ${licence}`);
    for (const file of files) parts.push((await readFile(join(folder, file), 'utf8')).trim());
  }
  parts.push(
    'Apache-2.0: you may obtain a copy of the licence at http://www.apache.org/licenses/LICENSE-2.0. It is ' +
      'distributed on an "AS IS" basis, without warranties or conditions of any kind, either express or implied.',
  );
  const text = parts.join('\n\n').replaceAll('\r', '').replaceAll('*/', '* /');
  return `/*!\n${text}\n*/`;
}

/** The colours of src/theme.js as CSS variables. */
function variables() {
  const set = (mode) => {
    const { colors, ...named } = palette(mode);
    const all = [...Object.entries(named), ...colors.map((color, at) => [`c${at}`, color])];
    return all.map(([name, value]) => `--${name}:${value};`).join('');
  };
  return [
    `:root{color-scheme:light;${set('light')}}`,
    `@media (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;${set('dark')}}}`,
    `:root[data-theme=dark]{color-scheme:dark;${set('dark')}}`,
    `@media print{:root,:root[data-theme],:root:not([data-theme=light]){color-scheme:light;${set('print')}}}`,
  ].join('\n');
}

async function script() {
  const made = await build({
    absWorkingDir: WEB,
    entryPoints: ['src/main.js'],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: TARGET,
    charset: 'utf8',
    legalComments: 'inline',
    define: { 'process.env.NODE_ENV': '"production"', __DEV__: 'false' },
    banner: { js: await notices() },
    metafile: true,
    logLevel: 'warning',
  });
  complete(made.metafile);
  return made.outputFiles[0].text;
}

/** Every package in the bundle must stand in `BUNDLED`. */
function complete(metafile) {
  const known = new Set(BUNDLED.map((b) => b.name));
  for (const input of Object.keys(metafile.inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
    if (name && !known.has(name)) {
      throw new Error(`the bundle holds ${name}, whose notice it does not: add it to BUNDLED in scripts/build.mjs`);
    }
  }
}

/** The parts of the style sheet in src/style/, in order: what comes later overrules. */
const STYLE = ['base', 'fields', 'verdicts', 'answers', 'controls', 'tables', 'plots', 'sections', 'dialog', 'room', 'paper'];

async function style() {
  const parts = await Promise.all(STYLE.map((part) => readFile(join(WEB, 'src', 'style', `${part}.css`), 'utf8')));
  const made = await build({
    absWorkingDir: WEB,
    stdin: {
      contents: [variables(), ...parts].join('\n'),
      loader: 'css',
      sourcefile: 'page.css',
    },
    minify: true,
    write: false,
    target: TARGET,
    charset: 'utf8',
    logLevel: 'warning',
  });
  return made.outputFiles[0].text;
}

/** What would leave the element that the page puts it in, or be changed by the parser. */
function inlinable(file, text) {
  const bad = ['</script', '<script', '<!--', '</style', '\r', '\0'].filter((t) => text.toLowerCase().includes(t));
  if (bad.length) throw new Error(`${file} has ${JSON.stringify(bad)} and cannot stand within the page`);
  return text;
}

const check = process.argv.includes('--check');
let stale = false;
for (const [file, make] of [
  ['page.js', script],
  ['page.css', style],
]) {
  const path = join(ASSETS, file);
  const text = inlinable(file, await make());
  if (check) {
    const old = await readFile(path, 'utf8').catch(() => '');
    if (old !== text) {
      stale = true;
      console.error(`${file} differs from a fresh build: run \`npm run build\` in crates/dyno-page/web and commit it`);
    }
  } else {
    await writeFile(path, text);
    console.log(`${file}: ${(Buffer.byteLength(text) / 1024).toFixed(1)} KiB`);
  }
}
if (stale) process.exitCode = 1;

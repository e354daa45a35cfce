// What a reader takes along: CSV of a table, SVG and PNG of a plot. `csvOf` and `fileName` are pure.

import { el, svg } from './dom.js';
import { echarts } from './plots/echarts.js';
import { themeOf } from './theme.js';

/**
 * RFC 4180 with a header; units stand in it. `inf` is infinite, an empty field unknown. A text that a
 * spreadsheet would take for a formula gets an apostrophe in front, because names are foreign.
 */
export function csvOf({ columns, rows }) {
  const header = columns.map((c) => (c.unit ? `${c.name} (${c.unit})` : c.name));
  const lines = [header, ...rows].map((row) => row.map(field).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

function field(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') {
    if (Number.isNaN(value)) return '';
    return Number.isFinite(value) ? String(value) : value > 0 ? 'inf' : '-inf';
  }
  const text = String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A file name from parts that may hold anything: `dyno-percentiles-quick-20261121.svg`. */
export function fileName(parts, extension) {
  const plain = parts
    .map((part) =>
      String(part)
        .normalize('NFKD')
        .replace(/[^A-Za-z0-9._-]+/g, '-'),
    )
    .map((part) => part.replace(/^[-.]+|[-.]+$/g, '').slice(0, 60))
    .filter(Boolean);
  return `${['dyno', ...plain].join('-')}.${extension}`;
}

/** Gives a file to the reader. */
export function save(file, blob) {
  const url = URL.createObjectURL(blob);
  const link = el('a', { href: url, download: file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * A plot as a picture of its own: `{element, width, height}` with its headings above it, and with its notes unless
 * they stand beside it.
 */
export function picture({ plot, view, mode, width, height, headings = [], notes = true }) {
  const theme = { ...themeOf(mode, width), notes };
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
  let text;
  try {
    chart.setOption({ ...plot.option(view, theme), animation: false });
    text = chart.renderToSVGString();
  } finally {
    chart.dispose();
  }
  const parsed = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  if (parsed.nodeName !== 'svg') throw new Error(`${plot.id} produced no picture`);
  const drawn = document.importNode(parsed, true);
  const top = headings.length ? 20 + headings.length * 20 : 0;
  const whole = svg('svg', {
    width,
    height: height + top,
    viewBox: `0 0 ${width} ${height + top}`,
    'font-family': theme.font,
  });
  whole.append(svg('rect', { width: '100%', height: '100%', fill: theme.background }));
  headings.forEach((heading, line) => {
    whole.append(
      svg(
        'text',
        {
          x: 16,
          y: 26 + line * 20,
          fill: line === 0 ? theme.text : theme.muted,
          'font-size': line === 0 ? 17 : 12.5,
          'font-weight': line === 0 ? 600 : 400,
        },
        clipped(heading, Math.floor(width / (line === 0 ? 9 : 6.5))),
      ),
    );
  });
  drawn.setAttribute('y', String(top));
  drawn.setAttribute('width', String(width));
  drawn.setAttribute('height', String(height));
  whole.append(drawn);
  return { element: whole, width, height: height + top };
}

function clipped(text, length) {
  const letters = [...text];
  return letters.length > length ? `${letters.slice(0, length - 1).join('')}…` : text;
}

/** The picture as a standalone SVG file. */
export function svgBlob({ element }) {
  const text = new XMLSerializer().serializeToString(element);
  return new Blob([`<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`], { type: 'image/svg+xml' });
}

/** The picture as PNG with twice the pixels, for slides. */
export async function pngBlob(made) {
  const scale = 2;
  const url = URL.createObjectURL(svgBlob(made));
  try {
    const image = new Image();
    await new Promise((resolve, reject) => {
      image.onload = resolve;
      image.onerror = () => reject(new Error('the browser cannot draw the SVG of this plot'));
      image.src = url;
    });
    const canvas = el('canvas', { width: made.width * scale, height: made.height * scale });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the browser could not create a PNG'))), 'image/png');
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}

// Colours and marks. One table for the style sheet's variables and for plots, so that text, tables and
// plots agree; light, dark and paper. Every colour of a stack has a contrast of at least 3:1 to the
// page, every text one of 4.5:1 (tests/shell/theme.test.mjs computes them).
//
// Never colour alone: a stack has a colour, a symbol and a dash. Their numbers are prime to each other,
// so that the first 280 stacks differ in at least one of them.

const LIGHT = {
  page: '#fbfaf8',
  surface: '#ffffff',
  text: '#1b1f24',
  muted: '#5a626c',
  line: '#d9d8d4',
  grid: '#e6e5e1',
  accent: '#0a5c9e',
  good: '#176639',
  bad: '#a8231c',
  warn: '#7a5200',
  mark: '#fff1c9',
  colors: ['#0a66b2', '#bf4a00', '#00795a', '#a83a83', '#856400', '#5b48b0', '#2f86bd', '#4a4f57'],
};

const DARK = {
  page: '#111418',
  surface: '#191d23',
  text: '#e8e6e1',
  muted: '#a2a9b3',
  line: '#343a43',
  grid: '#2a3038',
  accent: '#74b6f2',
  good: '#62cf92',
  bad: '#ff8f85',
  warn: '#e9bd5b',
  mark: '#4a3c10',
  colors: ['#4ba3f0', '#ff8b45', '#35c79a', '#e68cc6', '#d9b93a', '#a79bff', '#8fd2f5', '#c3c8cf'],
};

// Ink on white: light colours, no tinted ground.
const PRINT = { ...LIGHT, page: '#ffffff', surface: '#ffffff', text: '#000000', muted: '#444a52' };

export const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond', 'down', 'plus', 'star'];
export const DASHES = ['solid', [6, 3], [2, 2], [9, 3, 2, 3], [1, 3]];

/** Fonts of the page and of saved plots. Without ", which ECharts does not escape in the SVG that it makes. */
const FONT =
  "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, sans-serif";

/** The palette of a mode: `light`, `dark` or `print`. */
export function palette(mode) {
  return { light: LIGHT, dark: DARK, print: PRINT }[mode] ?? LIGHT;
}

/**
 * What plots need to know of their surroundings. `width` is that of the plot in CSS pixels, so that a
 * narrow one can leave out what has no room.
 */
export function themeOf(mode, width = 720) {
  const p = palette(mode);
  return {
    dark: mode === 'dark',
    width,
    font: FONT,
    colors: p.colors,
    symbols: SYMBOLS,
    dashes: DASHES,
    text: p.text,
    muted: p.muted,
    grid: p.grid,
    background: p.surface,
    bad: p.bad,
    warn: p.warn,
  };
}

// ---- The page's mode ----

const CHOICES = ['auto', 'light', 'dark'];
const KEY = 'dyno-theme';

/** What the reader chose before; `auto` follows the system. */
export function storedChoice() {
  try {
    const stored = localStorage.getItem(KEY);
    return CHOICES.includes(stored) ? stored : 'auto';
  } catch {
    return 'auto'; // a page from disk may have no storage
  }
}

/** Sets and keeps the reader's choice. */
export function applyChoice(choice) {
  const root = document.documentElement;
  if (choice === 'auto') delete root.dataset.theme;
  else root.dataset.theme = choice;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

/** The mode that is in force: `light` or `dark`. */
export function currentMode() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

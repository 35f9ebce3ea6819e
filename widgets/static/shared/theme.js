// Colors. Color-blind people can distinguish the Okabe-Ito palette; every color has a second cue.
export const CODECS = ["uncompressed", "gzip", "snappy", "lz4", "zstd"];
export const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#B8A800", "#8C6BB1"];
export const [BLUE, ORANGE, GREEN, PINK, SKY, , VIOLET] = PALETTE;
export const OTHER = "#B9A88F"; // of all that are beyond the palette: no color stands for two things
export const colorOfRank = (rank) => PALETTE[rank] ?? OTHER;
export const DAMAGE = "#D55E00";
export const NONE = "#888888"; // of what has no value
export const FRESH = "#00A878"; // what is new while a directory is followed; always dashed

export const TONES = { error: "tone-bad", warning: "tone-warn" }; // severity → kind of a cell or row

// Is the page dark? JupyterLab and Notebook, then VS Code (on this or an outer page), then the page, then the system.
export function isDark(doc = document) {
  const light = doc.body.dataset.jpThemeLight;
  if (light !== undefined) return light === "false";
  for (const page of pages(doc)) {
    const kind = page.body?.dataset.vscodeThemeKind;
    if (kind) return kind.includes("dark") || kind === "vscode-high-contrast";
    const theme = page.documentElement.dataset.theme ?? page.body?.dataset.theme;
    if (theme === "dark" || theme === "light") return theme === "dark";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function pages(doc) {
  const found = [doc];
  try {
    for (let view = doc.defaultView; view !== view.parent; view = view.parent) found.push(view.parent.document);
  } catch {
    // An outer page of another origin cannot be read: use what was found so far.
  }
  return found;
}

// Follow the host's theme while it changes: sets data-theme on the root, then calls back.
export function followTheme(root, changed, signal) {
  const apply = () => {
    root.dataset.theme = isDark() ? "dark" : "light";
    changed();
  };
  const watcher = new MutationObserver(apply);
  for (const page of pages(document)) {
    for (const el of [page.documentElement, page.body]) {
      if (el) {
        watcher.observe(el, {
          attributes: true,
          attributeFilter: [
            "data-jp-theme-light",
            "data-jp-theme-name",
            "data-vscode-theme-kind",
            "data-theme",
            "class",
          ],
        });
      }
    }
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", apply);
  signal.addEventListener("abort", () => {
    watcher.disconnect();
    system.removeEventListener("change", apply);
  });
  apply();
}

// The colors a canvas needs, from the same CSS variables that style the rest.
export function inks(root) {
  const style = getComputedStyle(root), read = (name) => style.getPropertyValue(`--klw-${name}`).trim();
  const ink = Object.fromEntries(
    ["bg", "panel", "fg", "dim", "faint", "line", "hair", "accent", "control"].map((name) => [name, read(name)]),
  );
  return {
    ...ink,
    dark: root.dataset.theme === "dark",
    ui: `11px ${style.fontFamily}`,
    small: `10px ${style.fontFamily}`,
    strong: `600 11px ${style.fontFamily}`,
  };
}

export function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// Diagonal stripes: the second cue of damage and of incomplete batches.
export function hatch(context, color, gap = 6) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = gap;
  const pen = tile.getContext("2d");
  pen.strokeStyle = color;
  pen.lineWidth = 1.4;
  pen.beginPath();
  for (const shift of [-gap, 0, gap]) {
    pen.moveTo(shift - 1, gap + 1);
    pen.lineTo(shift + gap + 1, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

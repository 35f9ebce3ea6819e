// The bytes of the logs by the time of their batches, stacked by topic; a press on a bar leads to its records. The table
// below it says the same, so it is one picture for screen readers.
import { h } from "../shared/dom.js";
import { bytes, plural, share } from "../shared/format.js";
import { OTHER, PALETTE } from "../shared/theme.js";

const MOST_LABELS = { minute: 6, hour: 6 }, MOST_DATES = 12; // bars that have room for their texts
const TICKS = 6, DATE = 10; // of more bars, and the characters of a date
const LEAST_SHARE = 0.01; // of the tallest bar, so that a small one is seen

// `colors()` returns the color of each topic on the disk, one for all that are small, and one for Kafka's own; `onClick` gets the number of a row of the table.
export function dayChart({ colors, onClick }) {
  const bars = h("div", { class: "klw-daybars" });
  const legend = h("div", { class: "klw-legend" });
  const el = h("div", { class: "klw-days", hidden: true }, h("div", { role: "img" }, bars), legend);
  return {
    el,
    // `unit` is "minute", "hour", "day", "month" or "year"; `spans` are {text, row, topics, gap}, ascending; `topics` are [name, bytes], the
    // largest first; `gap`: how long nothing was written before.
    set({ unit, spans = [], canLead }) {
      const sizes = spans.map(({ topics }) => topics.reduce((sum, [, size]) => sum + size, 0));
      const most = Math.max(1, ...sizes), known = colors(), colorOf = (topic) => known.get(topic) ?? null;
      el.hidden = !spans.length;
      const isMany = spans.length > (MOST_LABELS[unit] ?? MOST_DATES),
        texts = isMany ? ticksOf(spans) : spans.map(nameOf);
      bars.replaceChildren(
        ...spans.flatMap((span, i) => [...gapBefore(span), bar(span, sizes[i], most, colorOf, texts[i])]),
      );
      bars.toggleAttribute("data-leads", Boolean(canLead));
      el.toggleAttribute("data-many", isMany);
      bars.parentElement.setAttribute(
        "aria-label",
        `Bytes by ${unit}, from ${nameOf(spans[0])} to ${nameOf(spans.at(-1))}; at most ${bytes(most)} in one`,
      );
      legend.replaceChildren(...legendOf(spans, colorOf));
    },
  };

  function bar({ text, row, topics }, size, most, colorOf, below) {
    const told = [`${text || "no time"}: ${bytes(size)}`, ...topics.map(([name, n]) => `${name} ${bytes(n)}`)];
    return h(
      "div",
      { class: "klw-daybar", title: told.join("\n"), onclick: () => onClick(row) },
      h("b", {}, bytes(size)),
      h(
        "div",
        { style: `--part:${Math.max(LEAST_SHARE, size / most).toFixed(4)}` },
        ...sumsByColor(topics, colorOf).map(([color, { sum }]) =>
          h("i", { style: `flex-grow:${sum};background:${color}` })
        ),
      ),
      below && h("small", {}, below),
    );
  }
  function gapBefore({ gap }) {
    return gap ? [h("div", { class: "klw-daygap", title: `${gap} without a batch` }, h("small", {}, gap))] : [];
  }
  // The topics of each color: by name where it is of one alone.
  function legendOf(spans, colorOf) {
    const ranked = sumsByColor(spans.flatMap(({ topics }) => topics), colorOf);
    const total = ranked.reduce((all, [, { sum }]) => all + sum, 0);
    return ranked.map(([color, { names: [...names], sum }]) =>
      h(
        "span",
        { title: [`${bytes(sum)}, ${share(sum / total)}`, ...names].join("\n") },
        h("i", { style: `--swatch:${color}` }),
        names.length === 1 ? names[0] : color === OTHER ? plural(names.length, "smaller topic") : "Kafka's own topics",
      )
    );
  }
}

// Color → {names, sum}: what has a color of its own as the palette has it, then what shares one.
function sumsByColor(topics, colorOf) {
  const kinds = new Map();
  for (const [name, size] of topics) {
    const color = colorOf(name), { names, sum } = kinds.get(color) ?? { names: new Set(), sum: 0 };
    kinds.set(color, { names: names.add(name), sum: sum + size });
  }
  const rank = (color) => (PALETTE.indexOf(color) + 1 || PALETTE.length + 1) + (color === OTHER ? -.5 : 0);
  return [...kinds].sort(([a], [b]) => rank(a) - rank(b));
}

// Texts below some of many bars: the first has the zone, the others a date only where it differs.
function ticksOf(spans) {
  const step = Math.ceil(spans.length / TICKS), texts = spans.map(() => null);
  let last = -step, date = null;
  spans.forEach((span, at) => {
    if (at - last < (span.gap ? step / 2 : step)) return;
    const name = nameOf(span), isSame = name.length > DATE && name.slice(0, DATE) === date;
    texts[at] = isSame ? name.slice(DATE + 1) : span.text && date === null ? `${name} UTC` : name;
    if (span.text) date = name.slice(0, DATE);
    last = at;
  });
  return texts;
}

const nameOf = (span) => span?.text || "no time";

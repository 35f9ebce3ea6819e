// The bytes of the logs by the day of their batches, stacked by topic; a press on a day leads to its records. The table
// below it says the same, so it is one picture for screen readers.
import { h } from "../shared/dom.js";
import { bytes, share } from "../shared/format.js";

const MOST_NAMED = 8, MOST_LABELS = 12; // topics in the legend; bars that have room for their texts
const LEAST_SHARE = 0.01; // of the tallest bar, so that a small one is seen

// `colors()` returns the color of each topic on the disk; `onClick` gets the number of a row of the table.
export function dayChart({ colors, onClick }) {
  const bars = h("div", { class: "klw-daybars" }), axis = h("div", { class: "klw-dayaxis" });
  const legend = h("div", { class: "klw-legend" });
  const el = h("div", { class: "klw-days", hidden: true }, h("div", { role: "img" }, bars, axis), legend);
  return {
    el,
    // `unit` is "day", "month" or "year"; `spans` are {text, row, topics, gap}, ascending; `topics` are [name, bytes], the
    // largest first; `gap`: how long nothing was written before.
    set({ unit, spans = [], canLead }) {
      const sizes = spans.map(({ topics }) => topics.reduce((sum, [, size]) => sum + size, 0));
      const most = Math.max(1, ...sizes), known = colors(), colorOf = (topic) => known.get(topic) ?? null;
      el.hidden = !spans.length;
      bars.replaceChildren(...spans.flatMap((span, i) => [...gapBefore(span), bar(span, sizes[i], most, colorOf)]));
      bars.toggleAttribute("data-leads", Boolean(canLead));
      axis.replaceChildren(h("span", {}, nameOf(spans[0])), h("span", {}, nameOf(spans.at(-1))));
      el.toggleAttribute("data-many", spans.length > MOST_LABELS);
      bars.parentElement.setAttribute(
        "aria-label",
        `Bytes by ${unit}, from ${nameOf(spans[0])} to ${nameOf(spans.at(-1))}; at most ${bytes(most)} in one`,
      );
      legend.replaceChildren(...legendOf(spans, colorOf));
    },
  };

  function bar({ text, row, topics }, size, most, colorOf) {
    const told = [`${text || "no time"}: ${bytes(size)}`, ...topics.map(([name, n]) => `${name} ${bytes(n)}`)];
    return h(
      "div",
      { class: "klw-daybar", title: told.join("\n"), onclick: () => onClick(row) },
      h("b", {}, bytes(size)),
      h(
        "div",
        { style: `--part:${Math.max(LEAST_SHARE, size / most).toFixed(4)}` },
        ...topics.map(([name, n]) => h("i", { style: `flex-grow:${n};background:${colorOf(name)}` })),
      ),
      h("small", {}, text || "no time"),
    );
  }
  function gapBefore({ gap }) {
    return gap ? [h("div", { class: "klw-daygap", title: `${gap} without a batch` }, h("small", {}, gap))] : [];
  }
  function legendOf(spans, colorOf) {
    const sums = new Map();
    for (const [name, size] of spans.flatMap(({ topics }) => topics)) sums.set(name, (sums.get(name) ?? 0) + size);
    const ranked = [...sums].sort((a, b) => b[1] - a[1]), total = ranked.reduce((sum, [, size]) => sum + size, 0);
    const named = ranked.slice(0, MOST_NAMED).map(([name, size]) =>
      h(
        "span",
        { title: `${bytes(size)}, ${share(size / total)}` },
        h("i", { style: `--swatch:${colorOf(name)}` }),
        name,
      )
    );
    const rest = ranked.length - named.length;
    return rest > 0 ? [...named, h("span", {}, `and ${rest} more`)] : named;
  }
}

const nameOf = (span) => span?.text || "no time";

// The profile of a column in its head: its commonest values, or bars of its numbers. A click filters, a brush ranges.
import { h } from "../shared/dom.js";
import { count, plural, share } from "../shared/format.js";
import { columnLabel } from "./record_columns.js";

const SHADES = 5;

// `known` is what the kernel says of the column, `of` of how many records; `onFilter(term)` adds a condition.
export function columnProfile(name, known, of, onFilter) {
  if (known.bins) return numberBars(name, known, of, onFilter);
  return known.top ? topValues(name, known, of, onFilter) : null;
}

function topValues(name, { top, none }, of, onFilter) {
  const rest = of - none - top.reduce((sum, [, times]) => sum + times, 0);
  const part = ([text, times, term], i) =>
    h(
      term ? "button" : "span",
      {
        type: term && "button",
        class: "klw-topvalue",
        tabindex: term ? (i ? -1 : 0) : null,
        "data-shade": i % SHADES,
        style: `flex-grow:${times}`,
        title: `${text}: ${share(times / of)} of ${plural(of, "record")}${term ? "; a click shows them alone" : ""}`,
        "aria-label": `Only ${columnLabel(name)} ${text}: ${share(times / of)}`,
        "data-live": "disable",
        onclick: (event) => {
          event.stopPropagation();
          if (term) onFilter(term);
        },
      },
      text,
    );
  const other = (times, text) =>
    times > 0 &&
    h("span", { class: "klw-othervalues", style: `flex-grow:${times}`, title: `${text}: ${share(times / of)}` });
  const el = h(
    "div",
    { class: "klw-profile", role: "group", "aria-label": `Commonest values of ${columnLabel(name)}` },
    ...top.map(part),
    other(rest, "other values"),
    other(none, "no value"),
  );
  el.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key], stops = [...el.querySelectorAll("button")];
    const next = stops[stops.indexOf(event.target) + way];
    if (!way || event.shiftKey || !next) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  });
  return el;
}

function numberBars(name, { bins, low, high, range }, of, onFilter) {
  const most = Math.max(...bins), width = (high - low) / bins.length;
  const end = (i) => low + i * width;
  const shown = (i, j) => `${count(round(end(i), width))} – ${count(round(end(j + 1), width))}`;
  const sum = (i, j) => bins.slice(i, j + 1).reduce((all, n) => all + n, 0);
  const bars = bins.map((n) => h("i", { style: `height:${n ? Math.max(8, (100 * n) / most) : 0}%` }));
  const el = h("div", {
    class: "klw-profile klw-bars",
    tabindex: range ? 0 : null,
    role: "group",
    "aria-label": `${columnLabel(name)} from ${count(low)} to ${
      count(high)
    }. Arrow keys choose a range, Enter shows it alone.`,
  }, ...bars);
  let from = -1, at = -1;
  const ends = () => [Math.min(from, at), Math.max(from, at)];
  function mark() {
    const [first, last] = ends();
    bars.forEach((bar, i) => bar.toggleAttribute("data-in", from >= 0 && i >= first && i <= last));
    const [i, j] = from >= 0 ? [first, last] : [at, at];
    el.title = at < 0 ? "" : `${shown(i, j)}: ${share(sum(i, j) / of)} of ${plural(of, "record")}`;
  }
  function take() {
    const [first, last] = ends(), isLast = last === bins.length - 1;
    const [a, b] = [round(end(first), width), isLast ? high : round(end(last + 1), width)];
    from = -1;
    mark();
    onFilter(`${range}>=${a} ${range}${isLast ? "<=" : "<"}${b}`);
  }
  const barAt = (event) => {
    const { left, width: wide } = el.getBoundingClientRect();
    return Math.max(0, Math.min(bins.length - 1, Math.floor(((event.clientX - left) / wide) * bins.length)));
  };
  el.addEventListener("pointerdown", (event) => {
    if (!range || event.button) return;
    from = at = barAt(event);
    el.setPointerCapture(event.pointerId);
    mark();
  });
  el.addEventListener("pointermove", (event) => {
    at = barAt(event);
    mark();
  });
  el.addEventListener("pointerup", () => from >= 0 && take());
  el.addEventListener("pointercancel", () => {
    from = -1;
    mark();
  });
  el.addEventListener("pointerleave", () => {
    if (from < 0) at = -1;
  });
  el.addEventListener("click", (event) => event.stopPropagation());
  el.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!range || (!way && event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "Enter") return void (from >= 0 && take());
    if (event.key === "Escape") from = -1;
    else {
      at = Math.max(0, Math.min(bins.length - 1, at + way));
      if (!event.shiftKey || from < 0) from = at;
    }
    mark();
  });
  return el;
}

// A round number between two bars that are so wide apart; whole ones stay whole.
function round(value, width) {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(width || 1)));
  return Number(value.toFixed(Math.min(12, digits)));
}

// One section of the overview: its state, notes, what is in the way, a table whose rows lead on, and its command.
import { button, h } from "../shared/dom.js";
import { count, plural, share } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { stateNote } from "../shared/state.js";

const ROW = 26, HEAD = 28, MOST_SHOWN = 7; // px, px, rows
const STATES = { waits: "waiting", running: "reading…" };

// The cards of a page in order: `parts` are names, and titles until they are made; `extras`: name → what is above a table.
export function sectionCards(parts, { model, ask, signal, extras = {} }) {
  const cards = Object.fromEntries(parts.map(([name, title]) => [
    name,
    sectionCard({
      name,
      title,
      signal,
      extra: extras[name],
      canLead: model.get("_can_lead"),
      onLead: (row) => ask("lead", { section: name, row }),
    }),
  ]));
  const unread = h("span", {}),
    read = button("Read the headers of every log", {
      text: "Read all",
      kind: "klw-framed",
      isLive: true,
      onclick: () => ask("make"),
    });
  const asks = h("p", { class: "klw-overask", hidden: true }, unread, read);
  return {
    el: h("div", { class: "klw-overcards" }, asks, ...parts.map(([name]) => cards[name].el)),
    show: (name) => cards[name].show(),
    set(sections) {
      for (const [name] of parts) cards[name].setSection(sections[name]);
      const waiting = parts.filter(([name]) => sections[name]?.state === "asks").length;
      asks.hidden = !waiting;
      unread.textContent = `${plural(waiting, "answer takes", "answers take")} the headers of every log.`;
    },
  };
}

function sectionCard(
  { name, title, signal, extra, canLead, onLead },
) {
  const heading = h("h3", { id: `klw-over-${name}` }, title),
    state = h("span", { class: "klw-chip" });
  const body = h("div", { class: "klw-overcardbody" });
  const el = h(
    "section",
    {
      class: "klw-overcard",
      "data-name": name,
      "aria-labelledby": heading.id,
      tabindex: -1,
    },
    h("div", { class: "klw-phead" }, heading, state),
    extra,
    body,
  );
  let shown = null;
  return {
    el,
    show() {
      el.scrollIntoView({ block: "nearest", behavior: "smooth" });
      el.focus({ preventScroll: true });
    },
    setSection(section) {
      if (section === shown || !section) return;
      shown = section;
      el.dataset.state = section.state;
      el.hidden = section.state === "left out";
      state.hidden = !(section.state in STATES);
      state.textContent = STATES[section.state] ?? "";
      if (section.title) heading.textContent = section.title;
      body.replaceChildren(
        ...contents(section, { signal, canLead, onLead }).filter(
          Boolean,
        ),
      );
    },
  };
}

function contents(section, { signal, canLead, onLead }) {
  if (section.state === "failed") return [stateNote("failed", section.error)];
  if (section.state === "asks") return [h("p", { class: "klw-overnote" }, "Not read yet.")];
  if (section.state === "running") return [stateNote("loading", "Reading…")];
  if (section.state !== "done") return [];
  return [
    ...section.notes.map((text) => h("p", { class: "klw-overnote" }, text)),
    section.concerns.length > 0 && h(
      "ul",
      { class: "klw-overconcerns" },
      ...section.concerns.map(([badge, text]) => h("li", {}, chip(badge), h("span", {}, text))),
    ),
    section.steps.length > 0 && h(
      "details",
      { class: "klw-oversteps" },
      h(
        "summary",
        {},
        `What to do, in ${section.steps.length} steps`.replace(
          "1 steps",
          "1 step",
        ),
      ),
      h("ol", {}, ...section.steps.map((text) => h("li", {}, text))),
    ),
    section.rows.length > 0 &&
    table(section, {
      signal,
      onLead: canLead && section.leads ? onLead : null,
    }),
    section.left && h("p", { class: "klw-overnote" }, section.left),
    h("p", { class: "klw-command" }, h("code", {}, section.command)),
  ];
}

const chip = ({ text, tone }) => h("span", { class: "klw-tone", "data-tone": tone }, text);

// A table without the columns that have no cell.
function table({ title, headings, rows: all }, { signal, onLead }) {
  const used = headings.map((_, at) => at).filter((at) => !at || all.some((row) => row[at] !== null && row[at] !== ""));
  const rows = all.map((row) => used.map((at) => row[at])),
    kinds = used.map((column, at) => kindOf(rows, at, headings[column]));
  const grid = dataGrid({
    label: title,
    signal,
    rowHeight: ROW,
    onPress: (i) => onLead?.(i),
    onOpen: (i) => onLead?.(i),
    columns: used.map((column, at) => ({
      name: headings[column],
      title: headings[column],
      width: trackOf(kinds[at], rows.map((row) => row[at])),
      number: kinds[at] === "number" || kinds[at] === "size",
      isName: kinds[at] === "name",
    })).concat({ name: "", width: "minmax(0, 1fr)" }),
    cellsOf: (i) => [...rows[i].map(cellOf), ""],
  });
  grid.el.classList.toggle("klw-leads", Boolean(onLead));
  const frame = h("div", { class: "klw-overgrid" }, grid.el);
  frame.style.setProperty("--klw-rows", `${HEAD + ROW * Math.min(MOST_SHOWN, rows.length) + 2}px`);
  grid.setCount(rows.length);
  return frame;
}

const NAMES = new Set(["group", "partition", "topic"]);

// A column grows with what is there until its texts are whole, from so many px; what has no entry is always whole.
const LEAST = { name: 128, text: 70, long: 44 };
const LONG = 30, CHARACTER = 6.8, AROUND = 24; // characters, px, px
const IS_SIZE = /^[+−<]?[\d,.]+ ([KMGT]?i?B|ms|s|min|h|days)$/;

function trackOf(kind, cells) {
  if (!(kind in LEAST)) return "0px";
  const texts = cells.map(cellOf).map((cell) => cell.text ?? cell);
  const most = Math.ceil(CHARACTER * Math.max(...texts.map((text) => text.length))) + AROUND;
  return `minmax(${Math.min(LEAST[kind], most)}px, ${most}px)`;
}

// What a column holds, by its cells.
function kindOf(rows, at, heading) {
  const cells = rows.map((row) => row[at]).filter((cell) => cell !== null && cell !== "");
  if (!cells.length) return "number";
  if (cells.every((cell) => typeof cell === "number")) return "number";
  if (cells.some((cell) => cell.tone)) return "badge";
  if (cells.some((cell) => cell.share !== undefined)) return "share";
  if (cells.every((cell) => IS_SIZE.test(cell))) return "size";
  if (cells.every((cell) => !/\s/.test(cell)) && (at === 0 || NAMES.has(heading))) return "name";
  return at > 0 && cells.some(isLong) ? "long" : "text";
}

const isLong = (cell) => String(cell).length > LONG;

function cellOf(cell) {
  if (cell === null || cell === "") return { text: "–", kind: "quiet" };
  if (typeof cell === "number") return count(cell);
  if (cell.tone) return { text: cell.text, kind: `tone-${cell.tone}` };
  if (cell.share !== undefined) return share(cell.share);
  return { text: cell, title: cell };
}

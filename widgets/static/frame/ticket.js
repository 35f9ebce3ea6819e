// The panel that pins what is shown to a ticket, with a note, and downloads the report with all pins.
import { button, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { download } from "../table/row_texts.js";

const TOLD = ".klw-oververdict, .klw-number-tile, .klw-conclusion, .klw-said, .klw-top .klw-sum, .klw-phead .klw-about";

export function ticketPanel({ model, ask, root }) {
  const note = h("input", {
    class: "klw-input",
    type: "text",
    placeholder: "A note: what is to be seen here?",
    "aria-label": "Note of the pin",
    onkeydown: (event) => event.key === "Enter" && pin(),
  });
  const pins = h("ol", {});
  const add = button("Pin what is shown, with the note", {
    glyph: "pin",
    text: "Pin",
    kind: "klw-framed",
    onclick: pin,
  });
  const save = button("Download the report with the pins", {
    glyph: "save",
    text: "Report",
    kind: "klw-framed",
    onclick: () => ask("report").then((answer) => answer && download("report.html", answer.html, "text/html")),
  });
  const el = h("div", { class: "klw-ticket", role: "region", "aria-label": "Ticket", hidden: true });
  const close = button("Close", { glyph: "cross", onclick: toggle });
  el.append(h("header", {}, note, add, save, close), pins);
  const opens = button("Pin what is shown to a ticket", { glyph: "pin", isLive: true, onclick: toggle });
  function toggle() {
    el.hidden = !el.hidden;
    opens.setAttribute("aria-expanded", String(!el.hidden));
    if (!el.hidden) note.focus();
  }
  async function pin() {
    if (await ask("pin", { note: note.value, ...whatIsShown(root) })) note.value = "";
  }
  return {
    el,
    opens,
    show() {
      const told = model.get("pins");
      opens.replaceChildren(opens.firstChild, ...(told.length ? [String(told.length)] : []));
      opens.title = told.length ? `Ticket: ${plural(told.length, "pin")}` : "Pin what is shown to a ticket";
      save.hidden = !told.length;
      pins.replaceChildren(...told.map((text, at) => {
        const remove = button(`Remove the pin ${text}`, {
          glyph: "cross",
          onclick: () => ask("unpin", { number: at }),
        });
        return h("li", {}, h("span", {}, text), remove);
      }));
    },
  };
}

// Sentences, numbers and rows that are in sight, without what records hold.
export function whatIsShown(root) {
  const screen = root.closest(".klw-workbench") ?? root.ownerDocument.body, { innerHeight } = globalThis;
  const isInSight = (el) => {
    const { top, bottom, height } = el.getBoundingClientRect();
    return height > 0 && bottom > 0 && top < innerHeight && !el.closest(".klw-placebar, [role=dialog]");
  };
  const inSight = (what) => [...screen.querySelectorAll(what)].filter(isInSight);
  return { told: inSight(TOLD).map(textOf).filter(Boolean), tables: inSight("[role=grid]").map(tableOf) };
}

function tableOf(grid) {
  const heads = [...grid.querySelectorAll("[role=columnheader]")].slice(0, -1); // the last has the menu
  const shown = heads.map((_, k) => k).filter((k) => heads[k].dataset.records === undefined);
  const rows = [...grid.querySelectorAll(".klw-row[data-row]:not([hidden])")];
  return {
    label: grid.getAttribute("aria-label"),
    headings: shown.map((k) => heads[k].dataset.name),
    rows: rows.map((row) => shown.map((k) => row.children[k].textContent)),
  };
}

// Parts of a tile or a sentence are words of their own.
const textOf = (el) =>
  (el.childElementCount ? [...el.childNodes].map((part) => part.textContent).join(" ") : el.textContent).trim();

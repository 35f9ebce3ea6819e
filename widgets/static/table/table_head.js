// The head of a table: a button in each column that sorts by it, and an edge that makes it wider.
import { h } from "../shared/dom.js";
import { trackOfAtLeast } from "./least_widths.js";

const LEAST_COLUMN = 36, COLUMN_STEP = 16; // px

// Widths are kept by a column's `key`, its name by default, also while it is not shown: `onWidths(widths)` gets all of
// them after a change; `isDone` is false while an edge is still dragged.
// `onSort(k)` is called for a column's button; without a heading, or where `canSort(column)` is false, there is none.
// `chart()` of a column is shown below its name, `tool()` beside it.
// `fitting(k)` is the width in px that what is shown of a column needs.
export function tableHead({ canSort, onSort, onWidths, fitting, menu }) {
  const el = h("div", { class: "klw-row klw-head", role: "row" });
  const cells = []; // columnheaders
  let columns = [], widths = new Map(), least = [];
  const keyOf = ({ key, name }) => key ?? name, widthOf = (column) => widths.get(keyOf(column)) ?? null;
  const say = (isDone = true) => onWidths(Object.fromEntries(widths), isDone);

  function setWidth(k, width, isDone) {
    columns.slice(0, k).forEach((column, before) => {
      if (!widthOf(column)) widths.set(keyOf(column), cells[before].offsetWidth); // columns before it keep their place
    });
    widths.set(keyOf(columns[k]), Math.max(LEAST_COLUMN, Math.round(width)));
    say(isDone);
  }
  function grip(k) {
    const edge = h("i", { class: "klw-grip", "aria-hidden": "true", title: "Drag: width; double click: as its texts" });
    let from = null;
    edge.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      edge.setPointerCapture(event.pointerId);
      from = { x: event.clientX, width: cells[k].offsetWidth };
    });
    edge.addEventListener("pointermove", ({ clientX }) => {
      if (from) setWidth(k, from.width + clientX - from.x, false);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      edge.addEventListener(name, () => {
        if (from) say();
        from = null;
      });
    }
    edge.addEventListener("dblclick", () => setWidth(k, fitting(k)));
    return edge;
  }
  function onKey(event, k) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way || !event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    setWidth(k, cells[k].offsetWidth + way * COLUMN_STEP);
  }
  function heading(column, k) {
    const label = canSort(column) && column.name
      ? h("button", {
        type: "button",
        class: "klw-sort",
        title: column.title ?? `Sort by ${column.name}. Shift and ← →: its width`,
        "data-live": column.isLive ? "disable" : null,
        onclick: (event) => {
          event.stopPropagation();
          onSort(k);
        },
        onkeydown: (event) => onKey(event, k),
      }, column.name)
      : column.name;
    const chart = column.chart?.(), tool = column.tool?.(), about = column.about && h("small", {}, column.about);
    const attributes = {
      role: "columnheader",
      class: column.number ? "klw-number" : null,
      title: column.title,
      "aria-label": chart || tool ? column.name : null, // not all that the chart says
      "data-name": column.name,
      "data-records": column.isOfRecords ?? false, // it shows what records hold
    };
    return h("span", attributes, label, tool, chart, about, column.name && grip(k));
  }
  return {
    el,
    setColumns(next) {
      const focused = columns[cells.findIndex((cell) => cell.contains(document.activeElement))];
      columns = next;
      least = [];
      el.toggleAttribute("data-tall", columns.some(({ about }) => about));
      el.toggleAttribute("data-charts", columns.some(({ chart }) => chart));
      cells.splice(0, cells.length, ...columns.map(heading));
      el.replaceChildren(...cells, menu);
      if (focused) cells[columns.findIndex((each) => keyOf(each) === keyOf(focused))]?.querySelector("button")?.focus();
    },
    // The tracks of the rows' grid.
    get template() {
      const trackOf = (column, k) => widthOf(column) ? `${widthOf(column)}px` : trackOfAtLeast(column.width, least[k]);
      return columns.map(trackOf).join(" ");
    },
    // Columns without a width of their own are at least so wide, in px, see `leastWidths`.
    setLeast(px) {
      least = px;
    },
    get isChanged() {
      return columns.some(widthOf);
    },
    setWidths(given) {
      widths = new Map(Object.entries(given));
    },
    resetWidths() {
      widths = new Map();
      say();
    },
    // Mark the column that the rows are sorted by; -1: none.
    showSort(at, isDown) {
      cells.forEach((cell, k) => {
        if (cell.querySelector(".klw-sort")) {
          cell.setAttribute("aria-sort", k === at ? (isDown ? "descending" : "ascending") : "none");
        }
      });
    },
  };
}

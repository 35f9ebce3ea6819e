// The head of a table: a button in each column that sorts by it, and an edge that makes it wider.
import { h } from "../shared/dom.js";

const LEAST_COLUMN = 36, COLUMN_STEP = 16; // px

// `onSort(k)` is called for a column's button; without a heading, or where `canSort(column)` is false, there is none.
// `fitting(k)` is the width in px that what is shown of a column needs. `onWidths()` is called after a change of widths.
export function tableHead({ canSort, onSort, onWidths, fitting, menu }) {
  const el = h("div", { class: "klw-row klw-head", role: "row" });
  const cells = []; // columnheaders
  let columns = [], widths = [];

  function setWidth(k, width) {
    cells.slice(0, k).forEach((cell, before) => {
      widths[before] ??= cell.offsetWidth; // columns before it keep their place
    });
    widths[k] = Math.max(LEAST_COLUMN, Math.round(width));
    onWidths();
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
      if (from) setWidth(k, from.width + clientX - from.x);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      edge.addEventListener(name, () => {
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
    const attributes = { role: "columnheader", class: column.number ? "klw-number" : null, title: column.title };
    return h("span", attributes, label, column.about && h("small", {}, column.about), column.name && grip(k));
  }
  return {
    el,
    setColumns(next) {
      const before = new Map(columns.map(({ name }, k) => [name, widths[k]]));
      columns = next;
      widths = columns.map(({ name }) => before.get(name) ?? null);
      el.toggleAttribute("data-tall", columns.some(({ about }) => about));
      cells.splice(0, cells.length, ...columns.map(heading));
      el.replaceChildren(...cells, menu);
    },
    // The tracks of the rows' grid.
    get template() {
      return columns.map((column, k) => (widths[k] ? `${widths[k]}px` : column.width)).join(" ");
    },
    get widths() {
      return widths;
    },
    get isChanged() {
      return widths.some(Boolean);
    },
    resetWidths() {
      widths = columns.map(() => null);
      onWidths();
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

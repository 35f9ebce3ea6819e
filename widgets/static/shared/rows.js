// A scrolling box of equal rows, however many: only the visible rows exist, and they are reused.
import { fillName, h } from "./dom.js";
import { painter } from "./host.js";
import { geometry, scrollOf, topOf, topToShow } from "./window.js";

export function windowedRows({ box, rowHeight, headHeight = 0, makeRow, fillRow, onWindow, signal }) {
  const isGrid = box.getAttribute("role") === "grid";
  const role = isGrid ? "rowgroup" : "presentation";
  const win = h("div", { class: "klw-window", role, style: `top:${headHeight}px` });
  const spacer = h("div", { class: "klw-spacer", role: "presentation" }, win);
  box.append(spacer);
  let rows = 0, top = 0, g = geometry(0, rowHeight, 1), expected = 0;
  const pool = [];
  const viewport = () => Math.max(rowHeight, box.clientHeight - headHeight);
  const ask = painter(box, paint, signal);

  function measure() {
    g = geometry(rows, rowHeight, viewport());
    spacer.style.height = `${g.height}px`;
    top = Math.max(0, Math.min(top, g.lastTop));
  }
  function placeBar() {
    expected = scrollOf(top, g);
    if (Math.abs(box.scrollTop - expected) >= 1) box.scrollTop = expected;
    expected = box.scrollTop;
  }
  function paint() {
    measure();
    placeBar();
    const first = Math.floor(top), shown = Math.min(rows - first, Math.ceil(viewport() / rowHeight) + 1);
    while (pool.length < shown) {
      const row = makeRow();
      pool.push(row);
      win.append(row);
    }
    pool.forEach((row, k) => {
      row.hidden = k >= shown;
      if (k >= shown) return;
      row.style.transform = `translateY(${(first + k - top) * rowHeight}px)`;
      row.dataset.row = first + k;
      fillRow(row, first + k);
    });
    onWindow?.(first, first + Math.max(0, shown));
  }
  box.addEventListener("scroll", () => {
    if (Math.abs(box.scrollTop - expected) < 1) return;
    expected = box.scrollTop;
    top = topOf(box.scrollTop, g);
    ask();
  });
  // On a reduced scale one pixel of the bar is many rows: the wheel moves rows instead.
  box.addEventListener("wheel", (event) => {
    if (!g.isScaled || event.ctrlKey || event.shiftKey) return;
    const next = Math.max(0, Math.min(g.lastTop, top + event.deltaY / rowHeight));
    if (next === top) return;
    event.preventDefault();
    top = next;
    ask();
  }, { passive: false });

  return {
    refresh: ask,
    // `isTail`: a list that shows its end shows it after it grew, too.
    setCount(n, isTail = false) {
      const wasAtEnd = isTail && g.lastTop > 0 && top >= g.lastTop;
      rows = n;
      if (isGrid) box.setAttribute("aria-rowcount", n);
      if (wasAtEnd) {
        measure();
        top = g.lastTop;
      }
      ask();
    },
    reset() {
      top = 0;
      ask();
    },
    reveal(row) {
      measure();
      const shown = Math.floor(viewport() / rowHeight), far = row < top - shown || row > top + 2 * shown;
      // Near rows move the least they can; far ones come to the middle, with what is around them.
      top = far ? Math.max(0, Math.min(g.lastTop, row - Math.floor(shown / 2))) : topToShow(row, top, shown, g.lastTop);
      ask();
    },
    toTop(row) {
      measure();
      top = Math.max(0, Math.min(g.lastTop, row));
      ask();
    },
    get shown() {
      return Math.max(1, Math.floor(viewport() / rowHeight));
    },
    get count() {
      return rows;
    },
  };
}

let tableCount = 0;

// A grid of any number of rows. A column with `isName` keeps the end of its texts. `cellsOf(i)` gives the texts of row i, or null while they are on their way.
// `onPick` gets a row that was selected, `onPress` one that was clicked, `onOpen` of Enter and double clicks.
export function dataGrid(
  { label, columns, cellsOf, onPick, onPress, onOpen, rowKind, signal, rowHeight = 24, emptyText = "No rows." },
) {
  const id = `klw-grid-${++tableCount}`, template = columns.map((each) => each.width).join(" ");
  const head = h(
    "div",
    { class: "klw-row klw-head", role: "row", style: `grid-template-columns:${template}` },
    ...columns.map((each) =>
      h("span", { role: "columnheader", class: each.number ? "klw-number" : null, title: each.title }, each.name)
    ),
  );
  const empty = h("div", { class: "klw-empty", hidden: true }, emptyText);
  const box = h("div", { class: "klw-grid", tabindex: 0, role: "grid", "aria-label": label }, head, empty);
  let selected = -1;
  const rows = windowedRows({
    box,
    rowHeight,
    headHeight: 28,
    signal,
    makeRow: () =>
      h(
        "div",
        { class: "klw-row", role: "row", style: `grid-template-columns:${template};height:${rowHeight}px` },
        ...columns.map((each) =>
          h("span", {
            role: "gridcell",
            class:
              [each.number && "klw-number", each.mono && "klw-mono", each.isName && "klw-name"].filter(Boolean).join(
                " ",
              ) || null,
          })
        ),
      ),
    fillRow(row, i) {
      const cells = cellsOf(i), kind = rowKind?.(i) ?? "";
      row.id = `${id}-${i}`;
      row.setAttribute("aria-rowindex", i + 1);
      row.setAttribute("aria-selected", String(i === selected));
      row.classList.toggle("klw-waiting", cells === null);
      row.dataset.kind = kind;
      columns.forEach((_, k) => fillCell(row.children[k], cells === null ? (k ? "" : "…") : cells[k]));
    },
  });
  function mark(i) {
    selected = i;
    if (i < 0) box.removeAttribute("aria-activedescendant");
    else box.setAttribute("aria-activedescendant", `${id}-${i}`);
  }
  function pick(i, tell = true) {
    if (!rows.count) return;
    mark(Math.max(0, Math.min(rows.count - 1, i)));
    rows.reveal(selected);
    if (tell) onPick?.(selected);
  }
  box.addEventListener("click", (event) => {
    const row = event.target.closest(".klw-row[data-row]");
    if (!row) return;
    pick(Number(row.dataset.row));
    if (event.detail < 2) onPress?.(selected);
  });
  box.addEventListener("dblclick", () => {
    if (selected >= 0 && !onPress) onOpen?.(selected); // what a press opens is not opened twice
  });
  box.addEventListener("keydown", (event) => {
    const page = Math.max(1, rows.shown - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    let target = null;
    if (event.key in steps) target = selected < 0 ? 0 : selected + steps[event.key];
    else if (event.key === "Home") target = 0;
    else if (event.key === "End") target = rows.count - 1;
    else if (event.key !== "Enter") return;
    event.preventDefault();
    event.stopPropagation();
    if (target === null) { if (selected >= 0) onOpen?.(selected); }
    else pick(target);
  });
  return {
    el: box,
    refresh: rows.refresh,
    setCount(n, { keep = false, isTail = false } = {}) {
      if (!keep) {
        mark(-1);
        rows.reset();
      }
      empty.hidden = n > 0;
      rows.setCount(n, isTail);
    },
    setEmptyText(text) {
      empty.textContent = text;
    },
    select(i, reveal = true) {
      mark(i);
      if (i >= 0 && reveal) rows.reveal(i);
      rows.refresh();
    },
    toTop: rows.toTop,
  };
}

// A cell is a text, or {text, kind, title, after, under}: kind is a class that says what sort of text it is; `after`
// follows it in faint letters, and `under` is a second line.
function fillCell(span, cell) {
  const { text, kind = "", title, after, under } = typeof cell === "object" && cell !== null ? cell : { text: cell };
  const isName = span.classList.contains("klw-name"), hint = title ?? (isName ? text : "");
  if (under !== undefined) span.replaceChildren(h("b", {}, text), h("small", {}, after), h("p", {}, under));
  else if (isName) fillName(span, text);
  else if (span.textContent !== text) span.textContent = text;
  if (span.dataset.kind !== kind) span.dataset.kind = kind;
  if (span.title !== hint) span.title = hint;
}

// A scrolling box of equal rows, however many: only the visible rows exist, and they are reused.
import { fillName, h, samePrefix } from "./dom.js";
import { plural } from "./format.js";
import { painter } from "./host.js";
import { stateNote } from "./state.js";
import { timesInZone } from "./zone.js";
import { geometry, scrollOf, topOf, topToShow } from "./window.js";
import { firstTexts, leastWidths } from "../table/least_widths.js";
import { orderBy, placesIn, sortKey } from "../table/row_order.js";
import { csvOf, download, jsonOf, plainCell, toClipboard, tsvOf } from "../table/row_texts.js";
import { tableHead } from "../table/table_head.js";
import { say, tableMenu } from "../table/table_menu.js";

// `onPaint` is called before the visible rows are filled.
export function windowedRows({ box, rowHeight, headHeight = 0, makeRow, fillRow, onPaint, onWindow, signal }) {
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
    onPaint?.();
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
    // The next rows are made again: they have other cells, or the head has another height.
    remake(high = headHeight) {
      headHeight = high;
      win.style.top = `${high}px`;
      win.replaceChildren();
      pool.length = 0;
      ask();
    },
    // The box that the rows are in is at least so wide, in px.
    widen(px) {
      spacer.style.minWidth = `${px}px`;
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
    // So many rows came before those that are shown.
    shift(n) {
      measure();
      top = Math.max(0, Math.min(g.lastTop, top + n));
      ask();
    },
    get isAtStart() {
      return top < .5;
    },
    get isAtEnd() {
      return top >= g.lastTop - .5;
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
const HEAD_PX = 28, TALL_HEAD_PX = 42, CHART_HEAD_PX = 70, MOST_TAKEN = 100_000, PAGE_TAKEN = 200, MOST_ALIKE = 200;

// A table of any number of rows, for every view. A column is {name, width, number, mono, isName, about, title, value}:
// `isName` keeps the end of its texts, `about` is a line below the heading, and `value(i)` is what row i sorts by, if its
// text does not say it; `isOfRecords`: its cells hold keys, values or headers. `cellsOf(i)` gives the cells of row i, see `fillCell`, or null while they are on their way.
// `onPick` gets a row that was selected, `onPress` one that was clicked, `onOpen` of Enter and double clicks.
// A table whose rows come by page has `load(start, stop)`, which resolves to their cells to take along, and is sorted
// where they come from: `onSort(column)`, for columns with `isSortable`; `showSort` then marks the column.
// `onWindow` is called after the visible rows were filled.
// `onWidths` gets the widths that columns were given, by `key` or name; `setWidths` gives them back.
// Rows keep their numbers, however the table is sorted.
export function dataGrid(
  {
    label,
    columns: given,
    cellsOf,
    onPick,
    onPress,
    onOpen,
    rowKind,
    load,
    onSort,
    onWidths,
    onWindow,
    signal,
    rowHeight = 24,
    emptyText = "No rows.",
  },
) {
  const id = `klw-grid-${++tableCount}`;
  const nothing = h("div", { role: "gridcell" }),
    empty = h("div", { class: "klw-norows", role: "row", hidden: true }, nothing);
  const box = h("div", {
    class: "klw-grid",
    tabindex: 0,
    role: "grid",
    "aria-label": label,
    "aria-multiselectable": "true",
  });
  let columns = given, laidOut = ""; // for which tracks and width the rows are as wide as the head
  let selected = -1, anchor = null, cell = -1; // a row; where a selection of several rows begins; the column clicked
  let prefixes = []; // of columns of names: what all of them begin with
  let texts = given.map(() => []), isMeasured = false; // of the first rows by column, which say how wide it has to be
  let order = null, places = null, sorted = { at: -1, isDown: false };
  const rowAt = (place) => order ? order[place] : place, placeOf = (row) => places && row >= 0 ? places[row] : row;

  const menu = tableMenu({ label, items: () => menuItems() });
  const head = tableHead({
    menu: h("span", { role: "columnheader", class: "klw-tabletools", "aria-label": "Table" }, menu.el),
    canSort: (column) => onSort ? column.isSortable : !load,
    onSort: (k) => onSort ? onSort(columns[k]) : sortBy(k),
    onWidths(widths, isDone) {
      rows.refresh();
      if (isDone) onWidths?.(widths);
    },
    fitting: (k) =>
      Math.max(...[...box.querySelectorAll(".klw-row:not([hidden])")].map((row) => widthOf(row.children[k]))),
  });
  box.append(head.el, empty);
  const rows = windowedRows({
    box,
    rowHeight,
    headHeight: HEAD_PX,
    signal,
    onPaint: layOut,
    onWindow,
    makeRow: () =>
      h(
        "div",
        { class: "klw-row", role: "row", style: `height:${rowHeight}px` },
        ...columns.map((each) =>
          h("span", {
            role: "gridcell",
            class: [each.number && "klw-number", each.mono && "klw-mono", each.isName && "klw-name"]
              .filter(Boolean).join(" ") || null,
          })
        ),
      ),
    fillRow(row, place) {
      const i = rowAt(place), cells = cellsOf(i), kind = rowKind?.(i) ?? "";
      row.id = `${id}-${i}`;
      row.setAttribute("aria-rowindex", place + 1);
      row.setAttribute("aria-selected", String(isTaken(place)));
      row.classList.toggle("klw-waiting", cells === null);
      row.dataset.kind = kind;
      columns.forEach((_, k) => {
        fillCell(row.children[k], cells === null ? (k ? "" : "…") : cells[k], prefixes[k]);
        row.children[k].toggleAttribute("data-current", k === cell && i === selected);
      });
    },
  });
  head.setColumns(columns);
  setState("empty", emptyText);

  // What is shown without rows, see `stateNote`.
  function setState(kind, text, action = null) {
    const shown = `${kind}/${text}/${action?.textContent ?? ""}`;
    if (empty.dataset.shown === shown) return;
    empty.dataset.shown = shown;
    nothing.replaceChildren(stateNote(kind, text, action));
  }

  // Rows are as wide as the head, even where its columns need more than the box has.
  function layOut() {
    if (!isMeasured && box.clientWidth) {
      head.setLeast(leastWidths(box, columns, (k) => texts[k], columns.some(({ about, chart }) => about || chart)));
      isMeasured = true;
    }
    const now = `${head.template}/${box.clientWidth}`;
    if (now === laidOut) return;
    laidOut = now;
    box.style.setProperty("--klw-cols", head.template);
    head.el.style.minWidth = "";
    rows.widen(0);
    const wide = head.el.scrollWidth;
    box.toggleAttribute("data-wide", wide > box.clientWidth);
    if (wide <= box.clientWidth) return;
    head.el.style.minWidth = `${wide}px`;
    rows.widen(wide);
  }

  // The order of the rows.
  function sortBy(k) {
    const first = Boolean(columns[k].number), isMine = sorted.at === k;
    const isDown = isMine ? !sorted.isDown : first;
    sorted = isMine && sorted.isDown !== first ? { at: -1, isDown: false } : { at: k, isDown }; // the third time: as it was
    arrange();
    head.showSort(sorted.at, sorted.isDown);
    if (selected >= 0) rows.reveal(placeOf(selected));
    rows.refresh();
  }
  function arrange() {
    const { at, isDown } = sorted, valueOf = columns[at]?.value;
    const keyOf = valueOf ?? ((i) => sortKey(plainCell(cellsOf(i)?.[at])));
    order = at < 0 ? null : orderBy(rows.count, keyOf, isDown);
    places = order && placesIn(order);
    anchor = null;
  }

  // The selection.
  const range = () =>
    anchor === null ? [placeOf(selected), placeOf(selected)] : [anchor, placeOf(selected)].sort((a, b) => a - b);
  function isTaken(place) {
    const [from, to] = range();
    return selected >= 0 && place >= from && place <= to;
  }
  function mark(i) {
    selected = i;
    if (i < 0) box.removeAttribute("aria-activedescendant");
    else box.setAttribute("aria-activedescendant", `${id}-${i}`);
  }
  function pick(place, { isMore = false } = {}) {
    if (!rows.count) return;
    anchor = isMore ? anchor ?? Math.max(0, placeOf(selected)) : null;
    mark(rowAt(Math.max(0, Math.min(rows.count - 1, place))));
    rows.reveal(placeOf(selected));
    if (!isMore) onPick?.(selected);
  }
  box.addEventListener("click", (event) => {
    const row = event.target.closest(".klw-row[data-row]");
    if (!row) return;
    cell = [...row.children].indexOf(event.target.closest("[role=gridcell]"));
    pick(Number(row.dataset.row), { isMore: event.shiftKey });
    if (event.detail < 2 && !event.shiftKey) onPress?.(selected);
  });
  box.addEventListener("dblclick", ({ target }) => {
    if (target.closest(".klw-head")) return;
    if (selected >= 0 && !onPress) onOpen?.(selected); // what a press opens is not opened twice
  });
  box.addEventListener("keydown", (event) => {
    if (event.target !== box) return; // a button of the head
    const isCommand = event.ctrlKey || event.metaKey, key = isCommand ? event.key.toLowerCase() : event.key;
    if (isCommand && key === "c" && !String(getSelection())) copy();
    else if (isCommand && key === "a") takeAll();
    else if (isCommand || event.altKey) return;
    else if (key === "ContextMenu" || (key === "F10" && event.shiftKey)) menu.show();
    else if (key === "Enter") { if (selected >= 0) onOpen?.(selected); }
    else if (key in stepsOfKeys()) {
      if (!event.shiftKey) cell = -1;
      const step = stepsOfKeys()[key], at = selected < 0 ? (step > 0 ? -1 : 0) : placeOf(selected);
      pick(
        Number.isFinite(step)
          ? Math.max(0, at + (selected < 0 ? Math.sign(step) : step))
          : step > 0
          ? rows.count - 1
          : 0,
        {
          isMore: event.shiftKey,
        },
      );
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  function stepsOfKeys() {
    const page = Math.max(1, rows.shown - 1);
    return { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  }
  function takeAll() {
    if (!rows.count) return;
    if (selected < 0) mark(rowAt(0));
    anchor = 0;
    mark(rowAt(rows.count - 1));
    cell = -1;
    rows.refresh();
  }

  // What is taken along: the selected rows or, without several, all.
  const taken = () => anchor === null ? [0, rows.count] : [range()[0], range()[1] + 1];
  async function textsOf(from, end) {
    const stop = Math.min(end, from + MOST_TAKEN), found = [];
    for (let start = from; start < stop; start += PAGE_TAKEN) {
      const upTo = Math.min(stop, start + PAGE_TAKEN);
      const some = load
        ? await load(start, upTo)
        : Array.from({ length: upTo - start }, (_, k) => cellsOf(rowAt(start + k)));
      found.push(...some.filter(Boolean).map((cells) => columns.map(({ number }, k) => plainCell(cells[k], number))));
    }
    return found;
  }
  const names = () => columns.map(({ name }, k) => name || `column ${k + 1}`);
  async function copy() {
    if (selected < 0) return;
    const isOne = anchor === null, [from, to] = range();
    if (isOne && cell >= 0) {
      const text = plainCell(cellsOf(selected)?.[cell], columns[cell].number);
      return tell(
        await toClipboard(text, box.parentElement),
        `Copied: ${text.length > 60 ? `${text.slice(0, 59)}…` : text}`,
      );
    }
    const texts = await textsOf(from, to + 1);
    tell(
      await toClipboard(tsvOf(isOne ? null : names(), texts), box.parentElement),
      `Copied ${plural(texts.length, "row")}`,
    );
  }
  const tell = (isDone, text) => say(box, isDone ? text : "The browser does not let this page copy.");
  async function save(ending) {
    const [from, end] = taken(),
      texts = await textsOf(from, end),
      isNumber = columns.map(({ number }) => Boolean(number));
    const text = ending === "csv" ? `${csvOf(names(), texts)}\r\n` : jsonOf(names(), texts, isNumber);
    download(
      `${label.toLowerCase().replaceAll(" ", "-")}.${ending}`,
      text,
      ending === "csv" ? "text/csv" : "application/json",
    );
    const missing = end - from - texts.length;
    say(
      box,
      `${plural(texts.length, "row")} in the file${
        missing ? `; the other ${plural(missing, "row")} are not in it` : ""
      }`,
    );
  }
  function menuItems() {
    const [from, end] = taken(),
      what = anchor === null ? `all ${plural(end - from, "row")}` : plural(end - from, "selected row");
    const isOne = anchor === null && cell >= 0;
    return [
      ...(selected >= 0
        ? [["copy", isOne ? "Copy the cell" : anchor === null ? "Copy the row" : `Copy ${what}`, "Ctrl C", copy]]
        : []),
      ["check", "Select all rows", "Ctrl A", takeAll],
      ["save", `Download ${what} as CSV`, "", () => save("csv")],
      ["save", `Download ${what} as JSON`, "", () => save("json")],
      ...(head.isChanged || sorted.at >= 0
        ? [["refresh", onSort ? "Columns as wide as they were" : "Columns and order as they were", "", reset]]
        : []),
    ];
  }
  function reset() {
    head.resetWidths();
    if (!onSort) {
      sorted = { at: -1, isDown: false };
      arrange();
      head.showSort(-1);
    }
    rows.refresh();
  }

  return {
    el: box,
    refresh: rows.refresh,
    showSort: head.showSort,
    setWidths(widths) {
      head.setWidths(widths);
      rows.refresh();
    },
    setCount(n, { keep = false, isTail = false } = {}) {
      if (!keep) {
        mark(-1);
        rows.reset();
      }
      empty.hidden = n > 0;
      texts = firstTexts(columns, cellsOf, load ? 0 : n, MOST_ALIKE);
      isMeasured = false;
      prefixes = columns.map(({ isName }, k) => isName ? samePrefix(texts[k].filter(Boolean)) : "");
      rows.setCount(n, isTail && !order);
      arrange();
    },
    setColumns(next) {
      columns = next;
      sorted = { at: -1, isDown: false };
      cell = -1;
      laidOut = "";
      texts = columns.map(() => []);
      isMeasured = false;
      head.setColumns(columns);
      const hasCharts = columns.some(({ chart }) => chart);
      rows.remake(hasCharts ? CHART_HEAD_PX : columns.some(({ about }) => about) ? TALL_HEAD_PX : HEAD_PX);
    },
    setState,
    select(i, reveal = true) {
      if (i !== selected) {
        cell = -1;
        anchor = null;
      }
      mark(i);
      if (i >= 0 && reveal) rows.reveal(placeOf(i));
      rows.refresh();
    },
    toTop: (i) => rows.toTop(placeOf(i)),
    // So many rows came before all others: those that are shown and selected stay.
    shift(n) {
      if (selected >= 0) mark(selected + n);
      if (anchor !== null) anchor += n;
      rows.shift(n);
    },
    isAt: (end) => end === "start" ? rows.isAtStart : rows.isAtEnd,
    goTo: (end) => rows.toTop(end === "start" ? 0 : rows.count),
  };
}

// The px that a cell's text needs, with its padding.
function widthOf(cell) {
  if (!cell) return 0;
  const range = new Range(), { paddingLeft, paddingRight } = getComputedStyle(cell);
  range.selectNodeContents(cell);
  return Math.ceil(cell.scrollWidth > cell.clientWidth ? cell.scrollWidth + 2 : range.getBoundingClientRect().width) +
    Math.ceil(parseFloat(paddingLeft) + parseFloat(paddingRight)) + 2;
}

// A cell is a text, or {text, kind, title, after, under, whole}: kind is a class that says what sort of text it is; `after`
// follows it in faint letters, `under` is a second line, and `whole` is what is copied instead.
function fillCell(span, cell, prefix = "") {
  const { text: given, kind = "", title, after, under } = typeof cell === "object" && cell !== null
    ? cell
    : { text: cell };
  const isOfKernel = typeof given === "string" && kind !== "mono"; // not what a record holds
  const text = isOfKernel ? timesInZone(given) : given;
  const isName = span.classList.contains("klw-name"), hint = title ?? (isName ? text : "");
  if (under !== undefined) span.replaceChildren(h("b", {}, text), h("small", {}, after), h("p", {}, under));
  else if (isName) fillName(span, text, prefix);
  else if (span.textContent !== text) span.textContent = text;
  if (span.dataset.kind !== kind) span.dataset.kind = kind;
  if (span.title !== hint) span.title = hint;
}

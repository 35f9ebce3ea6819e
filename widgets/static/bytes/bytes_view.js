// The bytes of a batch, 16 to a row, each colored by its field; the visible fields beside them.
import { fieldList } from "./byte_fields.js";
import { bytePages } from "./byte_pages.js";
import { byteRow, fillByteRow, WIDTH } from "./byte_row.js";
import { choice, h } from "../shared/dom.js";
import { bytes } from "../shared/format.js";
import { windowedRows } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";

const SELECT = "Select a batch to see its bytes.";

// `fetch(inside, start, stop)` resolves to bytes, on disk or decompressed, with their fields.
export function bytesView({ fetch, signal, label = "Bytes of the batch" }) {
  const view = {
    fetch,
    batch: null, // {position, size, inside}, the size when decompressed, null if unknown
    source: null, // what is shown: the batch, or what is inside of it
    inside: false, // is it decompressed?
    wanted: null, // what is marked: [is decompressed, start, size]
    lit: null, // the field under the pointer
    isRevealed: true, // has what is marked been scrolled to?
    ...bytesParts(label),
  };
  view.modes = choice(
    "Which bytes",
    [["disk", "On disk"], ["inside", "Decompressed"]],
    "disk",
    (mode) => showMode(view, mode === "inside"),
  );
  view.fields = fieldList({
    isMarked: ({ start, size }) => marks(view, start, size) && start === view.wanted[1] && size === view.wanted[2],
    isWithin: ({ start, size }) => marks(view, start, size),
    onLight: (field) => light(view, field),
    onMark: (field) => markField(view, field),
  });
  view.rows = windowedRows({
    box: view.hexbox,
    rowHeight: 20,
    headHeight: 6,
    signal,
    makeRow: byteRow,
    fillRow: (row, i) => fillRow(view, row, i * WIDTH),
    onWindow: (first, stop) => showFields(view, first * WIDTH, stop * WIDTH),
  });
  view.modeBar.append(view.modes.el);
  view.split.append(view.hexbox, h("div", { class: "klw-fieldbox" }, view.modeBar, view.fields.el));
  pointAtBytes(view);
  return {
    el: view.el,
    setSource: (batch, text = SELECT) => setSource(view, batch, text),
    setRecord: (place) => setRecord(view, place),
    refresh: view.rows.refresh,
  };
}

function bytesParts(label) {
  const hexbox = h("div", { class: "klw-hexbox", tabindex: 0, role: "region", "aria-label": label });
  const modeBar = h("div", { class: "klw-modes", hidden: true });
  const split = h("div", { class: "klw-bytes" }), instead = stateInstead([split]);
  instead.set(stateNote("empty", SELECT));
  return { hexbox, instead, modeBar, split, el: h("div", { class: "klw-pane" }, split, instead.el) };
}

// What to show: {position, size} in the file; null for nothing.
function setSource(view, batch, text) {
  view.batch = batch && { ...batch, inside: null };
  view.inside = false;
  view.wanted = null;
  view.modes.show("disk");
  view.modeBar.hidden = true;
  view.instead.set(batch ? null : stateNote("empty", text));
  open(view, view.batch);
}

// Mark a record's bytes: [is decompressed, start, size]; null for none.
function setRecord(view, place) {
  const { batch, rows, inside } = view;
  view.wanted = place;
  view.isRevealed = false;
  showMarks(view);
  if (!batch || !place) return rows.refresh();
  if (place[0] !== inside && (!place[0] || batch.inside !== null)) return showMode(view, place[0]);
  if (place[0] === inside) rows.toTop(Math.floor(place[1] / WIDTH) - 2);
}

function showMode(view, isInside) {
  const { batch, modes, wanted, rows } = view;
  view.inside = isInside;
  modes.show(isInside ? "inside" : "disk");
  modes.el.title = isInside ? `${bytes(batch.size)} on disk, ${bytes(batch.inside)} decompressed` : "";
  open(view, isInside ? { position: 0, size: batch.inside } : batch);
  if (wanted?.[0] === isInside) rows.toTop(Math.floor(wanted[1] / WIDTH) - 2);
}

function open(view, source) {
  const { fetch, inside, rows, fields } = view;
  view.source = source;
  view.lit = null;
  view.pages = source && bytePages({
    size: source.size,
    onPage: rows.refresh,
    async fetch(start, stop) {
      const answer = await fetch(inside, start, stop);
      if (view.source === source && answer && !inside) offerInside(view, answer.decompressed_size);
      return view.source === source ? answer : null;
    },
  });
  fields.clear();
  rows.reset();
  rows.setCount(source ? Math.ceil(source.size / WIDTH) : 0);
}

// Offer the decompressed bytes, if there are any; show them if what is marked is in them.
function offerInside(view, size) {
  view.batch.inside = size;
  view.modeBar.hidden = size === null;
  if (view.wanted?.[0] && size !== null && !view.inside) showMode(view, true);
}

// Are all of these bytes in what is marked?
function marks({ wanted, inside }, start, size) {
  return wanted !== null && wanted[0] === inside && start >= wanted[1] && start + size <= wanted[1] + wanted[2];
}

function fillRow(view, row, start) {
  const { source, lit } = view, page = view.pages.with(start);
  fillByteRow(row, start, { source, page, lit, isWanted: (at) => marks(view, at, 1) });
}

function showFields(view, from, stop) {
  if (!view.source) return;
  view.fields.show(view.pages.fieldsIn(from, Math.min(view.source.size, stop)), view.source.position);
  showMarks(view);
}

function showMarks(view) {
  const { wanted, inside, lit } = view;
  if (view.fields.mark(lit, { isScrolled: !view.isRevealed })) view.isRevealed = true;
  view.split.dataset.marked = String(wanted !== null && wanted[0] === inside);
}

// Mark a field's bytes; the arrow keys move to the field before or after it.
function markField(view, { start, size }) {
  view.wanted = [view.inside, start, size];
  view.rows.reveal(Math.floor(start / WIDTH));
  view.rows.refresh();
  showMarks(view);
}

function light(view, field) {
  if (field?.key === view.lit?.key) return;
  view.lit = field;
  view.rows.refresh();
}

function pointAtBytes(view) {
  const { hexbox, fields } = view;
  hexbox.addEventListener("pointermove", ({ target }) => {
    const { at } = target.dataset;
    light(view, at ? view.pages.fieldAt(Number(at)) : null);
    if (view.lit) fields.scrollTo(view.lit);
  });
  for (const box of [hexbox, fields.el]) box.addEventListener("pointerleave", () => light(view, null));
}

// The bytes of a batch, 16 to a row, each colored by its field; the visible fields beside them.
import { choice, h } from "./dom.js";
import { bytes, count } from "./format.js";
import { windowedRows } from "./rows.js";

const PAGE_BYTES = 4096, WIDTH = 16;

export function bytesView({ fetch, signal, label = "Bytes of the batch" }) {
  const hexbox = h("div", { class: "klw-hexbox", tabindex: 0, role: "region", "aria-label": label });
  const list = h("div", { class: "klw-fields", tabindex: 0, role: "list", "aria-label": "Visible fields" });
  const empty = h("div", { class: "klw-empty" }, "Select a batch to see its bytes.");
  const modes = choice(
    "Which bytes",
    [["disk", "On disk"], ["inside", "Decompressed"]],
    "disk",
    (mode) => showMode(mode === "inside"),
  );
  const modeBar = h("div", { class: "klw-modes", hidden: true }, modes.el);
  const split = h(
    "div",
    { class: "klw-bytes", hidden: true },
    hexbox,
    h("div", { class: "klw-fieldbox" }, modeBar, list),
  );
  const el = h("div", { class: "klw-pane" }, split, empty);
  let batch = null, inside = false, wanted = null;
  let source = null,
    pages = new Map(),
    asked = new Set(),
    lit = null,
    shownKey = "",
    shownFields = [],
    isRevealed = true;
  const rows = windowedRows({
    box: hexbox,
    rowHeight: 20,
    headHeight: 6,
    signal,
    makeRow,
    fillRow,
    onWindow: showFields,
  });

  function makeRow() {
    const cells = [];
    for (let k = 0; k < WIDTH; k++) cells.push(h("u", {}));
    for (let k = 0; k < WIDTH; k++) cells.push(h("s", {}));
    return h("div", { class: "klw-hexrow" }, h("small", {}), ...cells);
  }
  function page(number) {
    const got = pages.get(number);
    if (!got && !asked.has(number) && source) {
      asked.add(number);
      const mine = source;
      fetch(inside, number * PAGE_BYTES, Math.min(source.size, (number + 1) * PAGE_BYTES)).then((answer) => {
        asked.delete(number);
        if (mine !== source || !answer) return;
        if (!inside) offerInside(answer.decompressed_size);
        if (mine !== source) return;
        pages.set(number, unfold(answer));
        if (pages.size > 64) pages.delete(pages.keys().next().value);
        rows.refresh();
      });
    }
    return got ?? null;
  }
  function fillRow(row, i) {
    const start = i * WIDTH, got = page(Math.floor(start / PAGE_BYTES));
    row.children[0].textContent = (source.position + start).toString(16).padStart(8, "0");
    for (let k = 0; k < WIDTH; k++) {
      const hex = row.children[1 + k], text = row.children[1 + WIDTH + k], at = start + k;
      if (at >= source.size || !got) {
        fillByte(hex, at < source.size ? "··" : "  ", null);
        fillByte(text, at < source.size ? "·" : " ", null);
        continue;
      }
      const place = at - got.start,
        field = got.fields[got.owner[place]] ?? null,
        masked = got.masked[place] === 1,
        byte = got.data[place];
      fillByte(hex, masked ? "··" : byte.toString(16).padStart(2, "0"), field, at, masked);
      fillByte(text, masked ? "·" : byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·", field, at, masked);
    }
  }
  function fillByte(cell, text, field, at, masked = false) {
    if (cell.textContent !== text) cell.textContent = text;
    const state = field
      ? [field.tone, at === field.start && cell.tagName === "U", field === lit, masked, isWanted(at)]
      : ["", false, false, masked, false];
    ["tone", "edge", "lit", "masked", "wanted"].forEach((name, k) => {
      if (cell.dataset[name] !== String(state[k])) cell.dataset[name] = String(state[k]);
    });
    cell.dataset.at = at ?? "";
  }
  function showFields(first, stop) {
    if (!source) return;
    const from = first * WIDTH, to = Math.min(source.size, stop * WIDTH), fields = new Map();
    for (let number = Math.floor(from / PAGE_BYTES); number * PAGE_BYTES < to; number++) {
      for (const field of pages.get(number)?.fields ?? []) {
        if (field.start < to && field.start + Math.max(1, field.size) > from) fields.set(field.key, field);
      }
    }
    const key = [...fields.keys()].join();
    if (key === shownKey) return markFields();
    shownKey = key;
    list.replaceChildren(
      ...[...fields.values()].map((field) =>
        h(
          "div",
          {
            class: "klw-field",
            role: "listitem",
            style: `--level:${field.level}`,
            "data-wrong": field.wrong,
            "data-key": field.key,
            title: `${field.name}: ${field.value}${field.note ? ` (${field.note})` : ""}\n${
              count(field.size)
            } bytes at ${count(source.position + field.start)}`,
          },
          h("i", field.leaf ? { "data-tone": field.tone } : {}),
          h("b", {}, field.name),
          h("span", {}, field.value, field.note ? h("em", {}, field.note) : null),
        )
      ),
    );
    for (const item of list.children) {
      const field = fields.get(item.dataset.key);
      item.addEventListener("pointerenter", () => light(field));
      item.addEventListener("click", () => mark(field));
    }
    shownFields = [...fields.values()];
    markFields();
  }
  function markFields() {
    shownFields.forEach((field, k) => {
      const item = list.children[k];
      item.dataset.lit = String(item.dataset.key === lit?.key);
      item.setAttribute("aria-current", String(isMarked(field)));
      item.dataset.wanted = String(isWithin(field));
    });
    const first = isRevealed ? -1 : shownFields.findIndex(isWithin);
    if (first >= 0) {
      isRevealed = true;
      list.scrollTop = list.children[first].offsetTop - list.offsetTop;
    }
    split.dataset.marked = String(wanted !== null && wanted[0] === inside);
  }
  const isWithin = (field) =>
    wanted !== null && wanted[0] === inside && field.start >= wanted[1] &&
    field.start + field.size <= wanted[1] + wanted[2];
  const isMarked = (field) =>
    wanted !== null && wanted[0] === inside && wanted[1] === field.start && wanted[2] === field.size;
  // Mark a field's bytes; the arrow keys go on to the field before or after it.
  function mark(field) {
    wanted = [inside, field.start, field.size];
    rows.reveal(Math.floor(field.start / WIDTH));
    rows.refresh();
    markFields();
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !shownFields.length) return;
    event.preventDefault();
    event.stopPropagation();
    const at = shownFields.findIndex(isMarked), next = at < 0 ? 0 : at + step;
    if (!shownFields[next]) return;
    mark(shownFields[next]);
    list.children[next]?.scrollIntoView({ block: "nearest" });
  });
  function light(field) {
    if (field?.key === lit?.key) return;
    lit = field ?? null;
    rows.refresh();
  }
  hexbox.addEventListener("pointermove", (event) => {
    const at = event.target.dataset?.at, got = at ? pages.get(Math.floor(Number(at) / PAGE_BYTES)) : null;
    light(got?.fields[got.owner[Number(at) - got.start]]);
    if (lit) list.querySelector(`[data-key="${lit.key}"]`)?.scrollIntoView({ block: "nearest" });
  });
  for (const box of [hexbox, list]) box.addEventListener("pointerleave", () => light(null));

  const isWanted = (at) => wanted !== null && wanted[0] === inside && at >= wanted[1] && at < wanted[1] + wanted[2];
  function offerInside(size) {
    batch.inside = size;
    modeBar.hidden = size === null;
    if (wanted?.[0] && size !== null && !inside) showMode(true);
  }
  function showMode(isInside) {
    inside = isInside;
    modes.show(inside ? "inside" : "disk");
    modes.el.title = inside ? `${bytes(batch.size)} on disk, ${bytes(batch.inside)} decompressed` : "";
    open(inside ? { position: 0, size: batch.inside } : batch);
    if (wanted?.[0] === inside) rows.toTop(Math.floor(wanted[1] / WIDTH) - 2);
  }
  function open(next) {
    source = next;
    pages = new Map();
    asked = new Set();
    lit = null;
    shownKey = "";
    shownFields = [];
    list.replaceChildren();
    rows.reset();
    rows.setCount(next ? Math.ceil(next.size / WIDTH) : 0);
  }

  return {
    el,
    // What to show: {position, size} in the file; null for nothing.
    setSource(next, text = "Select a batch to see its bytes.") {
      batch = next && { ...next, inside: null };
      inside = false;
      wanted = null;
      modes.show("disk");
      modeBar.hidden = true;
      split.hidden = !next;
      empty.hidden = Boolean(next);
      empty.textContent = text;
      open(batch);
    },
    // Mark a record's bytes: [is decompressed, start, size]; null for none.
    setRecord(place) {
      wanted = place;
      isRevealed = false;
      markFields();
      if (!batch || !place) return rows.refresh();
      if (place[0] !== inside && (!place[0] || batch.inside !== null)) return showMode(place[0]);
      if (place[0] === inside) rows.toTop(Math.floor(place[1] / WIDTH) - 2);
    },
    refresh: rows.refresh,
  };
}

// From the answer of the kernel to arrays by byte: which leaf field owns it, and whether it is hidden.
function unfold({ start, fields, masks, buffers }) {
  const view = buffers[0], data = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const owner = new Int32Array(data.length).fill(-1), masked = new Uint8Array(data.length);
  fields.forEach((field, k) => {
    field.key = `${field.start}-${field.size}-${field.level}-${field.name}`.replace(/["\\]/g, "");
    if (field.leaf) owner.fill(k, Math.max(0, field.start - start), Math.max(0, field.start + field.size - start));
  });
  for (const [from, to] of masks) masked.fill(1, Math.max(0, from - start), Math.max(0, to - start));
  return { start, data, fields, owner, masked };
}

// A row of 16 bytes: its position, the bytes as hexadecimal digits, and as ASCII.
import { h } from "../shared/dom.js";

export const WIDTH = 16;

export function byteRow() {
  const cells = [];
  for (let k = 0; k < WIDTH; k++) cells.push(h("u", {}));
  for (let k = 0; k < WIDTH; k++) cells.push(h("s", {}));
  return h("div", { class: "klw-hexrow" }, h("small", {}), ...cells);
}

// Fill a row with the bytes from `start` of a source {position, size}; `page` holds them, null until they came. `lit`
// is the field under the pointer, `isWanted` says which bytes are marked.
export function fillByteRow(row, start, { source, page, lit, isWanted }) {
  row.children[0].textContent = (source.position + start).toString(16).padStart(8, "0");
  for (let k = 0; k < WIDTH; k++) {
    const at = start + k, hex = row.children[1 + k], text = row.children[1 + WIDTH + k];
    if (at >= source.size || !page) {
      fillByte(hex, at < source.size ? "··" : "  ", NO_MARKS);
      fillByte(text, at < source.size ? "·" : " ", NO_MARKS);
      continue;
    }
    const place = at - page.start, isMasked = page.masked[place] === 1, [digits, sign] = byteTexts(page.data[place]);
    const field = page.fields[page.owner[place]] ?? null;
    const marks = { field, at, isMasked, isLit: field === lit, isWanted: isWanted(at) };
    fillByte(hex, isMasked ? "··" : digits, { ...marks, isEdge: at === field?.start });
    fillByte(text, isMasked ? "·" : sign, marks);
  }
}

const NO_MARKS = { field: null };

// A byte in hexadecimal, and as the character that it is in ASCII.
export function byteTexts(byte) {
  return [byte.toString(16).padStart(2, "0"), byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·"];
}

function fillByte(cell, text, { field, at, isMasked = false, isLit = false, isWanted = false, isEdge = false }) {
  if (cell.textContent !== text) cell.textContent = text;
  const state = {
    tone: field ? field.tone : "",
    edge: isEdge,
    lit: field !== null && isLit,
    masked: isMasked,
    wanted: field !== null && isWanted,
  };
  for (const [name, value] of Object.entries(state)) {
    if (cell.dataset[name] !== String(value)) cell.dataset[name] = String(value);
  }
  cell.dataset.at = at ?? "";
}

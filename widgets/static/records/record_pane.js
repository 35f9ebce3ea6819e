// One record in full: key and value as JSON, text, or bytes; headers; and where the record is.
import { button, choice, fillName, h, pairList } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { copyText } from "../shared/popover.js";
import { windowedRows } from "../shared/rows.js";

const HEX_WIDTH = 16;

export function recordPane({ onClose, signal }) {
  const title = h("h3", {}), about = h("span", { class: "klw-about" });
  const close = button("Close the record (Esc)", { glyph: "cross", onclick: onClose });
  const body = h("div", { class: "klw-whole", tabindex: 0, role: "region", "aria-label": "The record in full" });
  const empty = h("div", { class: "klw-empty" }, "Select a record to see all of it.");
  const el = h(
    "aside",
    { class: "klw-recordpane" },
    h("div", { class: "klw-phead" }, title, about, close),
    body,
    empty,
  );
  let shown = "";
  let parts = new AbortController(); // ends the views of bytes of the record before
  signal.addEventListener("abort", () => parts.abort());
  return {
    el,
    // A record as the kernel sends it; null for none.
    show(record, place) {
      const key = record && place ? `${place.partition}/${place.offset}` : "";
      empty.hidden = Boolean(record);
      body.hidden = !record;
      empty.textContent = place ? "This record cannot be read any more." : "Select a record to see all of it.";
      fillName(title, place ? place.partition : "Record").title = place?.partition ?? "";
      about.textContent = place ? `offset ${count(place.offset)}` : "";
      parts.abort();
      parts = new AbortController();
      body.replaceChildren(...(record ? recordParts(record, parts.signal) : []));
      if (record && key !== shown) body.scrollTop = 0;
      shown = key;
    },
  };
}

function recordParts(record, signal) {
  const [key, value] = record.buffers.map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return [
    valuePart("value", record.value, value, signal),
    valuePart("key", record.key, key, signal),
    record.header_count ? headersPart(record) : "",
    h(
      "section",
      { class: "klw-part", "data-part": "facts" },
      h("header", {}, h("h4", {}, "record")),
      pairList(record.facts, { class: "klw-pairs" }),
    ),
  ];
}

// A key or a value, in the best of its forms first.
function valuePart(name, sent, data, signal) {
  const size = sent.size === null ? "null" : bytes(sent.size), forms = formsOf(sent, data), best = forms[0][0];
  const content = h("div", { class: "klw-form" });
  const pick = (form) => content.replaceChildren(contentOf(form, sent, data, signal));
  const copy = button(`Copy the ${name}`, {
    glyph: "copy",
    text: "Copy",
    onclick: () => copyText(sent.text || hexText(data), copy),
  });
  const modes = forms.length > 1 ? choice(`Form of the ${name}`, forms, best, pick) : null;
  const isCut = sent.size > data.length && data.length > 0;
  pick(best);
  return h(
    "section",
    { class: "klw-part", "data-part": name },
    h("header", {}, h("h4", {}, name), h("small", {}, size), modes?.el, best === "cell" ? null : copy),
    content,
    isCut && h("small", { class: "klw-rest" }, `The first ${bytes(data.length)} of ${bytes(sent.size)}.`),
  );
}

function headersPart({ headers, header_count: total }) {
  const more = total - headers.length;
  const pairs = headers.flatMap(([name, text, kind]) => [
    h("dt", {}, name || "hidden"),
    h("dd", { "data-kind": kind === "text" ? "mono" : kind }, text),
  ]);
  return h(
    "section",
    { class: "klw-part", "data-part": "headers" },
    h("header", {}, h("h4", {}, "headers"), h("small", {}, count(total))),
    h("dl", { class: "klw-pairs" }, ...pairs),
    more > 0 && h("small", { class: "klw-rest" }, `${plural(more, "more header")}.`),
  );
}

// The forms in which a key or a value can be shown, the best first.
function formsOf(sent, data) {
  if (sent.form === "hidden") return [["cell", "Hidden"]];
  const forms =
    { json: [["json", "JSON"]], decoded: [["json", "Decoded"]], text: [["text", "Text"]], bytes: [] }[sent.form];
  if (sent.form === "json") forms.push(["raw", "Text"]);
  return data.length ? [...forms, ["hex", "Hex"]] : [["cell", "Empty"]];
}

function contentOf(form, sent, data, signal) {
  if (form === "cell") {
    return h("div", { class: "klw-plain", "data-kind": sent.cell[1], title: sent.cell[2] }, sent.cell[0]);
  }
  if (form === "hex") return hexView(data, signal);
  if (form === "raw") return h("pre", { class: "klw-text" }, new TextDecoder().decode(data));
  return h("pre", { class: "klw-text" }, ...(form === "json" ? coloredJson(sent.text) : [sent.text]));
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;
const MOST_COLORED = 5000;

// JSON as text nodes and spans that say what sort of token it is.
export function coloredJson(text) {
  const out = [];
  let from = 0, left = MOST_COLORED;
  for (const found of text.matchAll(JSON_TOKEN)) {
    if (!left--) break;
    const [token, colon] = found, end = found.index + token.length - (colon?.length ?? 0);
    const kind = colon !== undefined ? "name" : token[0] === '"' ? "string" : /^[-\d]/.test(token) ? "number" : "word";
    out.push(text.slice(from, found.index), h("span", { "data-token": kind }, text.slice(found.index, end)));
    from = end;
  }
  out.push(text.slice(from));
  return out;
}

function hexView(data, signal) {
  const box = h("div", { class: "klw-hexdump", tabindex: 0, role: "region", "aria-label": "Bytes in hex" });
  const rowCount = Math.ceil(data.length / HEX_WIDTH);
  box.style.height = `${Math.min(18, rowCount) * 20 + 4}px`;
  const rows = windowedRows({
    box,
    rowHeight: 20,
    signal,
    makeRow: () => h("div", { class: "klw-hexline" }, h("small", {}), h("b", {}), h("i", {})),
    fillRow(row, i) {
      const some = data.subarray(i * HEX_WIDTH, (i + 1) * HEX_WIDTH);
      row.children[0].textContent = (i * HEX_WIDTH).toString(16).padStart(5, "0");
      row.children[1].textContent = hexText(some, " ").padEnd(HEX_WIDTH * 3);
      row.children[2].textContent = Array.from(
        some,
        (byte) => byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·",
      )
        .join("");
    },
  });
  rows.setCount(rowCount);
  return box;
}

export function hexText(data, between = "") {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join(between);
}

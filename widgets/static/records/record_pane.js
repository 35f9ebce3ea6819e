// One record in full: key and value as JSON, text, or bytes; headers; and where the record is.
import { button, choice, fillName, h, pairList } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { copyText } from "../shared/popover.js";
import { windowedRows } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { openMenu } from "../table/table_menu.js";

const HEX_WIDTH = 16;
const UNCHOSEN = () => stateNote("empty", "Select a record to see all of it.");
const GONE = () => stateNote("failed", "This record cannot be read any more.");

// `onQuery` gets a condition of a field that was clicked, `onColumn` its path.
// Without a kernel (`isLive()` is false), fields are text.
export function recordPane({ isLive, onClose, onQuery, onColumn, signal }) {
  const title = h("h3", {}), about = h("span", { class: "klw-about" });
  const close = button("Close the record (Esc)", { glyph: "cross", onclick: onClose });
  const body = h("div", { class: "klw-whole", tabindex: 0, role: "region", "aria-label": "The record in full" });
  const instead = stateInstead([body]);
  const el = h(
    "aside",
    { class: "klw-recordpane" },
    h("div", { class: "klw-phead" }, title, about, close),
    body,
    instead.el,
  );
  let shown = "";
  let parts = new AbortController(); // ends the views of bytes of the record before
  signal.addEventListener("abort", () => parts.abort());
  return {
    el,
    // A record as the kernel sends it; null for none.
    show(record, place) {
      const key = record && place ? `${place.partition}/${place.offset}` : "";
      instead.set(record ? null : place ? GONE() : UNCHOSEN());
      fillName(title, place ? place.partition : "Record").title = place?.partition ?? "";
      about.textContent = place ? `offset ${count(place.offset)}` : "";
      parts.abort();
      parts = new AbortController();
      const given = { signal: parts.signal, acts: isLive() ? { onQuery, onColumn } : null };
      body.replaceChildren(...(record ? recordParts(record, given) : []));
      if (record && key !== shown) body.scrollTop = 0;
      shown = key;
    },
  };
}

function recordParts(record, given) {
  const [key, value] = record.buffers.map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return [
    valuePart("value", record.value, value, given),
    valuePart("key", record.key, key, given),
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
function valuePart(name, sent, data, { signal, acts }) {
  const size = sent.size === null ? "null" : bytes(sent.size), forms = formsOf(sent, data), best = forms[0][0];
  const content = h("div", { class: "klw-form" });
  const pick = (form) => content.replaceChildren(contentOf(form, sent, data, { signal, name, acts }));
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

function contentOf(form, sent, data, { signal, name, acts }) {
  if (form === "cell") {
    return h("div", { class: "klw-plain", "data-kind": sent.cell[1], title: sent.cell[2] }, sent.cell[0]);
  }
  if (form === "hex") return hexView(data, signal);
  if (form === "raw") return h("pre", { class: "klw-text" }, new TextDecoder().decode(data));
  if (form !== "json") return h("pre", { class: "klw-text" }, sent.text);
  const about = acts && fieldMenu(name, sent.form === "json", acts);
  const text = h("pre", { class: "klw-text" }, ...coloredJson(sent.text, about));
  const tokens = [...text.querySelectorAll(".klw-token")];
  if (tokens.length) tokens[0].tabIndex = 0; // arrows lead to the others
  text.addEventListener("keydown", (event) => moveToToken(tokens, event));
  return text;
}

// What can be done with a field that is clicked. A query reads JSON, not what was decoded.
function fieldMenu(name, isSearched, { onQuery, onColumn }) {
  return (path, literal) => (event) => {
    const whole = name === "key" ? `key${path}` : path, term = `${whole}=${literal}`;
    const short = literal.length > 40 ? `${literal.slice(0, 39)}…` : literal;
    const isScalar = literal !== "" && isSearched;
    openMenu(event.currentTarget, whole, [
      ...(isScalar ? [["search", `Only ${whole} = ${short}`, "", () => onQuery(term)]] : []),
      ...(isScalar ? [["cross", `Without ${whole} = ${short}`, "", () => onQuery(`-${term}`)]] : []),
      ...(isSearched ? [["check", `Only with ${whole}`, "", () => onQuery(whole)]] : []),
      ["columns", "Show as a column", "", () => onColumn(whole)],
    ]);
  };
}

function moveToToken(tokens, event) {
  const way = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  const at = tokens.indexOf(event.target), next = tokens[at + way];
  if (!way || at < 0 || !next || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;
const MOST_COLORED = 5000;
const PLAIN_STEP = /^[A-Za-z0-9_-]+$/;

// JSON as text nodes and parts that say what sort of token it is. `aboutField(path, literal)`, if it is given, returns
// what a click on the name of a field, or on a value that is a literal, does.
export function coloredJson(text, aboutField = null) {
  const out = [], names = []; // of the objects and lists that are open, the field that is read
  let from = 0, left = MOST_COLORED;
  for (const found of text.matchAll(JSON_TOKEN)) {
    if (!left--) break;
    const [token, colon] = found, end = found.index + token.length - (colon?.length ?? 0);
    if (token === "{" || token === "[") names.push("");
    else if (token === "}" || token === "]") names.pop();
    else {
      const kind = colon !== undefined
        ? "name"
        : token[0] === '"'
        ? "string"
        : /^[-\d]/.test(token)
        ? "number"
        : "word";
      const part = text.slice(found.index, end), isInside = names.length > 0;
      if (kind === "name" && isInside) names[names.length - 1] = stepTo(part);
      const path = `$${names.join("")}`, isField = aboutField && isInside && path !== "$";
      const onclick = isField ? aboutField(path, kind === "name" ? "" : part) : null;
      const attributes = onclick && { type: "button", class: "klw-token", tabindex: -1, title: path, onclick };
      out.push(
        text.slice(from, found.index),
        h(onclick ? "button" : "span", { "data-token": kind, ...attributes }, part),
      );
      from = end;
    }
  }
  out.push(text.slice(from));
  return out;
}

function stepTo(quoted) {
  const name = JSON.parse(quoted);
  return PLAIN_STEP.test(name) ? `.${name}` : `[${quoted}]`;
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

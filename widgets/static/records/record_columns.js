// The columns of the records: which there are, what they are called, and what is known of their values.
import { button } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { TIME_WIDTH } from "../shared/zone.js";
import { columnProfile } from "./column_profile.js";

// Columns that are not fields, by their names in the kernel, which sorts by them; `isOfValues`: while values are shown.
const PLAIN_COLUMNS = {
  partition: { name: "Partition", width: "96px", number: true, title: "Sort by partition and offset" },
  offset: { name: "Offset", width: "80px", number: true, title: "Sort by partition and offset" },
  time: { name: "Time", width: TIME_WIDTH },
  key: { name: "Key", width: "minmax(96px,1fr)", isOfRecords: true },
  value: { name: "Value", width: "minmax(160px,4fr)", isOfValues: true },
  headers: { name: "Headers", width: "minmax(80px,1fr)", isOfValues: true },
  size: { name: "Bytes", width: "72px", number: true, title: "Sort by the bytes of key and value" },
};
export const PLAIN_NAMES = Object.keys(PLAIN_COLUMNS);
const BROKER = { name: "Broker", width: "64px", number: true, title: "The broker's id, node.id in meta.properties" };
const NO_HEADERS = { width: "72px" }; // where no record has any
const WHOLE_NAME = { width: "minmax(104px,.7fr)", number: false, isName: true }; // of several topics

export const columnLabel = (name) => PLAIN_COLUMNS[name]?.name ?? name;

const NOT_PROFILED = new Set(["time", "value", "offset"]);
const NOT_COUNTED = new Set(["time", "value", "offset", "headers"]);

// The columns of a table, for names in the kernel. `profile` is what the kernel says of their values; null: nothing yet.
// `acts`: `onFilter(term)` adds a condition to the query, `onCount(name, from)` counts the records by a column.
export function recordColumns(names, { isOfAll, hasBrokers, hasHeaders, profile, showsValues }, acts) {
  const columns = names.map((name) => {
    const plain = PLAIN_COLUMNS[name], known = NOT_PROFILED.has(name) ? null : profile?.columns[name];
    const column = plain ?? { name, width: "minmax(92px,1fr)", number: known?.low !== undefined, isOfValues: true };
    return {
      ...column,
      ...(name === "partition" && isOfAll && WHOLE_NAME),
      ...(name === "headers" && !hasHeaders && NO_HEADERS),
      key: name,
      isSortable: !column.isOfValues || showsValues,
      isOfRecords: column.isOfRecords || column.isOfValues,
      isLive: true,
      about: known && profileText(known),
      chart: known && (() => columnProfile(name, isOfAll ? known : ofOneTopic(name, known), profile.of, acts.onFilter)),
      tool: known && !NOT_COUNTED.has(name) ? () => countButton(name, acts.onCount) : null,
      title: known ? profileTitle(name, known, profile.of) : column.title,
    };
  });
  return hasBrokers ? [{ ...BROKER, key: "broker", isSortable: false }, ...columns] : columns;
}

// Of one topic, a partition is a number.
function ofOneTopic(name, known) {
  if (name !== "partition" || !known.top) return known;
  const top = known.top.map(([text, ...rest]) => [text.slice(text.lastIndexOf("-") + 1), ...rest]);
  return { ...known, top };
}

function countButton(name, onCount) {
  const el = button(`Count the records by ${columnLabel(name)}`, {
    text: "Σ",
    kind: "klw-countby",
    isLive: true,
    onclick: (event) => {
      event.stopPropagation();
      onCount(name, el);
    },
  });
  el.setAttribute("aria-haspopup", "dialog");
  return el;
}

// A profile in few words: the ends of numbers, or how many values there are, and how many records have none.
export function profileText({ none, distinct, low, high, top }) {
  const what = low !== undefined && high !== low
    ? `${count(low)} – ${count(high)}`
    : distinct === 1
    ? top?.[0][0] ?? count(low)
    : distinct
    ? `${count(distinct)} distinct`
    : "";
  return [what, none && `${count(none)} none`].filter(Boolean).join(" · ");
}

function profileTitle(name, { none, distinct, low, high, top }, of) {
  return [
    `${columnLabel(name)}, a sample of ${plural(of, "listed record")}: ${plural(distinct, "distinct value")}`,
    none && `${count(none)} without one`,
    low !== undefined && `${count(low)} to ${count(high)}`,
    top && `most often ${top[0][0]} (${count(top[0][1])})`,
  ].filter(Boolean).join(", ");
}

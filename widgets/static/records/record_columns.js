// The columns of the records: which there are, what they are called, and what is known of their values.
import { count, plural } from "../shared/format.js";

// Columns that are not fields, by their names in the kernel, which sorts by them; `isOfValues`: while values are shown.
const PLAIN_COLUMNS = {
  time: { name: "Time", width: "190px" },
  partition: { name: "Partition", width: "80px", number: true, title: "Sort by partition and offset" },
  offset: { name: "Offset", width: "96px", number: true, title: "Sort by partition and offset" },
  key: { name: "Key", width: "minmax(96px,1fr)" },
  value: { name: "Value", width: "minmax(200px,4fr)", isOfValues: true },
  headers: { name: "Headers", width: "minmax(80px,1fr)", isOfValues: true },
  size: { name: "Bytes", width: "72px", number: true, title: "Sort by the bytes of key and value" },
};
export const PLAIN_NAMES = Object.keys(PLAIN_COLUMNS);
const WHOLE_NAME = { width: "minmax(104px,.7fr)", number: false, isName: true }; // of several topics

export const columnLabel = (name) => PLAIN_COLUMNS[name]?.name ?? name;

// The columns of a table, for names in the kernel. `profile` is what the kernel says of their values; null: nothing yet.
export function recordColumns(names, { isOfAll, profile, showsValues }) {
  const hasFields = names.some((name) => !(name in PLAIN_COLUMNS));
  return names.map((name) => {
    const plain = PLAIN_COLUMNS[name], known = hasFields && name !== "time" ? profile?.columns[name] : null;
    const column = plain ?? { name, width: "minmax(92px,1fr)", number: known?.low !== undefined, isOfValues: true };
    return {
      ...column,
      ...(name === "partition" && isOfAll && WHOLE_NAME),
      key: name,
      isSortable: !column.isOfValues || showsValues,
      isLive: true,
      about: known && profileText(known),
      title: known ? profileTitle(name, known, profile.of) : column.title,
    };
  });
}

// A profile in few words: the ends of numbers, or how many values there are, and how many records have none.
export function profileText({ none, distinct, low, high, top }) {
  const what = low !== undefined && high !== low
    ? `${count(low)} – ${count(high)}`
    : distinct === 1
    ? top ?? count(low)
    : distinct
    ? `${count(distinct)} distinct`
    : "";
  return [what, none && `${count(none)} none`].filter(Boolean).join(" · ");
}

function profileTitle(name, { none, distinct, low, high, top, top_count: times }, of) {
  return [
    `${columnLabel(name)}, of ${plural(of, "listed record")}: ${plural(distinct, "distinct value")}`,
    none && `${count(none)} without one`,
    low !== undefined && `${count(low)} to ${count(high)}`,
    top !== undefined && `most often ${top} (${count(times)})`,
  ].filter(Boolean).join(", ");
}

// The rows of CheckpointTable: what the files say of a partition, and what contradicts the log.
import { count } from "../shared/format.js";
import { TONES } from "../shared/theme.js";

// What each file says: column, name of the value, name of the file, and what a broker uses it for.
export const CHECKPOINTS = [
  ["log_start", "log start", "log-start-offset-checkpoint", "the first offset that clients can read"],
  ["recovery_point", "recovery point", "recovery-point-offset-checkpoint", "records before it were flushed"],
  ["high_watermark", "high watermark", "replication-offset-checkpoint", "records before it were committed"],
  ["cleaner_offset", "cleaner offset", "cleaner-offset-checkpoint", "the log is clean up to there"],
];

const isGrave = (finding) => finding.severity !== "info";

export function findingsOf(row) {
  return Object.values(row.findings).flat();
}

// Does a file contradict the log?
export function isMarked(row) {
  return findingsOf(row).some(isGrave);
}

// The kind of its row and cells.
export function toneOf(findings) {
  const grave = findings.filter(isGrave), severity = grave.find((each) => each.severity === "error") ?? grave[0];
  return TONES[severity?.severity] ?? "";
}

export function extentText(row) {
  return row.end === null ? "" : `${count(row.first)} – ${count(row.end)}`;
}

export function foundText({ found, expected }) {
  return `${found}${expected ? `; expected ${expected}` : ""}`;
}

// The partitions to list: `only` is "all" or "marked", `wanted` a part of their names in lower case.
export function partitionsLike(rows, { only, wanted }) {
  return rows.filter((row) =>
    (only === "all" || isMarked(row)) && (!wanted || row.name.toLowerCase().includes(wanted))
  );
}

// Why no partition is listed.
export function noRowsText({ is_checked: isChecked }, only) {
  if (only === "all") return "No partition has this in its name.";
  return isChecked ? "Nothing contradicts the logs." : "Not checked yet: Check compares the files with the logs.";
}

// The cells of a row of the table; `names` are the short names of directories by their paths.
export function checkpointCells(row, names) {
  const first = findingsOf(row)[0];
  return [
    { text: row.name, title: row.name, kind: toneOf(findingsOf(row)) },
    ...(names.size > 1
      ? [{ text: names.get(row.directory) ?? row.directory, title: row.directory, kind: "hidden" }]
      : []),
    row.end === null ? { text: row.kind || "no segments", kind: "hidden" } : { text: extentText(row), title: row.kind },
    ...CHECKPOINTS.map(([column]) => valueCell(row.offsets[column], row.findings[column])),
    valueCell(row.epoch, row.findings.leader_epoch),
    first
      ? { text: foundText(first), title: `${foundText(first)}\n${first.broker}` }
      : { text: row.kind, kind: "hidden" },
  ];
}

function valueCell(value, findings) {
  const kind = toneOf(findings ?? []);
  if (value === undefined || value === null) return { text: findings ? "?" : "–", kind: kind || "hidden" };
  return { text: count(value), kind, title: findings?.[0].broker ?? "" };
}

// What each file says of a partition: its name, the words, and what they mean.
export function statements(row) {
  const said = CHECKPOINTS.map(([column, , file, why]) => [
    file,
    row.offsets[column] === undefined ? "does not name it" : count(row.offsets[column]),
    why,
  ]);
  const epoch = row.epoch === null ? "no entry" : `epoch ${count(row.epoch)} from ${count(row.epoch_start)}`;
  return [
    ["segments", row.end === null ? "none" : extentText(row), "first offset to log end offset"],
    ...said,
    ["leader-epoch-checkpoint", epoch, "latest entry"],
    ["partition.metadata", row.topic_id ?? "no topic id", "topic id"],
    ...row.quorum.map(([name, text]) => ["quorum-state", text, name]),
    ["directory", row.directory, ""],
  ];
}

// Where the offsets are: the range of all of them, the log and each checkpoint in percent of it; null without a log.
export function extentOf(row) {
  if (row.end === null) return null;
  const marks = CHECKPOINTS.filter(([column]) => row.offsets[column] !== undefined).map(([column, name]) => ({
    name,
    at: BigInt(row.offsets[column]),
    isBad: Boolean(row.findings[column]?.some(isGrave)),
  }));
  const first = BigInt(row.first), end = BigInt(row.end), places = [first, end, ...marks.map((each) => each.at)];
  const low = places.reduce((a, b) => (b < a ? b : a)), high = places.reduce((a, b) => (b > a ? b : a));
  const percent = (offset) => (high > low ? (100 * Number(offset - low)) / Number(high - low) : 0);
  return {
    low,
    high,
    from: percent(first),
    to: percent(end),
    marks: marks.map(({ name, at, isBad }) => ({ place: percent(at), isBad, text: `${name} ${count(at)}` })),
  };
}

// What Kafka's files are, by their names, and what the tabs that show them are called.
const SUFFIXES = "(\\.deleted|\\.cleaned|\\.swap|\\.part|\\.tmp)?$";
const NUMBERED = "^\\d{20}";
const PARTITION = /^(.+-\d+)(\.[0-9a-f]{32}-(delete|stray|future))?$/;

// Name of a kind of files, which is the one of its icon, too → what JupyterLab calls it, and the names of its files.
export const KINDS = {
  segment: ["Segment of a Kafka log", `${NUMBERED}\\.log${SUFFIXES}`],
  offsets: ["Offset index of a Kafka log", `${NUMBERED}\\.index${SUFFIXES}`],
  times: ["Time index of a Kafka log", `${NUMBERED}\\.timeindex${SUFFIXES}`],
  aborted: ["Transaction index of a Kafka log", `${NUMBERED}\\.txnindex${SUFFIXES}`],
  producers: ["Producer snapshot of a Kafka log", `${NUMBERED}\\.snapshot${SUFFIXES}`],
  checkpoint: [
    "Checkpoint of Kafka",
    `^(\\d{20}-\\d{10}\\.checkpoint|\\d{20}\\.checkpoint|(cleaner|recovery-point|log-start|replication)-offset-checkpoint|` +
    `leader-epoch-checkpoint|bootstrap\\.checkpoint)${SUFFIXES}`,
  ],
  about: [
    "File of Kafka about a directory",
    `^(partition\\.metadata|meta\\.properties|quorum-state|\\.kafka_cleanshutdown)${SUFFIXES}`,
  ],
};

export const typeOf = (kind) => `kafka-${kind}`;

const names = (path) => path.split("/").filter(Boolean);

// The kind of a path's file; a file of a name of its own that is opened as a log is a segment.
export function kindOf(path) {
  const name = names(path).at(-1) ?? "";
  return Object.keys(KINDS).find((kind) => new RegExp(KINDS[kind][1]).test(name)) ?? "segment";
}

// The name of a tab: the partition and the file without its zeros, `orders-0 · 442.log`.
export function tabName(path) {
  const [folder, name] = ["", "", ...names(path)].slice(-2), short = name.replace(/^0{1,19}(?=\d)/, "");
  const partition = folder.match(PARTITION)?.[1];
  return partition ? `${partition} · ${short}` : short || "Kafka Log Workbench";
}

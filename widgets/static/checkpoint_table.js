// CheckpointTable: what checkpoints and metadata files say, beside the logs; contradictions are marked.
import { button, choice, h } from "./dom.js";
import { count, plural } from "./format.js";
import { withKernel } from "./kernel.js";
import { popover } from "./popover.js";
import { dataGrid } from "./rows.js";
import { followTheme } from "./theme.js";

const NOWHERE = { partition: null, segment: null, position: null, offset: null };
// What each file says: column, name of the file, and what a broker uses it for.
const FILES = [
  ["log_start", "log start", "log-start-offset-checkpoint", "the first offset that clients can read"],
  ["recovery_point", "recovery point", "recovery-point-offset-checkpoint", "records before it were flushed"],
  ["high_watermark", "high watermark", "replication-offset-checkpoint", "records before it were committed"],
  ["cleaner_offset", "cleaner offset", "cleaner-offset-checkpoint", "the log is clean up to there"],
];

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const held = () => model.get("_table");
  let shown = [], only = "all", wanted = "";

  const root = h("section", { class: "klw klw-checkpoints", tabindex: 0 });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const sheet = popover(root);
  const title = h("span", { class: "klw-title" }), sum = h("span", { class: "klw-sum" });
  const code = button("Python code for this table", {
    glyph: "code",
    text: "Python",
    onclick: () => sheet.python(code, "Python", model.get("query")),
  });
  const check = button("Read the files again and compare them with the logs", {
    glyph: "shield",
    text: "Check",
    kind: "klw-framed",
    onclick: startCheck,
  });
  const error = h("div", { class: "klw-error", hidden: true, role: "alert" });
  const cards = h("div", { class: "klw-cards" });
  const filter = h("input", {
    class: "klw-input klw-go",
    type: "search",
    placeholder: "Filter partitions",
    "aria-label": "Filter partitions",
    spellcheck: "false",
    oninput: () => {
      wanted = filter.value.trim().toLowerCase();
      list();
    },
  });
  const which = choice("Which partitions", [["all", "All"], ["marked", "Contradictions"]], only, (value) => {
    only = value;
    list();
  });
  const facts = h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "The selected entry" });
  const hasDirectories = held().directories.length > 1;
  const grid = dataGrid({
    label: "Partitions",
    signal,
    rowHeight: 26,
    emptyText: "No partitions.",
    onPick: (i) => choose(shown[i]),
    columns: [
      { name: "Partition", width: "minmax(142px, 1.5fr)" },
      ...(hasDirectories ? [{ name: "Directory", width: "minmax(80px, .8fr)" }] : []),
      { name: "Log in segments", width: "minmax(104px, .8fr)", number: true, title: "First offset to log end offset" },
      ...FILES.map(([, name, file]) => ({
        name: capital(name),
        width: `minmax(${Math.max(80, 22 + 6 * name.length)}px, .6fr)`, // room for the heading
        number: true,
        title: file,
      })),
      { name: "Epoch", width: "48px", number: true, title: "Latest entry of leader-epoch-checkpoint" },
      { name: "Contradiction", width: "minmax(90px, 2.6fr)" },
    ],
    cellsOf: (i) => cells(shown[i]),
    rowKind: (i) => (isMarked(shown[i]) ? "bad" : ""),
  });
  root.append(
    h("header", { class: "klw-top" }, title, sum, code, check),
    error,
    h("section", { class: "klw-panel" }, cards),
    h("div", { class: "klw-phead" }, h("h3", {}, "Partitions"), which.el, h("span", { class: "klw-about" }), filter),
    h("div", { class: "klw-checkbody" }, h("div", { class: "klw-sizes" }, grid.el), facts),
    live,
  );
  el.append(root);

  // Rows.
  const all = (row) => Object.values(row.findings).flat();
  const isMarked = (row) => all(row).some((each) => each.severity !== "info");
  const span = (row) => row.end === null ? "" : `${count(row.first)} – ${count(row.end)}`;
  function cells(row) {
    const first = all(row)[0];
    return [
      { text: row.name, title: row.name, kind: isMarked(row) ? "bad" : "" },
      ...(hasDirectories ? [{ text: row.directory.split("/").pop(), title: row.directory, kind: "hidden" }] : []),
      row.end === null ? { text: row.kind || "no segments", kind: "hidden" } : { text: span(row), title: row.kind },
      ...FILES.map(([column]) => cell(row.offsets[column], row.findings[column])),
      cell(row.epoch, row.findings.leader_epoch),
      first
        ? { text: `${first.found}${first.expected ? `; expected ${first.expected}` : ""}`, title: first.broker }
        : { text: row.kind, kind: "hidden" },
    ];
  }
  function cell(value, findings) {
    const kind = findings?.some((each) => each.severity !== "info") ? "bad" : "";
    if (value === undefined || value === null) return { text: findings ? "?" : "–", kind: kind || "hidden" };
    return { text: count(value), kind, title: findings?.[0].broker ?? "" };
  }
  function list() {
    const before = shown.map((row) => row.key).join("\n");
    shown = held().rows.filter((row) =>
      (only === "all" || isMarked(row)) && (!wanted || row.name.toLowerCase().includes(wanted))
    );
    grid.setEmptyText(
      !held().rows.length
        ? "No partitions in this directory."
        : only === "all"
        ? "No partition has this in its name."
        : held().is_checked
        ? "Nothing contradicts the logs."
        : "Not checked yet: Check compares the files with the logs.",
    );
    const keep = shown.length > 0 && shown.map((row) => row.key).join("\n") === before;
    grid.setCount(shown.length, { keep });
    showSelected(!keep);
  }

  // The selection.
  function choose(row) {
    model.set("selected", { ...NOWHERE, partition: row.key });
    model.save_changes();
    explain(row);
    const found = all(row);
    live.textContent = `${row.name}: ${found.length ? found.map((each) => each.broker).join(" ") : "no contradiction"}`;
  }
  function showSelected(reveal = true) {
    const name = model.get("selected")?.partition, i = name ? shown.findIndex((row) => row.key === name) : -1;
    if (i >= 0) grid.select(i, reveal);
    const row = shown[i] ?? (only === "all" ? shown.find(isMarked) : shown[0]) ?? null;
    if (row) explain(row);
    else facts.replaceChildren(h("p", { class: "klw-meaning" }, "Select a partition to see what each file says."));
  }
  function explain(row) {
    facts.replaceChildren(
      ...[
        h("h4", {}, row.name, row.kind ? h("span", { class: "klw-chip" }, row.kind) : null),
        axis(row),
        ...all(row).map(findingBox),
        h(
          "dl",
          {},
          ...statements(row).flatMap((
            [name, text, why],
          ) => [h("dt", {}, name), h("dd", {}, text, h("small", {}, why))]),
        ),
      ].filter(Boolean),
    );
    facts.scrollTop = 0;
  }
  function statements(row) {
    const said = FILES.map(([column, , file, why]) => [
      file,
      row.offsets[column] === undefined ? "does not name it" : count(row.offsets[column]),
      why,
    ]);
    return [
      ["segments", row.end === null ? "none" : span(row), "first offset to log end offset"],
      ...said,
      [
        "leader-epoch-checkpoint",
        row.epoch === null ? "no entry" : `epoch ${count(row.epoch)} from ${count(row.epoch_start)}`,
        "latest entry",
      ],
      ["partition.metadata", row.topic_id ?? "no topic id", "topic id"],
      ...row.quorum.map(([name, text]) => ["quorum-state", text, name]),
      ["directory", row.directory, ""],
    ];
  }
  function findingBox(each) {
    return h(
      "div",
      { class: "klw-contra", "data-severity": each.severity },
      h("b", {}, `${each.severity}: ${each.found}${each.expected ? `; expected ${each.expected}` : ""}`),
      h("p", {}, each.broker),
    );
  }
  // Where the offsets are: the log as a bar, each checkpoint as a mark.
  function axis(row) {
    if (row.end === null) return null;
    const marks = FILES.filter(([column]) => row.offsets[column] !== undefined).map(([column, name]) => ({
      name,
      at: BigInt(row.offsets[column]),
      isBad: row.findings[column]?.some((each) => each.severity !== "info"),
    }));
    const first = BigInt(row.first), end = BigInt(row.end), places = [first, end, ...marks.map((each) => each.at)];
    const low = places.reduce((a, b) => (b < a ? b : a)), high = places.reduce((a, b) => (b > a ? b : a));
    const at = (offset) => (high > low ? (100 * Number(offset - low)) / Number(high - low) : 0).toFixed(2);
    return h(
      "div",
      { class: "klw-extent", role: "img", "aria-label": `The log holds ${span(row)}` },
      h("i", { style: `left:${at(first)}%;right:${(100 - at(end)).toFixed(2)}%` }),
      ...marks.map((each) =>
        h("u", {
          style: `left:${at(each.at)}%`,
          "data-bad": Boolean(each.isBad),
          title: `${each.name} ${count(each.at)}`,
        })
      ),
      h("small", {}, count(low)),
      h("small", {}, count(high)),
    );
  }

  // From the model to the views.
  function showAll() {
    const sent = held();
    title.textContent = sent.title;
    title.title = sent.path;
    sum.textContent = `${sent.summary} · ${
      sent.is_checked ? (sent.found ? plural(sent.found, "contradiction") : "no contradictions") : "not checked yet"
    }`;
    root.setAttribute("aria-label", `Checkpoints of ${sent.title}: ${sum.textContent}`);
    cards.replaceChildren(...sent.directories.map(card));
    cards.parentElement.hidden = !sent.directories.length;
    list();
    stats.draws++;
  }
  function card(directory) {
    return h(
      "article",
      { class: "klw-card-of" },
      h("h4", { title: directory.path }, directory.path.split("/").filter(Boolean).pop() ?? directory.path),
      h("dl", {}, ...directory.facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
      ...directory.findings.map(findingBox),
    );
  }
  function startCheck() {
    if (model.send({ kind: "check", id: 0 })) showProgress([0, 1]);
  }
  function showProgress(given) {
    const [done, total] = given ?? model.get("_progress") ?? [], isOn = total > 0;
    check.disabled = isOn;
    check.lastChild.textContent = isOn ? `Checking ${Math.floor((100 * done) / total)} %` : "Check";
  }
  const showError = () => {
    error.textContent = model.get("_error");
    error.hidden = !error.textContent;
  };
  const onAnswer = (content) => {
    if (content.kind === "check" || content.kind === "error") showProgress([]);
  };
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !sheet.isOpen) return;
    sheet.close();
    event.preventDefault();
    event.stopPropagation();
  });

  const followed = {
    "change:_table": showAll,
    "change:selected": showSelected,
    "change:_progress": () => showProgress(),
    "change:_error": showError,
    "msg:custom": onAnswer,
  };
  for (const [name, act] of Object.entries(followed)) model.on(name, act);
  followTheme(root, () => {}, signal);
  showAll();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(name, act);
  };
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

export default { render: withKernel(render, { isWhole: true }) };

// LogExplorer: the tree, a partition's segments, a segment's map, and the lists and bytes under it.
import { bytesView } from "./bytes_view.js";
import { Column } from "./columns.js";
import { button, choice, h } from "./dom.js";
import { count } from "./format.js";
import { withKernel } from "./kernel.js";
import { batchList, findingList, listSummary, offsetIndexList, recordList, timeIndexList } from "./lists.js";
import { pageStore } from "./pages.js";
import { popover } from "./popover.js";
import { requests } from "./requests.js";
import { SegmentData } from "./segment_data.js";
import { segmentLegend } from "./legend.js";
import { segmentMap } from "./segment_map.js";
import { segmentStrip } from "./segment_strip.js";
import { tabStrip } from "./tabs.js";
import { followTheme } from "./theme.js";
import { mapSummary } from "./tracks.js";
import { directoryTree } from "./tree.js";

const NOTHING = { partition: null, segment: null, position: null, offset: null };

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = {});
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const announce = (text) => {
    live.textContent = text;
  };
  const root = h("section", { class: "klw", tabindex: -1, "aria-label": "Kafka log explorer" });
  const sheet = popover(root);
  let data = null, firstRows = new Column({ base: "0", dtype: "same", length: 0, data: null });

  // The selection; a change goes to the kernel, which sends the contents.
  const chosen = () => ({ ...NOTHING, ...model.get("selected") });
  function choose(change) {
    const selected = { ...chosen(), ...change };
    if (!isRead(selected)) return model.choose({ selected });
    model.set("selected", selected);
    model.save_changes();
  }
  // Another partition or segment must be read by the kernel.
  const isRead = ({ partition, segment }) => partition === chosen().partition && segment === chosen().segment;
  model.onLost(() => { // what the kernel did not get to read is not selected
    const sent = model.get("_segment");
    if (sent && !segmentOf()) model.set("selected", { ...NOTHING, partition: sent.partition, segment: sent.segment });
  });
  const isCurrent = (sent) => sent && sent.partition === chosen().partition && sent.segment === chosen().segment;
  const segmentOf = () => {
    const sent = model.get("_segment");
    return isCurrent(sent) ? sent : null;
  };
  const ask = requests(model, {
    signal,
    onError: showError,
    onSilence: (quiet) => {
      silence.hidden = !quiet;
    },
  });
  const inSegment = (body) => ({ partition: chosen().partition, segment: chosen().segment, ...body });

  // Head: title, go to, verify, refresh, keys.
  const title = h("span", { class: "klw-title" }), summary = h("span", { class: "klw-sum" });
  const goBox = h("input", {
    class: "klw-input",
    type: "text",
    placeholder: "Go to offset or time",
    "aria-label": "Go to an offset or a UTC time in this partition",
    spellcheck: "false",
  });
  goBox.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.stopPropagation();
    ask("go", { text: goBox.value, partition: chosen().partition }).then((answer) => {
      if (answer) announce(answer.text);
    });
  });
  const verify = button("Check every byte of this partition", {
    glyph: "shield",
    text: "Verify",
    kind: "klw-framed",
    onclick: () => {
      verify.disabled = true;
      ask("verify", { partition: chosen().partition }).then(() => {
        verify.disabled = false;
        tabs.show("findings");
      });
    },
  });
  const refresh = button("Read the directory again", { glyph: "refresh", onclick: () => ask("refresh") });
  const keys = button("Keys (?)", { glyph: "keyboard", onclick: () => sheet.keys(keys) });
  const head = h(
    "header",
    { class: "klw-top" },
    title,
    summary,
    h("span", { class: "klw-go" }, goBox),
    verify,
    refresh,
    keys,
  );
  const silence = h(
    "div",
    { class: "klw-error", role: "status", hidden: true },
    h("span", {}, "The kernel does not respond. It may be disconnected, or busy running a cell."),
  );
  const errorText = h("span", {});
  const errorBar = h(
    "div",
    { class: "klw-error", role: "alert", hidden: true },
    errorText,
    button("Dismiss", {
      glyph: "cross",
      onclick: () => {
        errorBar.hidden = true;
      },
    }),
  );
  function showError(text) {
    errorText.textContent = text;
    errorBar.hidden = !text;
  }

  // Panels.
  const python = (view, label) => {
    const made = button(`${label} as Python`, {
      glyph: "code",
      text: "Python",
      onclick: () => sheet.python(made, `${label} as Python`, model.get("query")[view] ?? "# nothing is selected"),
    });
    made.setAttribute("aria-haspopup", "dialog");
    return made;
  };
  const tree = directoryTree({
    signal,
    onSelect: (partition) => {
      if (partition !== chosen().partition) choose({ ...NOTHING, partition });
    },
  });
  const strip = segmentStrip({
    root,
    announce,
    signal,
    onSelect: (i) => choose({ segment: model.get("_strip").base_offset[i], position: null, offset: null }),
  });
  const modes = choice(
    "Axis of the segments",
    [["bytes", "Bytes"], ["offsets", "Offsets"]],
    "bytes",
    (mode) => strip.setMode(mode),
  );
  const stripHead = panelHead("Partition", modes.el, python("segments", "Segments"));
  const map = segmentMap({
    root,
    announce,
    signal,
    stats,
    onSelect: (i) => pickBatch(i),
    onOpen: () => tabs.show("records", true),
    onView: (view) => {
      model.set("view", view);
      model.save_changes();
    },
  });
  const colours = choice(
    "Color of the batches",
    [["codec", "Compression"], ["producer", "Producer"], ["epoch", "Epoch"]],
    model.get("colour_by"),
    (what) => {
      model.set("colour_by", what);
      model.save_changes();
    },
  );
  const mapHead = panelHead("Segment", colours.el, map.tools, python("batches", "Batches"));
  const legend = h("div", { class: "klw-legend" });

  // Lists.
  const store = pageStore({
    changed: () => records.refresh(),
    fetch: (start, stop) => ask("records", inSegment({ start, stop })).then((answer) => answer?.rows),
  });
  const selectedBatch = () => (data && chosen().position !== null ? data.batchAtPosition(chosen().position) : -1);
  function recordKind(i) {
    const row = store.row(i);
    if (!row) return "";
    const first = i > 0 && firstRows.length > row[5] && firstRows.number(row[5]) === i;
    return `${row[5] === selectedBatch() ? "within" : ""} ${first ? "first" : ""} ${row[6] && !row[0] ? "bad" : ""}`;
  }
  const records = recordList({
    store,
    signal,
    absence: () => (model.isLive ? null : model.absence),
    batchOf: recordKind,
    onPick: (i) => {
      const row = store.row(i);
      if (!row) return;
      announce(`Record ${row[0]}.`);
      choose({ position: data.position[row[5]], offset: row[0] || null });
    },
    onOpen: () => tabs.show("bytes", true),
  });
  const held = () => data;
  const batches = batchList({
    data: held,
    signal,
    onPick: (i) => pickBatch(i),
    onOpen: () => tabs.show("records", true),
  });
  const offsetIndex = offsetIndexList({
    data: held,
    signal,
    onPick: (i) => {
      const at = data.batchAtPosition(data.indexPosition[i]);
      if (at >= 0) pickBatch(at);
    },
  });
  const timeIndex = timeIndexList({
    data: held,
    signal,
    onPick: (i) => {
      const at = data.batchAt(data.timeIndexPosition[i]);
      if (at >= 0) pickBatch(at);
    },
  });
  const shownFindings = () => (model.get("_findings") ?? []).filter((each) => each.partition === chosen().partition);
  const findings = findingList({
    findings: shownFindings,
    signal,
    onPick: (i) => {
      const each = shownFindings()[i];
      if (each.segment !== null) choose({ segment: each.segment, position: each.batch_position, offset: null });
    },
  });
  const hex = bytesView({
    signal,
    fetch: (inside, start, stop) => ask("bytes", inSegment({ position: chosen().position, inside, start, stop })),
  });
  const tabs = tabStrip({
    records: ["Records", records.el, python("records", "Records")],
    bytes: ["Bytes", hex.el, python("bytes", "Bytes")],
    batches: ["Batches", batches.el, python("batches", "Batches")],
    offset_index: ["Offset index", offsetIndex.el, python("offset_index", "Offset index")],
    time_index: ["Time index", timeIndex.el, python("time_index", "Time index")],
    findings: ["Findings", findings.el, python("findings", "Findings")],
  }, { beside: "bytes" });

  const note = h("div", { class: "klw-note", hidden: true });
  const views = h(
    "div",
    {},
    h("section", { class: "klw-panel" }, stripHead.el, strip.el),
    h("section", { class: "klw-panel" }, mapHead.el, map.el, legend),
    tabs.el,
  );
  root.append(
    head,
    silence,
    errorBar,
    h("div", { class: "klw-body" }, tree.el, h("main", { class: "klw-main" }, note, views)),
    live,
  );
  el.append(root);

  function pickBatch(i) {
    if (selectedBatch() !== i || chosen().offset !== null) choose({ position: data.position[i], offset: null });
  }

  // From the model to the views.
  function showDirectory() {
    const sent = model.get("_directory");
    title.textContent = sent.title;
    title.title = sent.path;
    summary.textContent = sent.summary;
    tree.setNodes(sent.nodes, { openAll: sent.nodes.length <= 60 });
    tree.setSelected(chosen().partition);
  }
  function showStrip() {
    const sent = model.get("_strip"), mine = sent?.partition === chosen().partition ? sent : null;
    strip.setData(mine);
    strip.setSelected(mine ? mine.base_offset.indexOf(chosen().segment) : -1);
    stripHead.title.textContent = mine?.name ?? chosen().partition ?? "Partition";
    stripHead.about.textContent = mine?.about ?? "";
    note.hidden = Boolean(mine?.size.length);
    note.textContent = chosen().partition === null
      ? "Select a partition."
      : mine
      ? "This partition has no segments."
      : "Reading…";
    views.hidden = !mine?.size.length;
  }
  function showSegment() {
    const sent = segmentOf(), start = performance.now();
    data = sent ? new SegmentData(sent) : null;
    data?.colourBy(model.get("colour_by"));
    firstRows = new Column(sent?.first_rows ?? { base: "0", dtype: "same", length: 0, data: null });
    map.setData(data, model.get("view"));
    mapHead.title.textContent = data ? data.name : "Segment";
    mapHead.about.textContent = data ? mapSummary(data) : "Reading…";
    showLegend();
    store.reset(sent?.head);
    for (
      const [name, list, n] of [["records", records, sent?.rows ?? 0], ["batches", batches, data?.length ?? 0], [
        "offset_index",
        offsetIndex,
        data?.indexPosition.length ?? 0,
      ], ["time_index", timeIndex, data?.timeIndexTime.length ?? 0]]
    ) {
      list.setCount(n);
      tabs.setCount(name, count(n));
    }
    stats.loadMs = performance.now() - start;
    stats.received = performance.now();
    showFindings();
    showSelection();
    const shown = data;
    if (data && !sent.fates && data.attributes.some((bits) => bits & 0x10)) {
      ask("fates", inSegment({})).then((answer) => {
        if (!answer || shown !== data) return;
        data.setFates(new Column({ ...answer.column, data: answer.buffers[0] ?? null }));
        showLegend();
        map.repaint();
        batches.refresh();
      });
    }
  }
  function showLegend() {
    legend.replaceChildren(...(data ? segmentLegend(data) : []));
  }
  function showFindings() {
    const list = shownFindings(), verified = (model.get("_verified") ?? []).includes(chosen().partition);
    findings.setEmptyText(
      verified
        ? "No findings: every byte was checked."
        : "Not verified yet. Verify reads every byte of the partition and checks it.",
    );
    findings.setCount(list.length);
    tabs.setCount("findings", verified ? (list.length ? count(list.length) : "✓") : "");
    if (verified) announce(`${chosen().partition}: ${listSummary(list)}.`);
    if (data) {
      data.setFindings(list.filter((each) => each.segment === chosen().segment));
      showLegend();
      map.repaint();
      batches.refresh();
    }
  }
  let shownSource = "", shownOffset = null;
  function showSelection() {
    const now = chosen(), i = selectedBatch();
    map.setSelected(i, now.offset === null ? null : BigInt(now.offset));
    batches.select(i);
    tabs.setAbout(i < 0 ? "" : `Batch ${count(i)} · ${data.offsets(i)}`);
    const source = i < 0 ? "" : `${now.partition}/${now.segment}/${now.position}`;
    if (source !== shownSource) {
      hex.setSource(i < 0 ? null : { position: now.position, size: data.end[i] - data.position[i] });
      if (i >= 0 && now.offset === null && firstRows.length > i) records.toTop(firstRows.number(i));
    }
    if (now.offset === null) {
      records.select(-1);
      hex.setRecord(null);
    } else if (now.offset !== shownOffset || source !== shownSource) {
      ask("row", inSegment({ offset: now.offset })).then((answer) => {
        if (!answer || chosen().offset !== now.offset) return;
        records.select(answer.row);
        hex.setRecord(answer.place);
      });
    }
    shownSource = source;
    shownOffset = now.offset;
    records.refresh();
  }
  let shownPlace = "";
  function onSelected() {
    const now = chosen(), place = `${now.partition}/${now.segment}`;
    if (place === shownPlace) return showSelection();
    shownPlace = place;
    tree.setSelected(now.partition);
    showStrip();
    if (data || segmentOf()) showSegment();
  }

  root.addEventListener("keydown", (event) => {
    const typing = event.target.tagName === "INPUT";
    if (event.key === "Escape" && sheet.isOpen) sheet.close();
    else if (event.key === "Escape" && typing) root.focus();
    else if (event.key === "Escape" && chosen().offset !== null) choose({ offset: null });
    else if (event.key === "Escape" && chosen().position !== null) choose({ position: null });
    else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "?") sheet.keys(keys);
    else if (event.key === "/") tree.el.querySelector("input").focus();
    else if (event.key === "g") goBox.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  root.addEventListener("pointerdown", (event) => {
    if (sheet.isOpen && !event.target.closest(".klw-code") && !event.target.closest("[aria-haspopup]")) sheet.close();
  });

  const followed = {
    selected: onSelected,
    view: () => map.setView(model.get("view")),
    _directory: showDirectory,
    _strip: showStrip,
    _segment: showSegment,
    _findings: showFindings,
    _verified: showFindings,
    _error: () => showError(model.get("_error")),
    colour_by: () => {
      colours.show(model.get("colour_by"));
      data?.colourBy(model.get("colour_by"));
      showLegend();
      map.repaint();
    },
  };
  for (const [name, act] of Object.entries(followed)) model.on(`change:${name}`, act);
  followTheme(root, () => {
    map.repaint();
    strip.repaint();
  }, signal);
  showError(model.get("_error"));
  showDirectory();
  onSelected();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

function panelHead(text, ...tools) {
  const title = h("h3", {}, text), about = h("span", { class: "klw-about" });
  return { el: h("div", { class: "klw-phead" }, title, about, ...tools), title, about };
}

export default { render: withKernel(render) };

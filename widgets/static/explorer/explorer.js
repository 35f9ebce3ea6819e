// LogExplorer: the tree, a partition's segments, a segment's map, and the lists and bytes under it.
import { bytesView } from "../shared/bytes_view.js";
import { Column } from "../shared/columns.js";
import { button, choice, h } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { explorerHead, silenceBar } from "./explorer_head.js";
import { segmentLists } from "./explorer_lists.js";
import { fileList, fileView } from "./file_view.js";
import { findingView } from "../verification/finding_view.js";
import { isGrowth } from "./following.js";
import { count } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { listSummary } from "../segments/lists.js";
import { pageStore } from "../shared/pages.js";
import { popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";
import { SegmentData } from "../segments/segment_data.js";
import { segmentLegend } from "../segments/legend.js";
import { segmentMap } from "../segments/segment_map.js";
import { segmentStrip } from "../segments/segment_strip.js";
import { splitter } from "../shared/splitter.js";
import { tabStrip } from "../shared/tabs.js";
import { followTheme } from "../shared/theme.js";
import { mapSummary } from "../segments/tracks.js";
import { directoryTree } from "./tree.js";
import { verifyBar } from "../verification/verify_bar.js";

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
  const error = errorBar(), silence = silenceBar();
  const ask = requests(model, { signal, onError: error.show, onSilence: silence.show });
  const inSegment = (body) => ({ partition: chosen().partition, segment: chosen().segment, ...body });

  const progress = verifyBar({ onCancel: () => ask("cancel") });
  const showAllFindings = (scope) => {
    findings.setScope(scope);
    tabs.show("findings");
  };
  const head = explorerHead({
    model,
    sheet,
    ask,
    chosen,
    announce,
    onVerify: () => showAllFindings("here"),
    onVerifyAll: () => showAllFindings("all"),
  });
  const { title, summary, goBox, verify, verifyAll, follow, keys } = head;

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
      else if (model.get("file") !== null) model.choose({ file: null });
    },
    onFile: (file) => {
      if (file !== model.get("file")) model.choose({ file });
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
  const held = () => data;
  const { records, batches, offsetIndex, timeIndex } = segmentLists({
    model,
    signal,
    store,
    held,
    firstRows: () => firstRows,
    selectedBatch,
    onBatch: (i) => pickBatch(i),
    onRecord: (row) => {
      announce(`Record ${row[0]}.`);
      choose({ position: data.position[row[5]], offset: row[0] || null });
    },
    onShow: (name) => tabs.show(name, true),
  });
  const findings = findingView({
    signal,
    onPick: (each) => {
      if (each.partition === chosen().partition) goTo(each);
    },
    onGo: (each) => goTo(each),
  });
  function goTo({ partition, segment, batch_position: position, path, file }) {
    if (partition === null) return void model.choose({ file: path });
    if (segment !== null) choose({ partition, segment, position, offset: null });
    else if (partition !== chosen().partition) choose({ ...NOTHING, partition });
    else if (path.endsWith(`/${file}`) && file !== partition) model.choose({ file: path });
  }
  const hex = bytesView({
    signal,
    fetch: (inside, start, stop) => ask("bytes", inSegment({ position: chosen().position, inside, start, stop })),
  });
  const files = fileList({
    signal,
    fetch: () => ask("files", { partition: chosen().partition }).then((answer) => answer?.rows ?? []),
    onOpen: (file) => model.choose({ file }),
  });
  const file = fileView({
    root,
    signal,
    tools: [python("file", "File")],
    fetch: (path, start, stop) => ask("file_bytes", { path, start, stop }),
    onClose: () => {
      model.choose({ file: null });
      tree.setSelected(chosen().partition);
      tree.el.querySelector(".klw-tree").focus();
    },
  });
  const tabs = tabStrip({
    records: ["Records", records.el, python("records", "Records")],
    bytes: ["Bytes", hex.el, python("bytes", "Bytes")],
    batches: ["Batches", batches.el, python("batches", "Batches")],
    offset_index: ["Offset index", offsetIndex.el, python("offset_index", "Offset index")],
    time_index: ["Time index", timeIndex.el, python("time_index", "Time index")],
    files: ["Files", files.el],
    findings: ["Findings", findings.el, findings.tools, python("findings", "Findings")],
  }, {
    beside: "bytes",
    handle: splitter({
      root,
      pane: () => hex.el.parentElement,
      name: "--klw-beside",
      label: "Width of the bytes",
      axis: "x",
      grows: -1,
      least: 320,
      most: 1400,
    }),
  });
  const foot = splitter({
    root,
    pane: () => (file.el.isConnected ? file.body : tabs.el.querySelector(".klw-panes")),
    name: "--klw-panes",
    label: "Height of the lists",
    axis: "y",
    least: 150,
    most: 1000,
  });
  const fence = splitter({
    root,
    pane: () => tree.el,
    name: "--klw-side",
    label: "Width of the topics",
    axis: "x",
    least: 120,
    most: 640,
  });

  const note = h("div", { class: "klw-note", hidden: true });
  const views = h(
    "div",
    {},
    h("section", { class: "klw-panel" }, stripHead.el, strip.el),
    h("section", { class: "klw-panel" }, mapHead.el, map.el, legend),
    tabs.el,
  );
  root.append(
    head.el,
    progress.el,
    silence.el,
    error.el,
    h("div", { class: "klw-body" }, tree.el, fence, h("main", { class: "klw-main" }, note, views, foot)),
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
    tree.setSelected(model.get("file") ?? chosen().partition);
  }
  function showFile() {
    const sent = model.get("_file");
    if (sent) views.before(file.el);
    else file.el.remove();
    file.show(sent);
    tree.setSelected(sent?.path ?? chosen().partition);
    showStrip();
  }
  const hasPartitions = () => model.get("_directory").nodes.some((each) => each.kind === "partition");
  function showStrip() {
    const sent = model.get("_strip"), mine = sent?.partition === chosen().partition ? sent : null;
    strip.setData(mine);
    strip.setSelected(mine ? mine.base_offset.indexOf(chosen().segment) : -1);
    stripHead.title.textContent = mine?.name ?? chosen().partition ?? "Partition";
    stripHead.about.textContent = mine?.about ?? "";
    note.hidden = Boolean(mine?.size.length);
    note.textContent = chosen().partition === null
      ? nothingText(model.get("_directory").path, hasPartitions())
      : mine
      ? "This partition has no segments."
      : "Reading…";
    const isFile = model.get("_file") !== null;
    note.hidden ||= isFile;
    views.hidden = isFile || !mine?.size.length;
    foot.hidden = views.hidden && !isFile;
    verify.disabled = chosen().partition === null;
    verifyAll.disabled ||= !hasPartitions();
  }
  let shownSegment = "";
  function showSegment() {
    const sent = segmentOf(), start = performance.now(), old = data;
    const place = sent ? `${sent.partition}/${sent.segment}` : "";
    data = sent ? new SegmentData(sent) : null;
    const isSame = old !== null && data !== null && place === shownSegment, isGrown = isSame && isGrowth(old, data);
    shownSegment = place;
    if (isSame && !isGrown) shownSource = ""; // other bytes at the same place
    if (data) data.newFrom = model.get("_fresh").segments?.[sent.segment] ?? Infinity;
    data?.colourBy(model.get("colour_by"));
    firstRows = new Column(sent?.first_rows ?? { base: "0", dtype: "same", length: 0, data: null });
    map.setData(data, model.get("view"), { isSame, isGrown });
    mapHead.title.textContent = data ? data.name : "Segment";
    mapHead.about.textContent = data ? mapSummary(data) : "Reading…";
    showLegend();
    if (isGrown) store.grow();
    else store.reset(sent?.head);
    for (
      const [name, list, n] of [["records", records, sent?.rows ?? 0], ["batches", batches, data?.length ?? 0], [
        "offset_index",
        offsetIndex,
        data?.indexPosition.length ?? 0,
      ], ["time_index", timeIndex, data?.timeIndexTime.length ?? 0]]
    ) {
      list.setCount(n, { keep: isSame, isTail: true });
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
    const { partition, segment } = chosen(), all = model.get("_findings"), counts = model.get("_counts");
    const verified = model.get("_verified"), check = model.get("_verification"), changed = model.get("_changed");
    const mine = all.filter((each) => each.partition === partition);
    const total = Object.values(counts).flatMap(Object.values).reduce((sum, each) => sum + each, 0);
    const isVerified = verified.includes(partition), isRunning = check.state === "running";
    findings.setEmptyText(noFindingsText({ isVerified, isRunning, isChanged: changed.includes(partition) }));
    findings.setFindings(all, total, partition);
    tree.setFindings(counts, verified, changed);
    progress.show(check, total, changed.length);
    verifyAll.disabled = isRunning || !hasPartitions();
    tabs.setCount("findings", isVerified ? (mine.length ? count(mine.length) : "✓") : "");
    if (isVerified && !isRunning) announce(`${partition}: ${listSummary(mine)}.`);
    if (data) {
      data.setFindings(mine.filter((each) => each.segment === segment));
      showLegend();
      map.repaint();
      batches.refresh();
    }
  }
  function showFresh() {
    const { partitions = [], segments = {} } = model.get("_fresh"), sent = segmentOf();
    follow.show();
    tree.setFresh(partitions);
    strip.setFresh(segments);
    if (!data || !sent) return;
    data.newFrom = segments[sent.segment] ?? Infinity;
    showLegend();
    map.repaint();
    batches.refresh();
    records.refresh();
  }
  let shownSource = "", shownOffset = null;
  function showSelection() {
    const now = chosen(), i = selectedBatch();
    map.setSelected(i, now.offset === null ? null : BigInt(now.offset));
    batches.select(i);
    tabs.setBeside(i >= 0);
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
    tree.setSelected(model.get("file") ?? now.partition);
    files.setPartition(now.partition);
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
    else if (event.key === "f") follow.toggle();
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
    _file: showFile,
    _fresh: showFresh,
    follow: follow.show,
    _findings: showFindings,
    _counts: showFindings,
    _verified: showFindings,
    _changed: showFindings,
    _verification: showFindings,
    _error: () => error.show(model.get("_error")),
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
  error.show(model.get("_error"));
  showDirectory();
  onSelected();
  showFile();
  showFresh();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

function nothingText(path, hasPartitions) {
  if (hasPartitions) return "Select a partition.";
  return `${path} holds no partitions. Open a directory of log.dirs of a broker: it has a folder for each partition, named \
like orders-0. After a broker wrote to this one, press ⟳ to read it again.`;
}

function noFindingsText({ isVerified, isRunning, isChanged }) {
  if (isVerified && isChanged) return "No findings when it was verified. It has changed since: verify it again.";
  if (isVerified) return "No findings: every byte was checked.";
  if (isRunning) return "No findings yet.";
  return "Not verified yet. Verify reads every byte of the partition and checks it; Verify all, every partition.";
}

function panelHead(text, ...tools) {
  const title = h("h3", {}, text), about = h("span", { class: "klw-about" });
  return { el: h("div", { class: "klw-phead" }, title, about, ...tools), title, about };
}

export default { render: withKernel(render) };

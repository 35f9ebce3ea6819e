// From the model to the explorer's views: the selected segment, its findings, what is new in it, what is selected.
import { Column } from "../shared/columns.js";
import { hasPartitions } from "./explorer_directory.js";
import { isGrowth } from "./following.js";
import { disable } from "../shared/dom.js";
import { count } from "../shared/format.js";
import { segmentLegend } from "../segments/legend.js";
import { listSummary } from "../segments/lists.js";
import { SegmentData } from "../segments/segment_data.js";
import { mapSummary } from "../segments/tracks.js";
import { lacksValues } from "../shared/values_button.js";

const NO_ROWS = { base: "0", dtype: "same", length: 0, data: null };

// What is known of the selected segment: its data, each batch's first row, and what the views show of them.
export function noSegment() {
  return { data: null, firstRows: new Column(NO_ROWS), place: "", source: "", offset: null, hasValues: false, rows: 0 };
}

// The selected batch in the data; -1 for none.
export function selectedBatch({ held: { data }, selection }) {
  const { position } = selection.chosen();
  return data && position !== null ? data.batchAtPosition(position) : -1;
}

export function showSegment(view) {
  const { model, held, selection, segment: panel, store, stats } = view, sent = selection.segment();
  const start = performance.now(), old = held.data, place = sent ? `${sent.partition}/${sent.segment}` : "";
  const data = held.data = sent ? new SegmentData(sent) : null;
  const isSame = old !== null && data !== null && place === held.place, hasValues = sent?.shows_values;
  const isGrown = isSame && hasValues === held.hasValues && isGrowth(old, data);
  held.place = place;
  held.hasValues = hasValues;
  if (isSame && !isGrown) held.source = ""; // other bytes at the same place
  if (data) data.newFrom = model.get("_fresh").segments?.[sent.segment] ?? Infinity;
  data?.colorBy(model.get("color_by"));
  held.firstRows = new Column(sent?.first_rows ?? NO_ROWS);
  panel.map.setData(data, model.get("view"), { isSame, isGrown });
  panel.title.textContent = data ? data.name : "Segment";
  panel.about.textContent = panel.about.title = data ? mapSummary(data) : "Reading…";
  showLegend(view);
  if (isGrown) store.grow();
  else store.reset(lacksValues(model, sent) ? null : sent?.head);
  showCounts(view, sent, isSame);
  stats.loadMs = performance.now() - start;
  stats.received = performance.now();
  showFindings(view);
  showSelection(view);
  if (data && !sent.fates && data.hasTransactions) askForFates(view, data);
}

function showCounts({ held, tabs, tail, records, batches, offsetIndex, timeIndex }, sent, isSame) {
  const { data } = held;
  const lists = [
    ["records", records, sent?.rows],
    ["batches", batches, data?.length],
    ["offset_index", offsetIndex, data?.indexPosition.length],
    ["time_index", timeIndex, data?.timeIndexTime.length],
  ];
  for (const [name, list, n = 0] of lists) {
    const change = () => list.setCount(n, { keep: isSame, isTail: true });
    if (list === records) held.rows = countRecords(tail, { n, before: isSame ? held.rows : null, change });
    else change();
    tabs.setCount(name, count(n));
  }
  if (!isSame) tail.forget();
  if (held.goesToEnd && data) tail.go();
  held.goesToEnd &&= !data;
}

function countRecords(tail, { n, before, change }) {
  tail.around(() => {
    change();
    return before === null ? 0 : n - before;
  });
  return n;
}

// Show the newest records: at once, and when the segment that is written now is here.
export function followEnd(view) {
  view.tail.go();
  view.held.goesToEnd = isBehind(view);
}

function newestSegment({ model, selection }) {
  const sent = model.get("_strip");
  return sent?.partition === selection.chosen().partition ? sent.base_offset.at(-1) ?? null : null;
}

const isBehind = (view) => ![null, view.selection.chosen().segment].includes(newestSegment(view));

// A segment was rolled: who sees the end of the one before, and has nothing selected in it, sees the end of the log.
function followRoll(view) {
  const { model, selection, held, tail } = view, newest = newestSegment(view), last = held.newest;
  const now = selection.chosen();
  held.newest = newest;
  if (!model.get("follow") || now.segment !== last || now.position !== null || !isBehind(view)) return;
  if (!view.records.isAt("end")) return;
  held.goesToEnd = true;
  tail.forget();
  selection.choose({ segment: newest, position: null, offset: null });
}

// How the transactions of the batches ended.
function askForFates(view, data) {
  view.ask("fates", view.selection.inSegment({})).then((answer) => {
    if (!answer || data !== view.held.data) return;
    data.setFates(new Column({ ...answer.column, data: answer.buffers[0] ?? null }));
    showBatches(view);
  });
}

export function showLegend({ held: { data }, segment: { legend } }) {
  legend.replaceChildren(...(data ? segmentLegend(data) : []));
}

// The batches have other marks.
function showBatches(view) {
  showLegend(view);
  view.segment.map.repaint();
  view.batches.refresh();
}

export function showFindings(view) {
  const { model, held: { data }, findings, tree, progress, head, tabs } = view;
  const { partition, segment } = view.selection.chosen(), all = model.get("_findings"), counts = model.get("_counts");
  const verified = model.get("_verified"), check = model.get("_verification"), changed = model.get("_changed");
  const mine = all.filter((each) => each.partition === partition);
  const total = Object.values(counts).flatMap(Object.values).reduce((sum, each) => sum + each, 0);
  const isVerified = verified.includes(partition), isRunning = check.state === "running";
  findings.setState(
    isRunning ? "loading" : "empty",
    noFindingsText({ isVerified, isRunning, isChanged: changed.includes(partition) }),
  );
  findings.setFindings(all, total, partition);
  tree.setFindings(counts, verified, changed);
  progress.show(check, total, changed.length);
  disable(head.verifyAll, isRunning || !hasPartitions(view));
  tabs.setCount("findings", isVerified ? (mine.length ? count(mine.length) : "✓") : "");
  if (isVerified && !isRunning) view.announce(`${partition}: ${listSummary(mine)}.`);
  if (!data) return;
  data.setFindings(mine.filter((each) => each.segment === segment));
  showBatches(view);
}

function noFindingsText({ isVerified, isRunning, isChanged }) {
  if (isVerified && isChanged) return "No findings when it was verified. It has changed since: verify it again.";
  if (isVerified) return "No findings: every byte was checked.";
  if (isRunning) return "No findings yet.";
  return "Not verified yet. Verify reads every byte of the partition and checks it; Verify all, every partition.";
}

// What is new since following began.
export function showFresh(view) {
  const { partitions = [], segments = {} } = view.model.get("_fresh"), sent = view.selection.segment();
  view.head.follow.show();
  view.tree.setFresh(partitions);
  view.partition.strip.setFresh(segments);
  followRoll(view);
  if (!view.held.data || !sent) return;
  view.held.data.newFrom = segments[sent.segment] ?? Infinity;
  showBatches(view);
  view.records.refresh();
}

export function showSelection(view) {
  const { held, selection, records, batches, hex, tabs } = view, now = selection.chosen(), i = selectedBatch(view);
  view.segment.map.setSelected(i, now.offset === null ? null : BigInt(now.offset));
  batches.select(i);
  tabs.setBeside(i >= 0);
  tabs.setAbout(i < 0 ? "" : `Batch ${count(i)} · ${held.data.offsets(i)}`);
  const source = i < 0 ? "" : `${now.partition}/${now.segment}/${now.position}`, isOther = source !== held.source;
  if (isOther) {
    hex.setSource(i < 0 ? null : { position: now.position, size: held.data.end[i] - held.data.position[i] });
    if (i >= 0 && now.offset === null && held.firstRows.length > i) records.toTop(held.firstRows.number(i));
  }
  if (now.offset === null) {
    records.select(-1);
    hex.setRecord(null);
  } else if (now.offset !== held.offset || isOther) {
    view.ask("row", selection.inSegment({ offset: now.offset })).then((answer) => {
      if (!answer || selection.chosen().offset !== now.offset) return;
      records.select(answer.row);
      hex.setRecord(answer.place);
    });
  }
  held.source = source;
  held.offset = now.offset;
  records.refresh();
}

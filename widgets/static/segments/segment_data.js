// One segment as the front end holds it: columns of its batches and entries of its indexes.
import { Column, floorIndex, unpackColumns } from "../shared/columns.js";
import { CODECS, colorOfRank, NONE, PALETTE } from "../shared/theme.js";
import { bytes, count, LATEST_MS, plural, range, timestamp } from "../shared/format.js";

const TRANSACTIONAL = 0x10, CONTROL = 0x20;
const FATES = ["", "committed", "aborted", "still open"], ABORTED = 2;

export class SegmentData {
  constructor(sent) {
    Object.assign(this, {
      name: sent.name,
      baseOffset: BigInt(sent.segment),
      fileSize: sent.file_size,
      validSize: sent.valid_size,
      stop: sent.stop,
      problems: sent.problem_words,
    });
    this.columns = unpackColumns(sent.batches);
    this.length = this.columns.position.length;
    this.position = this.columns.position.numbers();
    this.end = this.columns.size.numbers();
    for (let i = 0; i < this.length; i++) this.end[i] += this.position[i];
    this.attributes = this.columns.attributes.numbers();
    this.problem = this.columns.problem.numbers();
    this.time = this.columns.max_timestamp.numbers();
    this.fate = sent.fates ? new Column(sent.fates).numbers() : new Float64Array(this.length);
    // Markers carry the coordinator's clock: if records have their own times, markers would distort the scale.
    if (this.attributes.some((bits) => !(bits & CONTROL))) {
      for (let i = 0; i < this.length; i++) if (this.isControl(i)) this.time[i] = -1;
    }
    this.offsetIndex = { ...unpackColumns(sent.offset_index), dropped: sent.offset_index_dropped };
    this.indexPosition = this.offsetIndex.position.numbers();
    this.timeIndex = unpackColumns(sent.time_index);
    this.timeIndexPosition = this.timeIndex.position.numbers();
    this.timeIndexTime = this.timeIndex.timestamp.numbers();
    [this.firstTime, this.lastTime] = timeSpan(this.time, this.problem);
    this.found = new Map();
    this.newFrom = Infinity;
    this.missing = missingBefore(this);
    this.colorBy("codec");
  }

  // Give every batch a category: `category[i]` indexes `categories`, whose entries have text, color and bytes. Producers
  // and epochs with the most bytes have colors of their own.
  colorBy(what) {
    const category = new Uint8Array(this.length), seen = new Map(), categories = [];
    const column = what === "producer" ? this.columns.producer_id : what === "epoch" ? this.columns.leader_epoch : null;
    const constant = column && !column.deltas;
    let last = null, lastCategory = 0;
    for (let i = 0; i < this.length; i++) {
      const value = column ? (constant ? 0 : column.deltas[i]) : this.attributes[i] & 7;
      if (value !== last) {
        last = value;
        let known = seen.get(value);
        if (known === undefined) {
          known = categories.length < 250 ? categories.length : 249;
          seen.set(value, known);
          if (known === categories.length) categories.push(categoryOf(what, column ? column.exact(i) : value));
        }
        lastCategory = known;
      }
      category[i] = lastCategory;
      categories[lastCategory].bytes += this.columns.size.number(i);
    }
    const ranked = categories.filter(({ color }) => !color).sort((a, b) => b.bytes - a.bytes);
    ranked.forEach((each, rank) => each.color = colorOfRank(rank));
    Object.assign(this, { category, categories, coloredBy: what });
  }

  isControl(i) {
    return (this.attributes[i] & CONTROL) !== 0;
  }
  get hasTransactions() {
    return this.attributes.some((bits) => bits & TRANSACTIONAL);
  }
  isTransactional(i) {
    return (this.attributes[i] & TRANSACTIONAL) !== 0;
  }
  isAborted(i) {
    return this.fate[i] === ABORTED;
  }
  kind(i) {
    if (this.isControl(i)) return "control batch";
    return this.isTransactional(i) ? ["transactional", FATES[this.fate[i]]].filter(Boolean).join(", ") : "";
  }
  codec(i) {
    return CODECS[this.attributes[i] & 7] ?? `codec ${this.attributes[i] & 7}`;
  }
  // Whether the batch was written since following began.
  isNew(i) {
    return this.position[i] >= this.newFrom;
  }
  problemText(i) {
    return this.problems[this.problem[i]] ?? this.found.get(i) ?? (this.problem[i] ? `problem ${this.problem[i]}` : "");
  }
  setFates(column) {
    if (column.length === this.length) this.fate = column.numbers();
  }
  // Mark the batches with findings of verify, besides those the scan found.
  setFindings(findings) {
    this.found = new Map();
    this.problem = this.columns.problem.numbers();
    for (const each of findings) {
      const i = each.batch_position === null || each.severity === "info"
        ? -1
        : this.batchAtPosition(each.batch_position);
      if (i < 0) continue;
      this.found.set(i, each.found);
      if (each.severity === "error") this.problem[i] ||= 255;
    }
  }

  // Which batch holds the byte; -1 before the first and after the last.
  batchAt(position) {
    const i = floorIndex(this.position, position);
    return i >= 0 && position < this.end[i] ? i : -1;
  }
  batchAtPosition(position) {
    const i = floorIndex(this.position, position);
    return i >= 0 && this.position[i] === position ? i : -1;
  }

  // The offset to look up: the selected offset, otherwise the batch's first.
  target(i, offset) {
    const base = this.columns.base_offset.exact(i);
    return offset ?? (base < 0n ? this.columns.last_offset.exact(i) : base);
  }
  // The index entry where a broker starts its search for an offset; -1: the start of the file.
  entryFor(offset) {
    return this.offsetIndex.offset.after(offset) - 1;
  }

  offsets(i) {
    const base = this.columns.base_offset.exact(i), last = this.columns.last_offset.exact(i);
    return base < 0n ? `up to ${count(last)}` : range(base, last);
  }
  // The offsets that no batch has between a batch and those before it; "" for none.
  missingText(i) {
    const base = this.columns.base_offset.exact(i), gap = BigInt(this.missing[i]);
    return gap ? `${gap === 1n ? "offset" : "offsets"} ${range(base - gap, base - 1n)}` : "";
  }
  records(i) {
    const n = this.columns.record_count.number(i);
    return n < 0 ? "unknown until decompressed" : plural(n, "record");
  }

  // A batch as text: title and pairs; for the card and for screen readers.
  describe(i) {
    const c = this.columns, pairs = [["Offsets", this.offsets(i)], ["Records", this.records(i)]];
    pairs.push([this.attributes[i] & 8 ? "Appended" : "Latest record", timestamp(c.max_timestamp.exact(i))]);
    pairs.push(["Bytes", `${count(this.end[i] - this.position[i])} at ${count(this.position[i])}`]);
    pairs.push(["Compression", this.codec(i)]);
    if (c.producer_id.exact(i) >= 0n) {
      pairs.push(["Producer", `${count(c.producer_id.exact(i))}, epoch ${c.producer_epoch.exact(i)}`]);
    }
    if (c.leader_epoch.exact(i) >= 0n) pairs.push(["Leader epoch", String(c.leader_epoch.exact(i))]);
    if (this.missing[i]) pairs.push(["Missing before", this.missingText(i)]);
    const kind = this.kind(i);
    if (kind) pairs.push(["Kind", kind]);
    if (c.magic.number(i) !== 2) pairs.push(["Format", `version ${c.magic.number(i)}`]);
    if (this.isNew(i)) pairs.push(["Written", "since following began"]);
    if (this.problemText(i)) pairs.push(["Problem", this.problemText(i)]);
    return { title: `Batch ${count(i)}`, pairs };
  }
  describeTail() {
    return {
      title: this.stop === "unfinished batch"
        ? "Unfinished batch"
        : this.stop === "zeros"
        ? "Preallocated"
        : "Unreadable",
      pairs: [["Bytes", `${count(this.fileSize - this.validSize)} from ${count(this.validSize)}`], [
        "State",
        tailText(this),
      ]],
    };
  }
  sentence(i) {
    const { title, pairs } = this.describe(i);
    return `${title}. ${pairs.map(([name, value]) => `${name}: ${value}`).join(". ")}.`;
  }
}

function categoryOf(what, value) {
  const [text, color] = what === "codec"
    ? [CODECS[value] ?? `codec ${value}`, PALETTE[value] ?? NONE]
    : value < 0n
    ? [what === "producer" ? "no producer id" : "no epoch", NONE]
    : [`${what === "producer" ? "producer" : "epoch"} ${count(value)}`, null];
  return { text, color, bytes: 0 };
}

// How many offsets are missing before each batch: a cleaning removed their batches, or they were lost. Old batches that
// do not say where they begin have none.
function missingBefore({ baseOffset, length, columns }) {
  const missing = new Float64Array(length), first = columns.base_offset.numbers(), last = columns.last_offset.numbers();
  let next = Number(baseOffset);
  for (let i = 0; i < length; i++) {
    if (first[i] > next) missing[i] = first[i] - next;
    next = Math.max(next, last[i] + 1);
  }
  return missing;
}

// The span of the known, plausible times; [null, null] without any.
function timeSpan(times, problem) {
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < times.length; i++) {
    if (times[i] < 0 || times[i] > LATEST_MS || problem[i]) continue;
    if (times[i] < low) low = times[i];
    if (times[i] > high) high = times[i];
  }
  return high >= low ? [low, high] : [null, null];
}

export function tailText(data) {
  const rest = data.fileSize - data.validSize;
  if (!rest) return "";
  const words = {
    "unfinished batch": "of an incomplete batch",
    "bad size": "unreadable: the next batch has an invalid size",
    zeros: "preallocated, not written yet",
  };
  return `${bytes(rest)} ${words[data.stop] ?? data.stop}`;
}

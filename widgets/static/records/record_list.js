// The records that were found, as a list of any length: pages come from the kernel when they are looked at.
import { button } from "../shared/dom.js";
import { count, timestamp } from "../shared/format.js";
import { liveTail } from "../shared/live_tail.js";
import { pageStore } from "../shared/pages.js";
import { dataGrid } from "../shared/rows.js";
import { PLAIN_NAMES, recordColumns } from "./record_columns.js";

const MOST_KEPT = 2000;
const PLACES = new Set(["partition", "offset"]);

// `fetch(start, stop)` asks for rows; with `isWhole`, for all of their texts. `acts`: of `recordColumns`.
export function matchList({ fetch, absence, acts, onPick, onSort, onWidths, signal }) {
  const store = pageStore({ fetch, changed: arrived });
  let kept = new Map(),
    fresh = 0,
    known = { count: 0, found: 0, isWhole: false },
    marked = { partition: null, offset: null },
    words = [];
  // While a search runs, its rows are requested repeatedly: the last known one is kept until the new one is here.
  function row(i) {
    if (i < fresh) return kept.get(i) ?? null;
    const got = store.row(i);
    if (got) {
      if (kept.size > MOST_KEPT) kept.clear();
      kept.set(i, got);
    }
    return got ?? kept.get(i) ?? null;
  }
  // A row that is picked before its page is here is reported when it comes.
  let picked = -1;
  function pick(i) {
    const got = row(i);
    picked = got ? -1 : i;
    if (got) onPick(got);
  }
  function arrived() {
    grid.refresh();
    if (picked >= 0) pick(picked);
  }
  const isMarked = (got) => got && got[0] === marked.partition && got[1] === marked.offset;
  let order = "time",
    newestFirst = false,
    shown = {
      names: PLAIN_NAMES,
      isOfAll: false,
      hasBrokers: false,
      hasHeaders: true,
      profile: null,
      showsValues: false,
    };
  const grid = dataGrid({
    label: "Records",
    signal,
    emptyText: "",
    columns: recordColumns(PLAIN_NAMES, shown, acts),
    cellsOf(i) {
      const got = row(i);
      if (got) return matchCells(got, words, shown);
      const text = store.isLacking(i) ? absence() : null; // null: the row is on its way
      const columns = shown.names.length + shown.hasBrokers;
      return text && Array.from({ length: columns }, (_, k) => (k === columns - 1 ? { text, kind: "quiet" } : ""));
    },
    // Without a kernel, the rows that are kept are all there is.
    load: (start, stop) =>
      (absence() === null ? fetch(start, stop, true) : store.load(start, stop))
        .then((rows) => (rows ?? []).map((got) => got && matchCells(got, [], shown))),
    rowKind: (i) => (isMarked(row(i)) ? "within" : ""),
    onPick: pick,
    // As in other tables: numbers begin with the largest; but places as they are.
    onSort: ({ key: name, number }) =>
      onSort(
        order === name
          ? { newest_first: !newestFirst }
          : { order: name, newest_first: Boolean(number) && !PLACES.has(name) },
      ),
    onWidths,
    onWindow: () => tail.moved(),
  });
  const tail = liveTail({ grid, what: "record", end: () => (newestFirst ? "start" : "end") });
  const showOrder = () => {
    const at = shown.names.indexOf(order);
    grid.showSort(at < 0 ? at : at + shown.hasBrokers, newestFirst);
  };
  const marks = highlighter(grid.el, () => words, signal);

  return {
    el: grid.el,
    tail: tail.el,
    goToNewest: tail.go,
    select: (i, reveal) => grid.select(i, reveal),
    setWidths: (widths) => grid.setWidths(widths),
    mark(partition, offset) {
      marked = { partition, offset };
      if (offset === null) grid.select(-1);
      grid.refresh();
    },
    // The columns by their names in the kernel; whether records of every topic are listed, of several brokers, and any
    // has headers; what is known of the values, and whether they are shown.
    setColumns(names, given) {
      const next = { names, ...given };
      if (JSON.stringify(next) === JSON.stringify(shown)) return;
      shown = next;
      grid.setColumns(recordColumns(names, shown, acts));
      showOrder();
    },
    // `wider` is the text and the act of a button for a search that found nothing; null for none.
    setResult(result, { isNew, areOther, isLacking, order: by, newestFirst: isDown, words: query, wider }) {
      const isTurned = order !== by || newestFirst !== isDown;
      order = by;
      newestFirst = isDown;
      showOrder();
      words = plainWords(query);
      if (isNew || areOther || isTurned) kept = new Map();
      if (isNew) picked = -1;
      const isLonger = result.is_extended && result.found > known.found && order === "time";
      const came = isNew || isTurned || !isLonger || !known.isWhole ? 0 : result.count - known.count;
      const isWhole = result.status === "done" || (known.isWhole && !isNew && result.is_extended);
      known = { count: result.count ?? 0, found: result.found ?? 0, isWhole };
      if (isNew || isTurned) tail.forget();
      if (came > 0 && newestFirst) kept = new Map([...kept].map(([i, each]) => [i + came, each]));
      store.reset(null);
      const given = isLacking ? [] : result.rows ?? []; // values come with the rows that are asked for
      fresh = given.length;
      given.forEach((each, i) => each && kept.set(i, each));
      const isBarren = result.status === "done" && !result.found && !result.problem;
      grid.setState(...stateOf(result), isBarren && wider ? wideButton(wider) : null);
      tail.around(() => {
        grid.setCount(result.count ?? 0, { keep: !isNew });
        return came;
      });
      marks();
    },
  };
}

const wideButton = ([text, search]) =>
  button(text, { text, kind: "klw-framed", isLive: true, onclick: () => search() });

// What is shown without rows, and of what kind it is.
function stateOf(result) {
  if (result.problem) return ["failed", "Nothing was searched: the query has an error."];
  if (result.status === "running") return ["loading", "Searching…"];
  if (result.status === "none") {
    return ["empty", "No topic here. A log directory has a folder for each partition, as orders-0."];
  }
  if (result.found) return ["empty", "No record of the selected time. Esc clears it."];
  return ["empty", result.query ? "No record meets this query." : "No records here."];
}

function matchCells(
  [partition, offset, time, key, value, headers, size, fields = {}],
  words,
  { names, isOfAll, hasBrokers },
) {
  const folder = partition.slice(partition.lastIndexOf("/") + 1); // a replica's name is its path
  const cells = {
    time: time === null ? { text: "none", kind: "null" } : timestamp(time),
    partition: { text: isOfAll ? folder : folder.slice(folder.lastIndexOf("-") + 1), title: partition },
    offset: count(offset),
    key: matchCell(key, words),
    value: matchCell(value, words),
    headers: matchCell(headers, words),
    size: { text: count(size), kind: "quiet" },
  };
  return (hasBrokers ? ["broker", ...names] : names).map((name) =>
    cells[name] ?? matchCell(fields[name] ?? ["", "quiet"], words)
  );
}

// A cell begins shortly before the first word that was found, so that the word can be seen.
function matchCell([full, kind, title], words) {
  const text = kind === "text" ? fromFirstWord(full, words) : full;
  return { text, whole: full, kind: kind === "text" ? "mono" : kind, title: title ?? (kind === "text" ? full : "") };
}

const SEEN_ANYWAY = 40, CONTEXT = 16;

export function fromFirstWord(text, words) {
  const low = text.toLowerCase(), places = words.map((word) => low.indexOf(word)).filter((at) => at >= 0);
  const first = places.length ? Math.min(...places) : 0;
  return first > SEEN_ANYWAY ? `…${text.slice(first - CONTEXT)}` : text;
}

// The words of a query that can be seen in a cell.
export function plainWords(query) {
  const found = [], plainQuery = query.replace(/(^|[\s:=])\/(?:[^/\\]|\\.)+\/i?(?=\s|$)/g, "$1 ");
  for (const [word] of plainQuery.matchAll(/(?:[^\s"]|"(?:[^"\\]|\\.)*")+/g)) {
    if (/^(-|offset\b|time\b|partition\b|is:|header\.[^:]*$)/.test(word)) continue;
    const text = word.replace(/^(key|value|header)(\.[^:=]+)?[:=]/, "").replace(/^(key|value)?\$[^:=<>!]*[:=]?/, "");
    const plain = text.replace(/^"(.*)"$/, "$1").replace(/\\(.)/g, "$1");
    if (plain.length > 1 && !/^\/.+\/i?$/.test(text) && !/^[<>!]/.test(plain)) found.push(plain.toLowerCase());
  }
  return found;
}

// Mark the words in the visible cells, where the browser can do that without changing the page.
function highlighter(box, wordsOf, signal) {
  if (!globalThis.CSS?.highlights || !globalThis.Highlight) return () => {};
  const name = "klw-hit";
  let frame = 0;
  const paint = () => {
    frame = 0;
    const ranges = [], words = wordsOf();
    for (const cell of words.length ? box.querySelectorAll("[data-kind~=mono]") : []) {
      const text = cell.firstChild, low = cell.textContent.toLowerCase();
      for (const word of words) {
        for (
          let at = low.indexOf(word);
          at >= 0 && text && ranges.length < 2000;
          at = low.indexOf(word, at + word.length)
        ) {
          const range = new Range();
          range.setStart(text, at);
          range.setEnd(text, Math.min(text.length, at + word.length));
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set(name, new Highlight(...ranges));
  };
  const soon = () => {
    frame ||= requestAnimationFrame(paint);
  };
  const seen = new MutationObserver(soon);
  seen.observe(box, { childList: true, characterData: true, subtree: true });
  signal.addEventListener("abort", () => {
    seen.disconnect();
    cancelAnimationFrame(frame);
  });
  return soon;
}

// Where and what to search: topic and partition, the query, how far the search is, and what a query can say.
import { button, h, icon } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { columnLabel } from "./record_columns.js";

const TYPING_MS = 160;

const QUERY_KEYS = [
  ["/", "type a query"],
  ["Tab", "take the first completion"],
  ["↓", "from the query to the records"],
  ["↑ ↓ Home End", "move in the records"],
  ["V", "show or hide keys, values and headers"],
  ["F", "follow what is written, or stop"],
  ["← → Shift", "on the chart: move, or widen, the selected time"],
  ["Esc", "close the record, clear the time"],
];

// The two lists of a topic's and a partition's names.
export function placePicker({ onPick }) {
  const topic = h("select", {
    class: "klw-input klw-select",
    "aria-label": "Topic",
    "data-live": "disable",
    "data-lm-suppress-shortcuts": "true",
    onchange: () => onPick({ partition: "", topic: topic.value }),
  });
  const partition = h("select", {
    class: "klw-input klw-select",
    "aria-label": "Partition",
    "data-live": "disable",
    "data-lm-suppress-shortcuts": "true",
    onchange: () => onPick({ partition: partition.value }),
  });
  const option = (value, text) => h("option", { value }, text);
  return {
    el: h("span", { class: "klw-places" }, topic, partition),
    set(choices, chosenTopic, chosenPartition) {
      const { topics = [], partitions = [], left_out = 0, partition_count: many = partitions.length } = choices;
      const everywhere = topics.length > 1 || !chosenTopic ? [option("", allTopics(choices))] : [];
      topic.replaceChildren(...everywhere, ...topics.map((name) => option(name, name)));
      topic.value = chosenTopic;
      topic.title = left_out ? `${count(left_out)} more are not in these lists` : chosenTopic;
      const all = many === 1 ? "1 partition" : `all ${count(many)} partitions`;
      partition.replaceChildren(option("", all), ...partitions.map((name) => option(name, name)));
      partition.value = chosenPartition;
    },
  };
}

const allTopics = ({ topic_count: many = 0 }) => many ? `all ${plural(many, "topic")}` : "no topics";

// Where a search that found nothing can continue: a button's text, and the traits that it changes; null for nowhere.
export function widerSearch({ topic_count: topics = 0, partition_count: partitions = 0 }, topic, partition) {
  if (partition && partitions > 1 && topics < 2) return ["Search all partitions", { partition: "" }];
  return topic && topics > 1 ? [`Search all ${count(topics)} topics`, { topic: "", partition: "" }] : null;
}

// `forms`: what a query can say, as the kernel declares it; `complete(text, at)`: what the word at a place can become.
export function queryBox({ signal, sheet, forms, complete, onQuery, onStop, onDown }) {
  const input = h("input", {
    class: "klw-input klw-query",
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": "Search for records",
    "data-live": "disable",
    placeholder: "Search: words, /regular expressions/, key:…, $.json.path=…, time:2026-03-01, offset:10..20",
  });
  const clear = button("Clear the query", { glyph: "cross", isLive: true, onclick: () => send("") });
  const help = button("What a query can say (?)", { glyph: "keyboard", onclick: () => showHelp() });
  help.setAttribute("aria-haspopup", "dialog");
  const status = h("span", { class: "klw-status" });
  const stop = button("Stop the search", { glyph: "stop", text: "Stop", kind: "klw-framed", onclick: onStop });
  const bar = h("div", { class: "klw-progress", role: "progressbar", "aria-label": "Search", hidden: true }, h("i"));
  const problem = h("div", { class: "klw-problem", role: "alert", hidden: true });
  const notice = h("div", { class: "klw-problem", role: "status", hidden: true });
  const offered = h("div", { class: "klw-completions", role: "listbox", "aria-label": "Completions", hidden: true });
  const line = h("span", { class: "klw-queryline" }, icon("search"), input, clear, offered);
  const el = h(
    "div",
    { class: "klw-searching" },
    h("div", { class: "klw-queryrow" }, line, help, status, stop),
    bar,
    problem,
    notice,
  );
  let timer = 0, sent = "", choices = [];
  signal.addEventListener("abort", () => clearTimeout(timer));
  function send(text) {
    clearTimeout(timer);
    input.value = text;
    clear.hidden = !text;
    sent = text;
    if (onQuery(text) === false) sent = null;
  }
  input.addEventListener("input", () => {
    clear.hidden = !input.value;
    clearTimeout(timer);
    timer = setTimeout(() => send(input.value), TYPING_MS);
    offer();
  });
  input.addEventListener("blur", () => hide());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Tab" && !event.shiftKey && choices.length) take(choices[0]);
    else if (event.key === "Escape" && choices.length) hide();
    else if (event.key === "Enter") send(input.value);
    else if (event.key === "ArrowDown") onDown();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  function hide() {
    choices = [];
    offered.replaceChildren();
    offered.hidden = true;
  }
  async function offer() {
    const text = input.value, answer = await complete(text, input.selectionStart);
    if (input.value !== text || document.activeElement !== input) return;
    choices = answer?.completions ?? [];
    const option = (choice) =>
      h(
        "div",
        { role: "option", onpointerdown: (event) => (event.preventDefault(), take(choice)) },
        h("b", {}, choice[1]),
        h("span", {}, choice[2]),
      );
    offered.replaceChildren(...choices.map(option));
    offered.hidden = !choices.length;
  }
  function take([start, word]) {
    const at = input.selectionStart, after = input.value.slice(at);
    hide();
    send(input.value.slice(0, start) + word + after);
    input.setSelectionRange(start + word.length, start + word.length);
  }
  function showHelp() {
    const terms = (pairs) => pairs.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]);
    sheet.open(
      help,
      "What a query can say",
      h(
        "div",
        { class: "klw-helpbox", tabindex: 0 },
        h("p", {}, "A record must meet every condition; what is not understood is refused."),
        h("dl", { class: "klw-keys" }, ...terms(forms())),
        h("h4", {}, "Keys"),
        h("dl", { class: "klw-keys" }, ...terms(QUERY_KEYS)),
      ),
    );
  }
  return {
    el,
    help: showHelp,
    focus() {
      input.focus();
      input.select();
    },
    // The kernel's query: not while another one is being typed.
    setQuery(text) {
      if (text === sent && document.activeElement === input) return;
      input.value = sent = text;
      clear.hidden = !text;
    },
    setProblem(text) {
      problem.textContent = text;
      problem.hidden = !text;
      input.setAttribute("aria-invalid", String(Boolean(text)));
    },
    // `order`: what the list is sorted by.
    setState(result, isRunning, order) {
      this.setProblem(result.problem ?? "");
      stop.hidden = bar.hidden = !isRunning;
      const share = result.bytes_total ? result.bytes_read / result.bytes_total : 0;
      bar.firstChild.style.width = `${(100 * share).toFixed(1)}%`;
      bar.setAttribute("aria-valuenow", Math.round(100 * share));
      status.textContent = statusText(result, isRunning);
      status.title = result.bytes_total
        ? `${bytes(result.bytes_read)} of ${bytes(result.bytes_total)} read in ${result.seconds} s`
        : "";
      notice.textContent = noticeText(result, isRunning, order);
      notice.hidden = !notice.textContent;
    },
  };
}

function statusText(result, isRunning) {
  if (result.found === undefined) return "";
  const found = result.query
    ? `${count(result.found)} of ${plural(result.records_read, "record")}`
    : plural(result.found, "record");
  const brushed = result.count < result.listed ? `${count(result.count)} selected · ` : "";
  if (isRunning) return `${brushed}${found} so far`;
  return `${brushed}${found}${result.status === "canceled" ? ", stopped" : ""} · ${result.seconds} s`;
}

function noticeText(result, isRunning, order) {
  const texts = [], isPart = isRunning || result.status === "canceled";
  if (order !== "time" && isPart && result.listed) {
    const after = isRunning ? "the search continues" : "the search was stopped";
    texts.push(`Sorted by ${columnLabel(order)}: the ${plural(result.listed, "record")} found so far; ${after}.`);
  }
  if (result.listed < result.found) {
    texts.push(
      `The first ${
        count(result.listed)
      } that were found are listed and sorted; the others are only counted. Narrow the query to see them.`,
    );
  }
  if (result.finding_count) {
    texts.push(`${plural(result.finding_count, "damaged place")} left out; the first: ${result.finding}`);
  }
  if (result.query && result.not_searched) texts.push(sentence(result.not_searched));
  return texts.join(" ");
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

// A query with this time, up to the millisecond before its end, instead of the one it names.
export function queryOfTime(query, [from, to]) {
  const plain = query.replace(/(^|\s)time:\S+/g, "").trim(),
    rest = /(^|[\s)])or($|[\s(])/i.test(plain) ? `(${plain})` : plain;
  return `${rest} time:${isoText(from)}..${isoText(to - 1)}`.trim();
}

// A query with one more condition.
export function withTerm(query, term) {
  const plain = query.trim();
  if (` ${plain} `.includes(` ${term} `)) return plain;
  return `${/(^|[\s)])or($|[\s(])/i.test(plain) ? `(${plain})` : plain} ${term}`.trim();
}

// A time as a query takes it: UTC, to the millisecond, in one word.
function isoText(ms) {
  return new Date(ms).toISOString().replace("Z", "");
}

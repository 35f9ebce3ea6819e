// RequestView: the requests of a server in a table that grows, the newest first.
import { h } from "../shared/dom.js";
import { bytes, count, plural, timestamp } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { ms } from "./request_frames.js";
import { timeBar } from "./request_times.js";
import { dataGrid } from "../shared/rows.js";
import { followTheme } from "../shared/theme.js";

const NUMBER = 0, TIME = 1, KIND = 2, VERSION = 3, CLIENT = 4, CLIENT_ID = 5, SUBJECT = 6;
const IN = 7, OUT = 8, QUEUE = 9, REMOTE = 11, TOTAL = 13, PROBLEM = 14;

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = {});
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const root = h("section", { class: "klw klw-requests", tabindex: -1, "aria-label": "Requests of the server" });
  const about = h("span", { class: "klw-sum" });
  const kinds = h("select", { class: "klw-input", "aria-label": "Kind of request" });
  const client = h("input", {
    class: "klw-input",
    type: "text",
    placeholder: "Client",
    "aria-label": "Client's address or id",
    spellcheck: "false",
  });
  const errorText = h("span", {}), errorBar = h("div", { class: "klw-error", role: "alert", hidden: true }, errorText);
  const picked = h("div", { class: "klw-picked" });
  const times = timeBar();
  let rows = [];

  const grid = dataGrid({
    label: "Requests",
    signal,
    emptyText: "No requests yet. Connect a client.",
    columns: [
      { name: "#", width: "54px", number: true },
      { name: "Time (UTC)", width: "96px" },
      { name: "Request", width: "minmax(132px, 1fr)" },
      { name: "Client", width: "minmax(90px, 1fr)" },
      { name: "Topic or group", width: "minmax(90px, 1.2fr)" },
      { name: "In", width: "64px", number: true },
      { name: "Out", width: "70px", number: true },
      { name: "Queue", width: "76px", number: true, title: "ms until a thread took it: RequestQueueTimeMs" },
      { name: "Local", width: "76px", number: true, title: "ms of the server's own work: LocalTimeMs" },
      { name: "Remote", width: "76px", number: true, title: "ms of waiting for others: RemoteTimeMs" },
      { name: "Send", width: "76px", number: true, title: "ms until the response was sent: ResponseSendTimeMs" },
      { name: "Total", width: "80px", number: true, title: "ms in all: TotalTimeMs" },
      { name: "Error", width: "minmax(190px, 1.7fr)" },
    ],
    cellsOf(i) {
      const row = rows[i], slow = row[TOTAL] - row[REMOTE] >= 100;
      return [
        { text: count(row[NUMBER]), kind: "quiet" },
        { text: timestamp(row[TIME]).slice(11), title: timestamp(row[TIME]) },
        { text: nameOf(row), kind: "kind" },
        { text: row[CLIENT_ID] ?? row[CLIENT], title: row[CLIENT] },
        { text: row[SUBJECT], title: row[SUBJECT] },
        bytes(row[IN]),
        bytes(row[OUT]),
        ...row.slice(QUEUE, TOTAL).map((value) => ({ text: ms(value), kind: value < 0.1 ? "quiet" : "" })),
        { text: ms(row[TOTAL]), kind: slow ? "bad" : "" },
        { text: row[PROBLEM], kind: "bad", title: row[PROBLEM] },
      ];
    },
    rowKind: (i) => (rows[i][PROBLEM] ? "bad" : ""),
    onPick(i) {
      model.set("selected", rows[i][NUMBER]);
      model.save_changes();
      live.textContent = `${nameOf(rows[i])}, ${rows[i][SUBJECT]}, ${ms(rows[i][TOTAL])}. ${rows[i][PROBLEM]}`;
    },
  });
  root.append(
    h(
      "header",
      { class: "klw-top" },
      h("span", { class: "klw-title" }, "Requests"),
      about,
      h("span", { class: "klw-filters" }, kinds, client),
    ),
    errorBar,
    grid.el,
    picked,
    live,
  );
  el.append(root);

  const filter = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  kinds.addEventListener("change", () => filter("kind", kinds.value));
  client.addEventListener("input", () => filter("client", client.value));

  function showRows() {
    const all = model.get("_rows"), total = model.get("_total"), kind = model.get("kind");
    const text = model.get("client").toLowerCase();
    rows = all.filter((row) =>
      (!kind || row[KIND] === kind) && `${row[CLIENT]} ${row[CLIENT_ID] ?? ""}`.toLowerCase().includes(text)
    ).reverse();
    const names = [...new Set([...all.map((row) => row[KIND] ?? ""), kind])].filter(Boolean).sort();
    if (names.join() !== kinds.dataset.names) {
      kinds.dataset.names = names.join();
      kinds.replaceChildren(
        h("option", { value: "" }, "All kinds"),
        ...names.map((name) => h("option", { value: name }, name)),
      );
    }
    kinds.value = kind;
    if (client.value !== model.get("client")) client.value = model.get("client");
    const where = model.get("_where");
    about.textContent = [
      where,
      plural(total, "request"),
      total > all.length ? `the last ${count(all.length)} are kept` : "",
      rows.length < all.length ? `${count(rows.length)} shown` : "",
    ].filter(Boolean).join(" · ");
    grid.setEmptyText(all.length ? "No request matches." : "No requests yet. Connect a client.");
    grid.setCount(rows.length, { keep: true });
    showPicked(false);
    Object.assign(stats, { draws: (stats.draws ?? 0) + 1, rows: rows.length, total });
  }
  function showPicked(reveal = true) {
    const at = rows.findIndex((row) => row[NUMBER] === model.get("selected"));
    grid.select(at, reveal);
    const row = rows[at];
    if (!row) {
      picked.replaceChildren(h("p", {}, "Select a request to see where its time went."));
      return;
    }
    times.show(row.slice(QUEUE, TOTAL), row[TOTAL]);
    picked.replaceChildren(
      h(
        "h4",
        {},
        `${nameOf(row)}`,
        h("span", {}, `from ${row[CLIENT]}${row[CLIENT_ID] === null ? "" : `, client id ${row[CLIENT_ID]}`}`),
        row[SUBJECT] ? h("span", {}, row[SUBJECT]) : null,
        h("span", {}, `${bytes(row[IN])} in, ${bytes(row[OUT])} out`),
        row[PROBLEM] ? h("span", { "data-kind": "bad" }, row[PROBLEM]) : null,
      ),
      times.el,
    );
  }
  function showError() {
    errorText.textContent = model.get("_error");
    errorBar.hidden = !model.get("_error");
  }

  const followed = {
    _rows: showRows,
    kind: showRows,
    client: showRows,
    selected: () => showPicked(),
    _error: showError,
  };
  for (const [name, act] of Object.entries(followed)) model.on(`change:${name}`, act);
  followTheme(root, grid.refresh, signal);
  showRows();
  showError();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

const nameOf = (row) => (row[KIND] === null ? "unknown" : `${row[KIND]} v${row[VERSION]}`);

export default { render: withKernel(render, { isWhole: true }) };

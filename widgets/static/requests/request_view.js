// RequestView: the requests of a server in a table that grows, the newest first.
import { h } from "../shared/dom.js";
import { errorLine } from "../shared/error_bar.js";
import { bytes, count, duration, plural } from "../shared/format.js";
import { widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { kindsOf, REQUEST_COLUMNS, requestCells, requestName, requestOf, requestsLike } from "./request_rows.js";
import { timeBar } from "./request_times.js";
import { dataGrid } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-requests", { "aria-label": "Requests of the server" });
  const view = {
    ...frame,
    model,
    requests: [], // those in the table
    about: h("span", { class: "klw-sum" }),
    picked: h("div", { class: "klw-picked" }),
    times: timeBar(),
    filter: requestFilter((name, value) => {
      model.set(name, value);
      model.save_changes();
    }),
  };
  const error = errorLine(model), grid = view.grid = requestGrid(view);
  view.instead = stateInstead([view.filter.el, grid.el, view.picked]);
  frame.fill(
    h("header", { class: "klw-top" }, h("span", { class: "klw-title" }, "Requests"), view.about, view.filter.el),
    error.el,
    view.instead.el,
    grid.el,
    view.picked,
  );
  const show = () => showRequests(view),
    end = frame.follow({
      _rows: show,
      kind: show,
      client: show,
      selected: () => showPicked(view),
      _error: error.show,
    }, grid.refresh);
  show();
  error.show();
  return end;
}

// Menus of kind and client; `onFilter` gets the name of the trait and its value.
function requestFilter(onFilter) {
  const kinds = h("select", { class: "klw-input", "aria-label": "Kind of request" });
  const client = h("input", {
    class: "klw-input",
    type: "text",
    placeholder: "Client",
    "aria-label": "Client's address or id",
    spellcheck: "false",
  });
  kinds.addEventListener("change", () => onFilter("kind", kinds.value));
  client.addEventListener("input", () => onFilter("client", client.value));
  return {
    el: h("span", { class: "klw-filters" }, kinds, client),
    show(names, kind, text) {
      if (names.join() !== kinds.dataset.names) {
        kinds.dataset.names = names.join();
        kinds.replaceChildren(
          h("option", { value: "" }, "All kinds"),
          ...names.map((name) => h("option", { value: name }, name)),
        );
      }
      kinds.value = kind;
      if (client.value !== text) client.value = text;
    },
  };
}

function requestGrid(view) {
  return dataGrid({
    label: "Requests",
    signal: view.signal,
    emptyText: "No request matches.",
    columns: REQUEST_COLUMNS,
    cellsOf: (i) => requestCells(view.requests[i]),
    rowKind: (i) => (view.requests[i].problem ? "bad" : ""),
    onPick(i) {
      const request = view.requests[i], { number, subject, total, problem } = request;
      view.model.set("selected", number);
      view.model.save_changes();
      view.announce(`${requestName(request)}, ${subject}, ${duration(total)}. ${problem}`);
    },
  });
}

function showRequests(view) {
  const { model, grid, stats } = view, all = model.get("_rows").map(requestOf), total = model.get("_total");
  const kind = model.get("kind"), client = model.get("client");
  const shown = view.requests = requestsLike(all, kind, client);
  view.filter.show(kindsOf(all, kind), kind, client);
  view.about.textContent = [
    model.get("_where"),
    plural(total, "request"),
    total > all.length ? `the last ${count(all.length)} are kept` : "",
    shown.length < all.length ? `${count(shown.length)} shown` : "",
  ].filter(Boolean).join(" · ");
  view.instead.set(all.length ? null : stateNote("empty", "No requests yet. Connect a client."));
  grid.setCount(shown.length, { keep: true });
  showPicked(view, false);
  Object.assign(stats, { draws: stats.draws + 1, rows: shown.length, total });
}

function showPicked({ model, requests, grid, picked, times }, reveal = true) {
  const at = requests.findIndex(({ number }) => number === model.get("selected")), request = requests[at];
  grid.select(at, reveal);
  if (!request) return picked.replaceChildren(h("p", {}, "Select a request to see where its time went."));
  const { client, clientId, subject, bytesIn, bytesOut, total, problem } = request;
  times.show(request.times, total);
  picked.replaceChildren(
    h(
      "h4",
      {},
      requestName(request),
      h("span", {}, `from ${client}${clientId === null ? "" : `, client id ${clientId}`}`),
      subject ? h("span", {}, subject) : null,
      h("span", {}, `${bytes(bytesIn)} in, ${bytes(bytesOut)} out`),
      problem ? h("span", { "data-kind": "bad" }, problem) : null,
    ),
    times.el,
  );
}

export default { render: withKernel(render, { isWhole: true }) };

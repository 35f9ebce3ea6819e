// FindingView: every finding of log directories, by severity, kind and topic; selecting one selects where it is.
import { button, disable, h } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { ANY, filterBar, findingTotals, matching } from "./finding_filter.js";
import { findingView } from "./finding_view.js";
import { count, plural } from "../shared/format.js";
import { isModified, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { verifyBar } from "./verify_bar.js";

const FINDING_KEYS = [
  ["↑ ↓", "move in the list; the partition, segment and batch are selected"],
  ["Enter", "show the selected finding in the explorer"],
  ["Esc", "show all findings again, close a sheet"],
  ["?", "this list"],
];

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-allfindings", { "aria-label": "Findings" });
  const { root, signal } = frame, sheet = popover(root, FINDING_KEYS), error = errorBar();
  const ask = requests(model, { signal, onError: error.show, onSilence: () => {} });
  const view = { ...frame, model };
  view.head = findingsHead({ model, sheet, ask });
  view.filter = filterBar({
    severity: model.get("severity"),
    onSet: (name, value) => setFilter(view, { [name]: value }),
    onClear: () => setFilter(view, ANY),
  });
  view.progress = verifyBar({ onCancel: () => ask("cancel") });
  view.list = allFindings({ model, signal, ask });
  const pane = h("div", { class: "klw-panes klw-findpane" }, view.list.el);
  view.instead = stateInstead([view.filter.el, pane]);
  frame.fill(view.head.el, view.progress.el, error.el, view.filter.el, view.instead.el, pane);
  onKeys(root, (event) => {
    if (event.key === "Escape" && sheet.isOpen) sheet.close();
    else if (isModified(event) || event.target.tagName === "SELECT") return false;
    else if (event.key === "Escape" && !view.filter.isClear) setFilter(view, ANY);
    else if (event.key === "?") sheet.keys(view.head.keys);
    else return false;
  });
  const shown = ["_findings", "_counts", "_verified", "_changed", "_verification", "_directory", ...Object.keys(ANY)];
  const end = frame.follow({
    _error: () => error.show(model.get("_error")),
    ...Object.fromEntries(shown.map((name) => [name, () => showFindings(view)])),
  });
  error.show(model.get("_error"));
  showFindings(view);
  return end;
}

function findingsHead({ model, sheet, ask }) {
  const title = h("span", { class: "klw-title" }), sum = h("span", { class: "klw-sum" });
  const code = button("Findings as Python", {
    glyph: "code",
    text: "Python",
    onclick: () => sheet.python(code, "Findings as Python", model.get("query")),
  });
  code.setAttribute("aria-haspopup", "dialog");
  const verifyAll = button(
    "Check every byte of every partition, and the files of the directory",
    {
      glyph: "shields",
      text: "Verify all",
      kind: "klw-framed",
      isLive: true,
      onclick: () => ask("verify", { partition: null }),
    },
  );
  const keys = button("Keys (?)", { glyph: "keyboard", onclick: () => sheet.keys(keys) });
  return { el: h("header", { class: "klw-top" }, title, sum, code, verifyAll, keys), title, sum, verifyAll, keys };
}

function allFindings({ model, signal, ask }) {
  return findingView({
    signal,
    isScoped: false,
    goTo: model.get("_can_show") ? "Show in Explore" : null,
    onPick({ partition, segment, batch_position: position }) {
      if (partition !== null) model.choose({ selected: { partition, segment, position, offset: null } });
    },
    onGo: ({ partition, segment, batch_position: position, path }) =>
      ask("show", { partition, segment, position, path }),
  });
}

function setFilter(view, changes) {
  for (const [name, value] of Object.entries(changes)) view.model.set(name, value);
  view.model.save_changes();
  showFindings(view);
}

function showFindings(view) {
  const { model, head, filter, list, progress } = view;
  const all = model.get("_findings"),
    asked = Object.fromEntries(Object.keys(ANY).map((name) => [name, model.get(name)]));
  const verified = model.get("_verified"), check = model.get("_verification"), directory = model.get("_directory");
  const shown = matching(all, asked), isFiltered = shown.length < all.length || Object.values(asked).some(Boolean);
  const totals = findingTotals(model.get("_counts")), isRunning = check.state === "running";
  head.title.textContent = directory.title;
  head.title.title = directory.path;
  head.sum.textContent = verifiedText(verified.length, directory.partitions, totals);
  disable(head.verifyAll, isRunning || !directory.partitions);
  filter.show(all, asked, isFiltered);
  filter.about.textContent = [
    isFiltered && `${count(shown.length)} of ${count(all.length)}`,
    totals.all > all.length &&
    `${plural(totals.all - all.length, "more finding")} not listed: logs.verify() has all`,
  ].filter(Boolean).join(" · ");
  list.setState("empty", "No finding is like that.");
  list.setFindings(shown, shown.length, null);
  view.instead.set(
    all.length || isFiltered ? null : nothingFound(view, { isRunning, isVerified: verified.length > 0 }),
  );
  progress.show(check, totals.all, model.get("_changed").length);
  if (check.state && !isRunning) view.announce(head.sum.textContent);
  view.stats.draws++;
}

function verifiedText(verified, partitions, { all, errors }) {
  if (!verified) return "not verified yet";
  const found = all ? `${plural(all, "finding")}, ${plural(errors, "error")}` : "no findings";
  return `${count(verified)} of ${plural(partitions, "partition")} verified · ${found}`;
}

// What is shown where no finding is known.
function nothingFound({ head }, { isRunning, isVerified }) {
  if (isRunning) return stateNote("loading", "No findings yet.");
  if (isVerified) return stateNote("empty", "No findings: every byte of the verified partitions was checked.");
  const text = "Not verified yet. Verify all reads every byte of every partition and checks it, and the files of the " +
    "directory.";
  const verify = button("Verify all partitions", {
    glyph: "shields",
    text: "Verify all",
    kind: "klw-framed",
    isLive: true,
    onclick: () => head.verifyAll.click(),
  });
  return stateNote("empty", text, head.verifyAll.disabled ? null : verify);
}

export default { render: withKernel(render) };

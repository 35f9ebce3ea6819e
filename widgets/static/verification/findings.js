// FindingView: every finding of log directories, by severity, kind and topic; selecting one selects where it is.
import { button, choice, h } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { findingView } from "./finding_view.js";
import { count, plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";
import { followTheme } from "../shared/theme.js";
import { verifyBar } from "./verify_bar.js";

const ANY = { severity: "", kind: "", topic: "" };
const FINDING_KEYS = [
  ["↑ ↓", "move in the list; the partition, segment and batch are selected"],
  ["Enter", "show the selected finding in the explorer"],
  ["Esc", "show all findings again, close a sheet"],
  ["?", "this list"],
];

// The findings that meet a filter; `except` names a part of it that does not count.
export function matching(findings, filter, except = "") {
  const asked = Object.entries(filter).filter(([name, value]) => value !== "" && name !== except);
  return findings.filter((each) => asked.every(([name, value]) => each[name] === value));
}

// What a part of the filter can be, and how many findings each choice has under the rest of it.
export function choicesOf(findings, filter, name) {
  const counts = new Map(findings.map((each) => [each[name], 0]));
  for (const each of matching(findings, filter, name)) {
    counts.set(each[name], counts.get(each[name]) + 1);
  }
  return [...counts].filter(([value]) => value !== null).sort(([a], [b]) => (a < b ? -1 : 1));
}

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const root = h("section", { class: "klw klw-allfindings", tabindex: -1, "aria-label": "Findings" });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const sheet = popover(root, FINDING_KEYS);
  const filter = () => Object.fromEntries(Object.keys(ANY).map((name) => [name, model.get(name)]));
  const error = errorBar();
  const ask = requests(model, { signal, onError: error.show, onSilence: () => {} });

  // Head.
  const title = h("span", { class: "klw-title" }),
    sum = h("span", { class: "klw-sum" });
  const code = button("Findings as Python", {
    glyph: "code",
    text: "Python",
    onclick: () => sheet.python(code, "Findings as Python", model.get("query")),
  });
  code.setAttribute("aria-haspopup", "dialog");
  const verifyAll = button(
    "Check every byte of every partition, and the files of the directory",
    { glyph: "shields", text: "Verify all", kind: "klw-framed", onclick: () => ask("verify", { partition: null }) },
  );
  const keys = button("Keys (?)", { glyph: "keyboard", onclick: () => sheet.keys(keys) });
  const progress = verifyBar({ onCancel: () => ask("cancel") });

  // Filters.
  function set(name, value) {
    model.set(name, value);
    model.save_changes();
    show();
  }
  const severity = choice(
    "Which findings",
    [["", "All"], ["error", "Errors"], ["warning", "Warnings"]],
    model.get("severity"),
    (value) => set("severity", value),
  );
  const menu = (name, label) =>
    h("select", {
      class: "klw-input klw-select",
      "aria-label": label,
      onchange: (event) => set(name, event.target.value),
    });
  const menus = { kind: menu("kind", "Kind of finding"), topic: menu("topic", "Topic") };
  const shownText = h("span", { class: "klw-about" });
  const clear = button("Show all findings", { glyph: "cross", text: "Clear", onclick: clearFilter });
  function clearFilter() {
    for (const [name, value] of Object.entries(ANY)) model.set(name, value);
    model.save_changes();
    show();
  }

  // The list.
  const list = findingView({
    signal,
    isScoped: false,
    goTo: model.get("_can_show") ? "Show in Explore" : null,
    onPick: (each) => {
      if (each.partition === null) return;
      const selected = {
        partition: each.partition,
        segment: each.segment,
        position: each.batch_position,
        offset: null,
      };
      model.choose({ selected });
    },
    onGo: (each) =>
      ask("show", {
        partition: each.partition,
        segment: each.segment,
        position: each.batch_position,
        path: each.path,
      }),
  });
  root.append(
    h("header", { class: "klw-top" }, title, sum, code, verifyAll, keys),
    progress.el,
    error.el,
    h("div", { class: "klw-phead" }, severity.el, menus.kind, menus.topic, clear, shownText),
    h("div", { class: "klw-panes klw-findpane" }, list.el),
    live,
  );
  el.append(root);

  function fill(name, findings, asked, anyText) {
    const choices = choicesOf(findings, asked, name);
    if (asked[name] && !choices.some(([value]) => value === asked[name])) {
      choices.push([asked[name], 0]);
    }
    const key = JSON.stringify(choices);
    if (menus[name].dataset.choices !== key) { // an open menu would close
      menus[name].dataset.choices = key;
      menus[name].replaceChildren(
        h("option", { value: "" }, anyText),
        ...choices.map(([value, n]) => h("option", { value }, `${value} (${count(n)})`)),
      );
    }
    menus[name].value = asked[name];
    menus[name].disabled = !choices.length;
  }
  function show() {
    const all = model.get("_findings"),
      counts = model.get("_counts"),
      asked = filter();
    const verified = model.get("_verified"),
      check = model.get("_verification"),
      changed = model.get("_changed");
    const severities = Object.values(counts).flatMap(Object.entries);
    const total = severities.reduce((n, [, each]) => n + each, 0);
    const errors = severities.reduce((n, [name, each]) => n + (name === "error" ? each : 0), 0);
    const directory = model.get("_directory"),
      isRunning = check.state === "running";
    title.textContent = directory.title;
    title.title = directory.path;
    sum.textContent = verified.length
      ? `${count(verified.length)} of ${plural(directory.partitions, "partition")} verified · ${
        total ? `${plural(total, "finding")}, ${plural(errors, "error")}` : "no findings"
      }`
      : "not verified yet";
    severity.show(asked.severity);
    fill("kind", all, asked, "All kinds");
    fill("topic", all, asked, "All topics");
    const shown = matching(all, asked),
      isFiltered = shown.length < all.length ||
        Object.values(asked).some(Boolean);
    clear.hidden = !isFiltered;
    const parts = [isFiltered && `${count(shown.length)} of ${count(all.length)}`];
    if (total > all.length) {
      parts.push(`${plural(total - all.length, "more finding")} not listed: logs.verify() has all`);
    }
    shownText.textContent = parts.filter(Boolean).join(" · ");
    list.setEmptyText(emptyText(isFiltered, isRunning, verified.length > 0));
    list.setFindings(shown, shown.length, null);
    progress.show(check, total, changed.length);
    verifyAll.disabled = isRunning || !directory.partitions;
    if (check.state && !isRunning) live.textContent = sum.textContent;
    stats.draws++;
  }

  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && sheet.isOpen) sheet.close();
    else if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    else if (event.key === "Escape" && !clear.hidden) clearFilter();
    else if (event.key === "?") sheet.keys(keys);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const followed = {
    _error: () => error.show(model.get("_error")),
    ...Object.fromEntries(
      [
        ...Object.keys(ANY),
        "_findings",
        "_counts",
        "_verified",
        "_changed",
        "_verification",
        "_directory",
      ].map((name) => [name, show]),
    ),
  };
  for (const [name, act] of Object.entries(followed)) {
    model.on(`change:${name}`, act);
  }
  followTheme(root, () => {}, signal);
  error.show(model.get("_error"));
  show();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) {
      model.off(`change:${name}`, act);
    }
  };
}

function emptyText(isFiltered, isRunning, isVerified) {
  if (isFiltered) return "No finding is like that.";
  if (isRunning) return "No findings yet.";
  return isVerified
    ? "No findings: every byte of the verified partitions was checked."
    : "Not verified yet. Verify all reads every byte of every partition and checks it, and the files of the directory.";
}

export default { render: withKernel(render) };

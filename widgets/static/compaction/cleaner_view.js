// CleanerView: a partition's segments in their regions, the dirty ratio, and each rule's verdict.
import { h } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { dataGrid } from "../shared/rows.js";
import { followTheme } from "../shared/theme.js";

const REGION_NAMES = { clean: "clean", dirty: "dirty", waiting: "not cleanable yet", active: "active, never cleaned" };
const NOTHING = { partition: null, segment: null, position: null, offset: null };
const LEAST_WIDTH = 1.4;

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const root = h("section", { class: "klw klw-cleaner", tabindex: 0 });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const title = h("span", { class: "klw-title" }), about = h("span", { class: "klw-sum" });
  const conclusion = h("p", { class: "klw-conclusion" });
  const strip = h("div", { class: "klw-regions", role: "listbox", "aria-label": "Segments" }),
    markers = h("div", { class: "klw-markers" });
  const legend = h("div", { class: "klw-legend" });
  const gauge = h("div", { class: "klw-gauge" });
  const facts = h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "What is selected" });
  const rules = dataGrid({
    label: "Rules",
    signal,
    rowHeight: 26,
    emptyText: "No rules applied.",
    onPick: (i) => {
      live.textContent = `${held().rules[i][0]}: ${held().rules[i][1]}. ${held().rules[i][4]}.`;
      showRule(i);
    },
    columns: [
      { name: "Rule", width: "minmax(170px, 1.2fr)" },
      { name: "Verdict", width: "72px" },
      { name: "Value", width: "minmax(76px, .6fr)", number: true },
      { name: "Threshold", width: "minmax(76px, .6fr)", number: true },
      { name: "Why", width: "minmax(180px, 3fr)" },
    ],
    cellsOf(i) {
      const [rule, verdict, value, threshold, reason, kafka] = held().rules[i];
      return [{ text: rule, title: kafka }, { text: verdict, kind: `verdict ${verdict}` }, value, {
        text: threshold,
        kind: "quiet",
      }, { text: reason, title: reason }];
    },
    rowKind: (i) => (held().rules[i][1] === "blocks" ? "bad" : ""),
  });
  const held = () => model.get("_cleaning");
  root.append(
    h("header", { class: "klw-top" }, title, about),
    h("section", { class: "klw-panel klw-regionbox" }, conclusion, markers, strip, legend, gauge),
    h("div", { class: "klw-below klw-rules" }, facts, h("div", { class: "klw-steps" }, rules.el)),
    live,
  );
  el.append(root);

  const chosen = () => ({ ...NOTHING, ...model.get("selected") });
  const selectedIndex =
    () => (chosen().partition === held().partition
      ? held().segments.findIndex((each) => each.base_offset === chosen().segment)
      : -1);
  function choose(i) {
    const { segments, partition } = held(), segment = segments[Math.max(0, Math.min(segments.length - 1, i))];
    model.set("selected", { ...NOTHING, partition, segment: segment.base_offset });
    model.save_changes();
    live.textContent = `Segment ${segment.base_offset}, ${REGION_NAMES[segment.region]}.`;
  }

  function showAll() {
    const sent = held(), total = sent.segments.reduce((sum, each) => sum + each.size, 0);
    title.textContent = sent.partition;
    about.textContent = `${plural(sent.segments.length, "segment")} · ${bytes(total)} · as of ${sent.now} UTC`;
    conclusion.textContent = `${sent.conclusion}.`;
    root.setAttribute("aria-label", `Cleaner's view of ${sent.partition}: ${sent.conclusion}`);
    const widths = sent.segments.map((each) => Math.max(LEAST_WIDTH, (100 * each.size) / Math.max(1, total)));
    const whole = widths.reduce((sum, each) => sum + each, 0);
    strip.replaceChildren(...sent.segments.map((segment, i) => region(segment, widths[i] / whole, i)));
    showMarkers(sent, widths.map((each) => each / whole));
    showLegend(sent);
    showGauge(sent);
    rules.setCount(sent.rules.length);
    showSelected();
    stats.draws++;
  }
  function region(segment, share, i) {
    const marks = [];
    if (segment.tombstones) {
      marks.push(
        h(
          "small",
          { title: plural(segment.tombstones, "tombstone") },
          h("i", { "data-mark": "tombstone" }),
          count(segment.tombstones),
        ),
      );
    }
    if (segment.passed) {
      marks.push(
        h(
          "small",
          { title: `${plural(segment.passed, "batch", "batches")} with a delete horizon in the past` },
          h("i", { "data-mark": "passed" }),
          count(segment.passed),
        ),
      );
    }
    if (segment.ahead) {
      marks.push(
        h(
          "small",
          { title: `${plural(segment.ahead, "batch", "batches")} with a delete horizon in the future` },
          h("i", { "data-mark": "ahead" }),
          count(segment.ahead),
        ),
      );
    }
    return h(
      "button",
      {
        type: "button",
        class: "klw-region",
        role: "option",
        "data-region": segment.region,
        style: `flex-basis:${(share * 100).toFixed(3)}%`,
        onclick: () => choose(i),
        title: `Segment ${count(segment.base_offset)}: ${REGION_NAMES[segment.region]}, ${bytes(segment.size)}`,
      },
      h("b", {}, count(segment.base_offset)),
      h("span", {}, bytes(segment.size)),
      h("em", {}, ...marks),
    );
  }
  // Position of an offset on the strip, 0 to 1: exact between segments, interpolated by offset within one.
  function place(offset, sent, widths) {
    let at = 0;
    for (let i = 0; i < sent.segments.length; i++) {
      const base = BigInt(sent.segments[i].base_offset),
        end = BigInt(sent.segments[i + 1]?.base_offset ?? sent.end_offset);
      if (offset < end || i === sent.segments.length - 1) {
        return at + widths[i] * Math.max(0, Math.min(1, end > base ? Number(offset - base) / Number(end - base) : 0));
      }
      at += widths[i];
    }
    return at;
  }
  function showMarkers(sent, widths) {
    const lanes = [];
    markers.replaceChildren(
      ...sent.markers.map(([name, offset]) => [name, offset, place(BigInt(offset), sent, widths)]).sort((a, b) =>
        a[2] - b[2]
      ).map(([name, offset, at]) => {
        let lane = lanes.findIndex((end) => at > end + 0.005);
        if (lane < 0) lane = lanes.length;
        lanes[lane] = at > 0.72 ? 2 : at + 0.0075 * (name.length + offset.length);
        return h(
          "span",
          {
            class: "klw-marker",
            "data-name": name === "checkpoint" ? "checkpoint" : "bound",
            "data-end": String(at > 0.72),
            style: `left:${(at * 100).toFixed(3)}%;--lane:${lane}`,
          },
          h("i", {}),
          h("b", {}, name),
          count(offset),
        );
      }),
    );
    markers.style.setProperty("--lanes", Math.max(1, lanes.length));
  }
  function showLegend(sent) {
    const has = (test) => sent.segments.some(test),
      entries = Object.keys(REGION_NAMES).filter((name) => has((each) => each.region === name)).map((
        name,
      ) => [REGION_NAMES[name], { "data-region": name }]);
    if (has((each) => each.tombstones)) entries.push(["tombstones", { "data-mark": "tombstone" }]);
    if (has((each) => each.ahead)) entries.push(["delete horizon ahead", { "data-mark": "ahead" }]);
    if (has((each) => each.passed)) entries.push(["delete horizon passed", { "data-mark": "passed" }]);
    legend.replaceChildren(...entries.map(([text, attributes]) => h("span", {}, h("i", attributes), text)));
  }
  function showGauge(sent) {
    const ratio = Math.round(sent.ratio * 1000) / 1000, above = sent.ratio > sent.threshold;
    gauge.replaceChildren(
      h("span", { class: "klw-gaugename" }, "Dirty ratio"),
      h(
        "span",
        { class: "klw-bar", role: "img", "aria-label": `dirty ratio ${ratio}, threshold ${sent.threshold}` },
        h("i", { style: `width:${sent.ratio * 100}%` }),
        h("u", { style: `left:${Math.min(1, sent.threshold) * 100}%` }),
      ),
      h(
        "span",
        { class: "klw-gaugetext" },
        h("b", { "data-above": String(above) }, ratio.toFixed(2)),
        ` ${above ? "above" : "not above"} ${sent.threshold} · ${bytes(sent.cleanable_bytes)} dirty, ${
          bytes(sent.clean_bytes)
        } clean, ${bytes(sent.uncleanable_bytes)} not cleanable`,
      ),
    );
  }
  function showSelected() {
    const i = selectedIndex(), segment = held().segments[i];
    [...strip.children].forEach((each, k) => {
      each.setAttribute("aria-selected", String(k === i));
    });
    if (!segment) {
      return facts.replaceChildren(h("p", { class: "klw-meaning" }, "Click a segment or a rule for details."));
    }
    facts.replaceChildren(
      h("h4", {}, h("i", { "data-region": segment.region }), `Segment ${count(segment.base_offset)}`),
      h("p", { class: "klw-why" }, `${REGION_NAMES[segment.region]}.`),
      h("dl", {}, ...segment.facts.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
    );
  }
  function showRule(i) {
    const [rule, verdict, value, threshold, reason, kafka] = held().rules[i];
    facts.replaceChildren(
      h("h4", {}, rule),
      h("p", { class: "klw-why" }, `${reason}.`),
      h(
        "dl",
        {},
        ...[["verdict", verdict], ["value", value], ["threshold", threshold], ["Kafka", kafka]].flatMap((
          [name, text],
        ) => [h("dt", {}, name), h("dd", {}, text)]),
      ),
    );
  }

  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const n = held().segments.length, i = selectedIndex();
    if (event.key === "ArrowRight") choose(i + 1);
    else if (event.key === "ArrowLeft") choose(i < 0 ? 0 : i - 1);
    else if (event.key === "Home") choose(0);
    else if (event.key === "End") choose(n - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const followed = { _cleaning: showAll, selected: showSelected };
  for (const [name, act] of Object.entries(followed)) model.on(`change:${name}`, act);
  followTheme(root, () => {}, signal);
  showAll();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

export default { render: withKernel(render, { isWhole: true }) };

// The conditions of a decision: a version, a time, configurations as NAME=VALUE, and what holds where nothing is given.
import { button, h, icon } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { timestamp } from "../shared/format.js";

let bars = 0;

// `ask` sends a question to the kernel: null when it was refused. `example`: configurations that count here.
export function conditionsBar(model, ask, example = "retention.ms=7d, orders:cleanup.policy=compact") {
  const id = `klw-conditions-${++bars}`, error = errorBar();
  const versions = h("datalist", { id: `${id}-versions` }), names = h("datalist", { id: `${id}-names` });
  const kafka = field("Version of Kafka", { list: versions.id, placeholder: "as found", class: "klw-input klw-short" });
  const now = field("Time that ages are measured by", { placeholder: "now", class: "klw-input klw-long" });
  const added = field("Configuration", {
    list: names.id,
    placeholder: example,
  });
  const chips = h("span", { class: "klw-given" }), about = h("p", { class: "klw-meant" });
  const reset = button("As the directories have it", {
    glyph: "refresh",
    text: "As found",
    kind: "klw-framed",
    isLive: true,
    onclick: () => send({ config: [], kafka: "", now: "" }),
  });
  const held = () => model.get("conditions");
  const texts = () => Object.entries(held().config).map(([name, value]) => `${name}=${value}`);
  const send = async (changes) => {
    const { kafka: version, now: moment } = held();
    error.show("");
    const all = { config: texts(), kafka: version ?? "", now: String(moment ?? ""), ...changes };
    return await ask("conditions", all) !== null;
  };
  onEnter(kafka, (text) => send({ kafka: text }));
  onEnter(now, (text) => send({ now: text }));
  onEnter(added, async (text) => {
    if (text && await send({ config: [...texts(), text] })) added.value = "";
  });
  const live = (...parts) => h("span", { class: "klw-condition", "data-live": "hide" }, ...parts);
  const el = h(
    "div",
    { class: "klw-conditions", role: "group", "aria-label": "Conditions" },
    h(
      "div",
      { class: "klw-condline" },
      live(h("label", { for: kafka.id }, "Kafka"), kafka, versions),
      live(h("label", { for: now.id }, "at"), now),
      chips,
      h("span", { class: "klw-condition klw-adds", "data-live": "hide" }, added, names),
      reset,
    ),
    about,
    error.el,
  );
  return {
    el,
    showError: error.show,
    show() {
      const { config, kafka: version, now: moment } = held(), known = model.get("_about_conditions");
      kafka.value = version ?? "";
      now.value = typeof moment === "number" ? timestamp(moment) : moment ?? "";
      chips.replaceChildren(...Object.entries(config).map(([name, value]) => chipOf(name, value, remove)));
      reset.hidden = !version && !moment && !Object.keys(config).length;
      about.textContent = `${known.meant} ${known.stored}`;
      if (known.names === names.__names && known.topic === names.__topic) return;
      versions.replaceChildren(...known.versions.map((value) => h("option", { value })));
      const own = known.topic ? [`${known.topic}:`, ""] : [""];
      names.replaceChildren(
        ...own.flatMap((start) =>
          known.names.filter(([, doc]) => doc || !start).map(([name, doc]) =>
            h("option", { value: `${start}${name}=` }, doc)
          )
        ),
      );
      names.__names = known.names;
      names.__topic = known.topic;
    },
  };

  function remove(name) {
    send({ config: texts().filter((text) => !text.startsWith(`${name}=`)) });
  }
  function field(label, attributes) {
    const own = `${id}-${label.replaceAll(" ", "-")}`;
    return h("input", {
      class: "klw-input",
      id: own,
      type: "text",
      "aria-label": label,
      title: label,
      spellcheck: "false",
      autocomplete: "off",
      ...attributes,
    });
  }
}

function chipOf(name, value, remove) {
  const cross = h("button", {
    type: "button",
    "aria-label": `Remove ${name}`,
    title: `Remove ${name}`,
    "data-live": "hide",
    onclick: () => remove(name),
  }, icon("cross"));
  return h("span", { class: "klw-setting" }, h("b", {}, name), ` = ${value}`, cross);
}

// What was typed counts when Enter is pressed, or when a name was completed and the field is left.
function onEnter(input, act) {
  let before = null;
  const take = () => {
    const text = input.value.trim();
    if (text === before) return;
    before = text;
    act(text);
  };
  input.addEventListener("focus", () => {
    before = input.value.trim();
  });
  input.addEventListener("change", () => {
    if (!input.list || !input.value.endsWith("=")) take();
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter") return;
    before = null;
    take();
  });
}

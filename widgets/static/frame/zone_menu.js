// The menu of time zones: UTC, those of this browser and of the machine that reads, and all others by name.
import { h } from "../shared/dom.js";

export function zoneMenu(model) {
  const mine = Intl.DateTimeFormat().resolvedOptions().timeZone, machine = model.get("_machine_zone");
  const option = (value, text = value) => h("option", { value }, text);
  const first = [["UTC", "UTC"], [mine, `Browser: ${mine}`], [machine, `Local: ${machine}`]].filter(([name], at, all) =>
    name && all.findIndex(([other]) => other === name) === at
  );
  const other = h("optgroup", { label: "All" }, ...Intl.supportedValuesOf("timeZone").map((name) => option(name)));
  const el = h(
    "select",
    {
      class: "klw-input klw-zone",
      "aria-label": "Time zone of every view",
      title: "The time zone in which every view shows times",
      "data-live": "disable",
      "data-lm-suppress-shortcuts": "true",
      onchange: () => model.choose({ zone: el.value }) === false && show(),
    },
    ...first.map(([name, text]) => option(name, text)),
    other,
  );
  function show() {
    const name = model.get("zone");
    if (![...el.options].some(({ value }) => value === name)) el.insertBefore(option(name), other);
    el.value = name;
  }
  return { el, show };
}

// Where the time of a request went: parts of a bar, and each with its name.
import { h } from "../shared/dom.js";
import { duration } from "../shared/format.js";
import { TIMES } from "./request_frames.js";

export function timeBar() {
  const bar = h("div", { class: "klw-timebar", "aria-hidden": "true" });
  const legend = h("div", { class: "klw-legend klw-timelegend" });
  const el = h("div", { class: "klw-times", role: "group", "aria-label": "Where the time went" }, bar, legend);
  return {
    el,
    show(times, total) {
      const sum = Math.max(1e-6, times.reduce((all, each) => all + each, 0));
      bar.replaceChildren(
        ...TIMES.map(([name], k) => h("i", { "data-time": name, style: `flex-grow:${Math.max(0, times[k]) / sum}` })),
      );
      legend.replaceChildren(
        ...TIMES.map(([name, text, why], k) =>
          h("span", { title: `${text}: ${why}` }, h("i", { "data-time": name }), `${text} ${duration(times[k])}`)
        ),
        h("span", { class: "klw-total" }, `Total ${duration(total)}`),
      );
    },
  };
}

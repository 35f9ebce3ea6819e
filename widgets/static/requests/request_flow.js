// The stages of a request as a row of buttons: request, handler, log, response, with what each took.
import { h } from "../shared/dom.js";
import { bytes, duration } from "../shared/format.js";

// Name, text, and the roles of the steps in it.
const REQUEST_STAGES = [
  ["request", "Request", ["received"]],
  ["handler", "Handler", ["called", "answered", "waited"]],
  ["log", "Log", ["floor", "probe", "time probe", "entry", "time entry", "passed", "found", "slice"]],
  ["response", "Response", ["sent"]],
];

// `onPick` gets the number of a step.
export function requestFlow({ onPick }) {
  const el = h("ol", { class: "klw-flow", "aria-label": "Where the request is" });
  return {
    el,
    // `flow` is what the widget sends of the exchange: {request_bytes, response_bytes, times}; `partition` was read.
    setData(data, { request_bytes: asked, response_bytes: sent, times }, partition) {
      const texts = {
        request: bytes(asked ?? 0),
        handler: duration(times?.[1]),
        log: partition || "not read",
        response: sent ? bytes(sent) : "none",
      };
      el.replaceChildren(...(times ? REQUEST_STAGES : []).map(([name, text, roles]) => {
        const first = data.steps.findIndex((_, i) => roles.includes(data.role(i)));
        return h(
          "li",
          { "data-name": name },
          h(
            "button",
            { type: "button", disabled: first < 0, onclick: () => onPick(first), title: `Go to: ${text}` },
            h("b", {}, text),
            h("small", {}, texts[name]),
          ),
        );
      }));
    },
    // The stage of a step's role; "" for none.
    show(role) {
      REQUEST_STAGES.forEach(([, , roles], k) =>
        el.children[k]?.setAttribute("aria-current", String(roles.includes(role)))
      );
    },
  };
}

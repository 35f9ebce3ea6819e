// What one broker does is answered where its directories are shown alone.
import { button, h } from "../shared/dom.js";

export function brokerChoice(model, ask) {
  const el = h("div", { class: "klw-overbrokers", hidden: true });
  return {
    el,
    show() {
      const ids = model.get("_ids");
      el.hidden = !ids.length;
      el.replaceChildren(
        h("span", {}, "Whether a broker starts, and what it deletes, cleans and serves, is answered for one broker:"),
        ...ids.map((id) =>
          model.get("_can_lead")
            ? button(`Show the directories of broker ${id} alone`, {
              text: `broker ${id}`,
              kind: "klw-framed",
              isLive: true,
              onclick: () => ask("broker", { node_id: id }),
            })
            : h("span", {}, `broker ${id}`)
        ),
      );
    },
  };
}

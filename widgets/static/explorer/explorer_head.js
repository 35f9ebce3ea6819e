// The explorer's head: what is open, go to, follow, verify, read again, keys.
import { button, disable, h } from "../shared/dom.js";
import { valuesButton } from "../shared/values_button.js";
import { followButton } from "../shared/follow_button.js";
import { followedText } from "./following.js";

// `ask` sends a request to the kernel; `onVerify` and `onVerifyAll` are called when a button is pressed.
export function explorerHead({ model, sheet, ask, chosen, announce, onVerify, onVerifyAll, onFollow }) {
  const title = h("span", { class: "klw-title" }), summary = h("span", { class: "klw-sum" });
  const goBox = h("input", {
    class: "klw-input",
    type: "text",
    placeholder: "Go to offset or time",
    "aria-label": "Go to an offset or a UTC time in this partition",
    spellcheck: "false",
  });
  goBox.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.stopPropagation();
    ask("go", { text: goBox.value, partition: chosen().partition }).then((answer) => {
      if (answer) announce(answer.text);
    });
  });
  const verify = button("Check every byte of this partition", {
    glyph: "shield",
    text: "Verify",
    kind: "klw-framed",
    isLive: true,
    onclick: () => {
      disable(verify);
      ask("verify", { partition: chosen().partition }).then(() => {
        disable(verify, chosen().partition === null);
        onVerify();
      });
    },
  });
  const verifyAll = button("Check every byte of every partition, and the files of the directory", {
    glyph: "shields",
    text: "Verify all",
    kind: "klw-framed",
    isLive: true,
    onclick: () => {
      onVerifyAll();
      ask("verify", { partition: null });
    },
  });
  const refresh = button("Read the directory again", { glyph: "refresh", isLive: true, onclick: () => ask("refresh") });
  const follow = followButton({ model, sentence: () => followedText(model), onFollow }), eye = valuesButton(model);
  const keys = button("Keys (?)", { glyph: "keyboard", onclick: () => sheet.keys(keys) });
  const el = h(
    "header",
    { class: "klw-top" },
    title,
    summary,
    follow.about,
    h("span", { class: "klw-go", "data-live": "hide" }, goBox),
    eye.el,
    follow.el,
    verify,
    verifyAll,
    refresh,
    keys,
  );
  return { el, title, summary, goBox, verify, verifyAll, eye, follow, keys };
}

// The kernel does not respond.
export function silenceBar() {
  const el = h(
    "div",
    { class: "klw-error", role: "status", hidden: true },
    h("span", {}, "The kernel does not respond. It may be disconnected, or busy running a cell."),
  );
  return {
    el,
    show(isQuiet) {
      el.hidden = !isQuiet;
    },
  };
}

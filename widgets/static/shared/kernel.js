// The kernel of a widget. A restart, a shutdown or a reopened notebook takes it away: the picture remains, and what
// needs the kernel says so instead of waiting.
import { button, h } from "./dom.js";

const GONE_CLASS = "jupyter-widgets-disconnected"; // ipywidgets sets it on the element of a widget without a comm
const ENDS = new Set(["restarting", "autorestarting", "dead"]);
const GONE_TEXT =
  "The kernel does not know this widget: it was restarted, or the notebook was reopened. The picture remains; run the cell again to read more.";

const FILE_TEXT = "This file shows what was read when it was written. For more, open the directory in the workbench.";

// Wrap a `render` of anywidget: its model never throws without a kernel, and has `isLive`, `choose` and `onLost`.
// Controls with `data-live` "hide" or "disable" need a kernel: a page of `to_html` does not have them.
// `isWhole`: everything it shows is in its state, so that a missing kernel is named only when something needs it.
export function withKernel(render, { isWhole = false } = {}) {
  return ({ model, el, signal }) => {
    const notice = h(
      "div",
      { class: "klw-error klw-gone", role: "status", hidden: true },
      h("span", {}, model.isFile ? FILE_TEXT : GONE_TEXT),
      button("Dismiss", {
        glyph: "cross",
        onclick: () => {
          notice.hidden = true;
        },
      }),
    );
    const link = kernelLink(model, el, () => {
      notice.hidden = false;
    });
    const cleanUp = render({ model: link.model, el, signal });
    el.querySelector(".klw-top")?.after(notice);
    if (model.isFile) leaveOutLive(el);
    if (!isWhole && !model.isFile) {
      if (!link.model.isLive) notice.hidden = false;
      link.model.onLost(() => {
        notice.hidden = false;
      });
    }
    return () => {
      link.end();
      cleanUp();
    };
  };
}

// Of a page without a kernel: controls that need one are hidden, and those that show something remain, disabled.
function leaveOutLive(el) {
  el.querySelector(".klw").dataset.file = "";
  const disable = () => {
    for (const control of el.querySelectorAll("[data-live=disable]:not(:disabled)")) control.disabled = true;
  };
  new MutationObserver(disable).observe(el, { childList: true, subtree: true }); // heads are made again
  disable();
}

function kernelLink(given, el, refuse) {
  const kernel = given.widget_manager?.kernel, onLost = new Set();
  let isLost = Boolean(given.isFile) || el.classList.contains(GONE_CLASS);
  function lose() {
    if (isLost) return;
    isLost = true;
    for (const act of onLost) act();
  }
  const onComm = () => {
    if (el.classList.contains(GONE_CLASS)) lose();
  };
  const onStatus = (_, status) => {
    if (ENDS.has(status)) lose();
  };
  given.on("comm_live_update", onComm);
  kernel?.statusChanged?.connect(onStatus);

  const model = {
    get isLive() {
      return !isLost;
    },
    isFile: Boolean(given.isFile),
    // What is shown where something is missing without a kernel; null with one.
    get absence() {
      if (!isLost) return null;
      return given.isFile ? "not in this file" : "not in the saved picture: run the cell again";
    },
    get: (name) => given.get(name),
    set: (name, value) => given.set(name, value),
    on: (name, act) => given.on(name, act),
    off: (name, act) => given.off(name, act),
    onLost(act) {
      onLost.add(act);
    },
    save_changes() {
      if (!isLost) given.save_changes();
    },
    // Send a message; false without a kernel, unless a file has the answer.
    send(content) {
      if (given.isFile && given.answer(content)) return true;
      try {
        if (!isLost) given.send(content);
      } catch {
        lose(); // the comm of a kernel that ended unseen
      }
      if (isLost) refuse();
      return !isLost;
    },
    // Change traits to which the kernel replies with new contents; without one, nothing changes: false.
    choose(changes) {
      if (isLost) {
        refuse();
        return false;
      }
      for (const [name, value] of Object.entries(changes)) given.set(name, value);
      given.save_changes();
      return true;
    },
  };
  return {
    model,
    end() {
      given.off("comm_live_update", onComm);
      kernel?.statusChanged?.disconnect(onStatus);
    },
  };
}

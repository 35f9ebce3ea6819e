// The bar under the head while all partitions are verified, or compared: how far it is, cancel, and the result.
import { button, disable, h } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";

export function verifyBar({ onCancel, words = sentence, label = "Verified bytes" }) {
  const text = h("span", {}), track = h("progress", { "aria-label": label, max: 1 });
  const cancel = button("Cancel; keep what was found", {
    glyph: "cross",
    text: "Cancel",
    kind: "klw-framed",
    onclick: () => {
      disable(cancel);
      onCancel();
    },
  });
  const dismiss = button("Dismiss", {
    glyph: "cross",
    onclick: () => {
      el.hidden = true;
    },
  });
  const el = h("div", { class: "klw-verify", role: "status", hidden: true }, track, text, cancel, dismiss);
  return {
    el,
    // `changed`: how many of the verified partitions have changed since; `more` is said once it is over.
    show(check, findings, changed = 0, more = "") {
      el.hidden = !check.state && !changed && !more;
      if (el.hidden) return;
      const isRunning = check.state === "running";
      el.dataset.state = check.state ?? "";
      track.hidden = cancel.hidden = !isRunning;
      dismiss.hidden = isRunning;
      if (!isRunning) cancel.disabled = false;
      track.value = check.size ? check.bytes / check.size : 0;
      const sentences = [
        check.state && words(check, findings),
        changed && !isRunning && changedText(changed),
        !isRunning && check.removal,
        !isRunning && more,
      ];
      text.textContent = sentences.filter(Boolean).join(" ");
    },
  };
}

export function changedText(changed) {
  return `${plural(changed, "verified partition")} changed since: verify again to check what was written.`;
}

export function sentence({ state, checked, partitions, bytes: done, size }, findings) {
  const found = findings ? plural(findings, "finding") : "no findings";
  const part = `${count(checked)} of ${plural(partitions, "partition")}`;
  if (state === "running") return `Verifying: ${part}, ${bytes(done)} of ${bytes(size)}, ${found} so far.`;
  if (state === "done") return `Verified ${plural(partitions, "partition")}, ${bytes(size)}: ${found}.`;
  return `${state === "failed" ? "Failed" : "Canceled"} after ${part}: ${found} so far.`;
}

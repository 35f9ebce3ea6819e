// Questions to the kernel by custom messages: an id goes out, the answer comes back with it; null without a kernel.
const PATIENCE_MS = 8000;

export function requests(model, { onError, onSilence, signal }) {
  const waiting = new Map();
  let last = 0;
  const receive = (message, buffers) => {
    const call = waiting.get(message.id);
    if (message.kind === "error") onError(message.text);
    if (!call) return;
    waiting.delete(message.id);
    clearTimeout(call.timer);
    onSilence(false);
    call.resolve(message.kind === "error" ? null : { ...message, buffers });
  };
  model.on("msg:custom", receive);
  model.onLost(() => {
    onSilence(false);
    for (const call of waiting.values()) {
      clearTimeout(call.timer);
      call.resolve(null);
    }
    waiting.clear();
  });
  signal.addEventListener("abort", () => {
    model.off("msg:custom", receive);
    for (const call of waiting.values()) clearTimeout(call.timer);
  });
  return (kind, body = {}) =>
    new Promise((resolve) => {
      const id = ++last;
      if (!model.send({ kind, id, ...body })) return resolve(null);
      waiting.set(id, { resolve, timer: setTimeout(() => onSilence(true), PATIENCE_MS) });
    });
}

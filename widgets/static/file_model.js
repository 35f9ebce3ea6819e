// The model that anywidget gives to `render`, without Jupyter: in a file that `to_html` wrote, in the app, and in tests.
export class FileModel {
  // `answers`: the questions that can be answered without a kernel, by `questionKey`: [content, buffers].
  constructor(state, answers = null) {
    this.state = state;
    this.answers = answers;
    this.listening = new Map();
    this.changed = new Set();
  }
  // Whether there is no kernel and never was one.
  get isFile() {
    return this.answers !== null;
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    this.changed.add(name);
    this.emit(`change:${name}`, value);
  }
  // Take over what Python changed: all values, then the events.
  receive(state) {
    const news = Object.entries(state).filter(([name, value]) => this.state[name] !== value);
    Object.assign(this.state, state);
    for (const [name, value] of news) this.emit(`change:${name}`, value);
  }
  save_changes() {
    const changes = Object.fromEntries(
      [...this.changed].map((name) => [name, this.state[name]]),
    );
    this.changed.clear();
    this.onsave?.(changes);
  }
  on(name, act) {
    if (!this.listening.has(name)) this.listening.set(name, new Set());
    this.listening.get(name).add(act);
  }
  off(name, act) {
    this.listening.get(name)?.delete(act);
  }
  emit(name, ...given) {
    for (const act of [...(this.listening.get(name) ?? [])]) act(...given);
  }
  send(content) {
    this.onsend?.(content);
  }
  // Answer a question from the file; false if its answer is not there.
  answer({ kind, id, ...body }) {
    const found = this.answers[questionKey(kind, body)];
    if (!found) return false;
    const [content, buffers] = found;
    queueMicrotask(() => this.emit("msg:custom", { kind, id, ...content }, buffers));
    return true;
  }
}

// A question's name in a file: as Python's json.dumps([kind, body], sort_keys=True) without spaces.
export const questionKey = (kind, body) =>
  JSON.stringify([
    kind,
    Object.fromEntries(
      Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  ]);

// Values from Python: {"$bytes": base64} becomes a DataView, `shift` bytes after the start of its buffer.
export function revive(value, shift = 0) {
  if (Array.isArray(value)) return value.map((each) => revive(each, shift));
  if (
    value === null || typeof value !== "object" || value instanceof DataView
  ) return value;
  if ("$bytes" in value) {
    const bytes = Uint8Array.from(
      atob(value.$bytes),
      (each) => each.charCodeAt(0),
    );
    const buffer = new ArrayBuffer(bytes.length + shift);
    new Uint8Array(buffer).set(bytes, shift);
    return new DataView(buffer, shift);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, revive(each, shift)]),
  );
}

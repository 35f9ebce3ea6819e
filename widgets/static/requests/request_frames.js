// The bytes of a request or its response, from the widget's state: no kernel is needed to read them.
export const SIDES = ["request", "response"];

// What `bytesView` fetches: bytes [start, stop) with the fields that touch them.
export function frameSource(frame) {
  const whole = frame.data, fields = frame.fields ?? [], masks = frame.masks ?? [];
  return (_inside, start, stop) =>
    Promise.resolve({
      start,
      fields: fields.filter((field) => field.start < stop && field.start + Math.max(1, field.size) > start).map((
        field,
      ) => ({ ...field })),
      masks: masks.filter(([from, to]) => from < stop && to > start),
      decompressed_size: null,
      buffers: [new DataView(whole.buffer, whole.byteOffset + start, stop - start)],
    });
}

// The names and colors of where a request's time goes, in the order in which it passes.
export const TIMES = [
  ["queue", "Queue", "until a thread takes it"],
  ["local", "Local", "read, handled and encoded"],
  ["remote", "Remote", "waits for records or for members of a group"],
  ["send", "Send", "until the client's side has the response"],
];

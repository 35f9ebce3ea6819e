// The requests of RequestView as objects, which of them a filter names, and the cells of the table.
import { bytes, count, duration, timestamp } from "../shared/format.js";

const SLOW_MS = 100;

// A row as the kernel sends it; `times` are queue, local, remote and send, in milliseconds.
export function requestOf(row) {
  const [number, time, kind, version, client, clientId, subject, bytesIn, bytesOut] = row;
  const times = row.slice(9, 13), [total, problem] = row.slice(13);
  return { number, time, kind, version, client, clientId, subject, bytesIn, bytesOut, times, total, problem };
}

// The requests of a kind, "" for any, whose client's address or id has a text in it; the newest first.
export function requestsLike(all, kind, client) {
  const text = client.toLowerCase();
  return all.filter((each) =>
    (!kind || each.kind === kind) && `${each.client} ${each.clientId ?? ""}`.toLowerCase().includes(text)
  ).reverse();
}

// The kinds to choose from: those of the requests, and the one chosen.
export function kindsOf(all, chosen) {
  return [...new Set([...all.map((each) => each.kind ?? ""), chosen])].filter(Boolean).sort();
}

export const requestName = ({ kind, version }) => (kind === null ? "unknown" : `${kind} v${version}`);

export const REQUEST_COLUMNS = [
  { name: "#", width: "54px", number: true },
  { name: "Time (UTC)", width: "96px" },
  { name: "Request", width: "minmax(132px, 1fr)" },
  { name: "Client", width: "minmax(90px, 1fr)" },
  { name: "Topic or group", width: "minmax(90px, 1.2fr)" },
  { name: "In", width: "64px", number: true },
  { name: "Out", width: "70px", number: true },
  { name: "Queue", width: "76px", number: true, title: "ms until a thread took it: RequestQueueTimeMs" },
  { name: "Local", width: "76px", number: true, title: "ms of the server's own work: LocalTimeMs" },
  { name: "Remote", width: "76px", number: true, title: "ms of waiting for others: RemoteTimeMs" },
  { name: "Send", width: "76px", number: true, title: "ms until the response was sent: ResponseSendTimeMs" },
  { name: "Total", width: "80px", number: true, title: "ms in all: TotalTimeMs" },
  { name: "Error", width: "minmax(190px, 1.7fr)" },
];

export function requestCells(request) {
  const { number, time, client, clientId, subject, bytesIn, bytesOut, times, total, problem } = request;
  const isSlow = total - times[2] >= SLOW_MS;
  return [
    { text: count(number), kind: "quiet" },
    { text: timestamp(time).slice(11, 23), title: timestamp(time) },
    { text: requestName(request), kind: "kind" },
    { text: clientId ?? client, title: client },
    { text: subject, title: subject },
    bytes(bytesIn),
    bytes(bytesOut),
    ...times.map((value) => ({ text: duration(value), kind: value < 0.1 ? "quiet" : "" })),
    { text: duration(total), kind: isSlow ? "bad" : "" },
    { text: problem, kind: "bad", title: problem },
  ];
}

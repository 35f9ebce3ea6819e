// The stage of the ReplicationPlayer: a lane per broker with its log, and the messages between lanes.
import { h } from "../shared/dom.js";
import { isRunning } from "./replication_data.js";
import { colorOf } from "./replica_chart.js";

const SVG_NAME = "http://www.w3.org/2000/svg";
const LANE = { client: 64, send: 26, tall: 118, cell: 30, top: 30, least: 15, most: 58, words: 170, message: 230 };
const MOST_CHIPS = 14;

function svg(tag, attributes, ...children) {
  const el = document.createElementNS(SVG_NAME, tag);
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  el.append(...children);
  return el;
}

// Draws the state after step i into `box`.
export function paintReplication(box, data, i) {
  const state = data.state(i), width = box.clientWidth || 900;
  const isNarrow = width < 700,
    left = isNarrow ? 88 : 156,
    least = isNarrow ? 128 : Math.min(380, Math.round(width * 0.31));
  const slots = Math.max(4, data.longest + 1),
    cell = Math.max(LANE.least, Math.min(LANE.most, Math.max(60, width - least - left - 26) / slots));
  const right = Math.min(width - least, Math.round(left + slots * cell + LANE.words)), room = width - right;
  const geometry = {
    width,
    left,
    right,
    room,
    cell,
    isNarrow,
    x: (offset) => left + (Math.max(state.first, offset) - state.first) * cell,
  };
  const tall = LANE.client + data.brokers.length * LANE.tall;
  const middle = (
    broker,
  ) => (broker < 0 ? LANE.send : LANE.client + data.brokers.indexOf(broker) * LANE.tall + LANE.top + LANE.cell / 2);
  const picture = svg("svg", { width, height: tall, "aria-hidden": "true" });
  const labels = [];
  picture.append(axisOf(state, slots, geometry));
  labels.push(clientChips(state, geometry));
  state.replicas.forEach((replica, k) => {
    const top = LANE.client + k * LANE.tall;
    picture.append(logOf(replica, { ...geometry, top, data, i, state }));
    labels.push(nameOf(replica, state, { ...geometry, top }));
  });
  picture.append(svg("line", { class: "klw-messages", x1: right - 6, x2: right - 6, y1: 0, y2: tall }));
  const messages = messagesOf(state, i);
  messages.forEach((message, k) => {
    const step = Math.min(LANE.message, (room - 8) / messages.length),
      x = right + 12 + k * step,
      [from, to] = [middle(message.from), middle(message.to)];
    picture.append(arrow(message, x, from, to));
    labels.push(
      h(
        "div",
        {
          class: "klw-message",
          "data-kind": message.kind,
          style: `left:${x + 8}px;top:${(from + to) / 2}px;width:${step - 16}px`,
          title: message.text,
        },
        message.title ? h("b", {}, message.title) : null,
        message.text,
      ),
    );
  });
  box.style.height = `${tall}px`;
  box.replaceChildren(picture, ...labels);
  box.setAttribute("aria-label", data.inWords(i));
}

// The offsets above the lanes.
function axisOf({ first }, slots, { left, right, x, cell }) {
  const group = svg(
    "g",
    { class: "klw-offsets-axis" },
    svg("line", { class: "klw-axis", x1: left, x2: right - 14, y1: LANE.client - 1, y2: LANE.client - 1 }),
  );
  const every = cell >= 26 ? 1 : 5;
  for (let offset = Math.ceil(first / every) * every; offset < first + slots; offset += every) {
    const label = svg("text", { x: x(offset) + cell / 2, y: LANE.client - 6 });
    label.textContent = String(offset);
    group.append(label);
  }
  const name = svg("text", { class: "klw-axis-name", x: left - 10, y: LANE.client - 6 });
  name.textContent = "offset";
  group.append(name);
  return group;
}

// What clients sent: stored, waiting or refused.
function clientChips({ produced }, { left, right }) {
  const shown = produced.slice(-Math.max(2, Math.min(MOST_CHIPS, Math.floor((right - left - 40) / 54)))),
    before = produced.length - shown.length;
  const chips = shown.map(([name, fate, error]) =>
    h("span", {
      class: "klw-sent",
      "data-fate": fate,
      title: fate === "stored"
        ? `${name} is acknowledged`
        : fate === "waits"
        ? `${name} has no answer yet`
        : `${name}: ${error}`,
    }, `${name} ${{ stored: "✓", waits: "…", refused: "×" }[fate]}`)
  );
  return h(
    "div",
    { class: "klw-clients", style: `width:${right - 16}px` },
    h("strong", { style: `width:${left - 14}px` }, "Clients"),
    before ? h("small", {}, `${before} earlier`) : null,
    ...(chips.length ? chips : [h("small", {}, "nothing sent yet")]),
  );
}

function nameOf(replica, { isr, elr }, { top, left, isNarrow }) {
  const { broker, role, isolated, epoch, checkpoint } = replica;
  const isMember = isr.includes(broker), isEligible = elr.includes(broker);
  const facts = [
    role === "leader" || role === "follower" ? `epoch ${epoch}` : "",
    !isNarrow && checkpoint > 0 ? `checkpoint ${checkpoint}` : "",
  ];
  return h(
    "div",
    { class: "klw-broker", style: `top:${top + 8}px;width:${left - 16}px`, "data-runs": String(isRunning(role)) },
    h("strong", {}, `Broker ${broker}`),
    h(
      "span",
      { class: "klw-role", "data-role-name": isolated ? "isolated" : role },
      isolated ? `${role}, isolated` : role,
    ),
    h("small", {}, facts.filter(Boolean).join(", ")),
    h(
      "small",
      { class: "klw-isr", "data-member": isMember ? "isr" : isEligible ? "elr" : "none" },
      isMember ? "in sync" : isEligible ? "eligible" : "not in sync",
    ),
  );
}

// Records in cells by offset; marks for log end offset, high watermark, and what a leader knows of its followers.
function logOf(replica, { top, left, right, x, cell, data, i, state }) {
  const { records, start, leo, hw, role, remote } = replica,
    runs = isRunning(role),
    y = top + LANE.top,
    differs = data.differing(i, replica);
  const group = svg("g", { class: "klw-log", "data-runs": String(runs), "data-leader": String(role === "leader") });
  const text = (content, attributes) => {
    const el = svg("text", attributes);
    el.textContent = content;
    return el;
  };
  const titled = (el, content) => {
    const title = svg("title", {});
    title.textContent = content;
    el.append(title);
    return el;
  };
  group.append(
    svg("line", { class: "klw-axis", x1: 0, x2: right - 14, y1: top + LANE.tall - 1, y2: top + LANE.tall - 1 }),
  );
  group.append(svg("line", { class: "klw-rail", x1: left, x2: right - 18, y1: y + LANE.cell, y2: y + LANE.cell }));
  for (const [offset, epoch, name] of records) {
    const color = colorOf(data, epoch);
    const one = svg("g", {
      class: "klw-offset",
      "data-differs": String(differs.has(offset)),
      "data-committed": String(runs && offset < hw),
    });
    one.append(
      svg("rect", { x: x(offset) + 1, y, width: cell - 2, height: LANE.cell, rx: 3, style: `--epoch:${color}` }),
    );
    if (differs.has(offset)) {
      one.append(
        svg("path", {
          class: "klw-differs",
          d: `M${x(offset) + 4} ${y + LANE.cell - 4}L${x(offset) + cell - 4} ${y + 4}`,
        }),
      );
    }
    if (cell > 20) one.append(text(shortName(name, cell), { x: x(offset) + cell / 2, y: y + 13, class: "klw-value" }));
    if (cell > 20) one.append(text(`e${epoch}`, { x: x(offset) + cell / 2, y: y + 25, class: "klw-epoch" }));
    group.append(
      titled(
        one,
        `Offset ${offset}: ${name}, leader epoch ${epoch}${
          differs.has(offset) ? "; the leader has another record here" : ""
        }`,
      ),
    );
  }
  const mark = (offset, kind, label, at, from, to, words) => {
    const isLate = x(offset) > right - 74;
    group.append(
      titled(
        svg(
          "g",
          { class: "klw-spot", "data-mark": kind },
          svg("line", { x1: x(offset), x2: x(offset), y1: from, y2: to }),
          text(label, { x: x(offset) + (isLate ? -4 : 4), y: at, "text-anchor": isLate ? "end" : "start" }),
        ),
        words,
      ),
    );
  };
  mark(leo, "leo", `LEO ${leo}`, y - 9, y - 19, y + LANE.cell, `Log end offset ${leo}: the offset of the next record`);
  if (runs && hw >= 0) {
    group.append(
      svg("rect", {
        class: "klw-committed",
        x: x(start),
        y: y + LANE.cell + 2,
        width: Math.max(0, x(hw) - x(start)),
        height: 4,
      }),
    );
    mark(
      hw,
      "hw",
      `HW ${hw}`,
      y + LANE.cell + 18,
      y + LANE.cell,
      y + LANE.cell + 20,
      `High watermark ${hw}: consumers can read the records before it`,
    );
  }
  if (start > 0) mark(start, "start", "", 0, y - 6, y + LANE.cell + 6, `Log start offset ${start}`);
  const byEnd = new Map();
  for (const [id, end] of remote) byEnd.set(end, [...(byEnd.get(end) ?? []), id]);
  [...byEnd].sort(([a], [b]) => b - a).forEach(([end, ids], k) => {
    const at = x(Math.max(state.first, end)),
      low = y + LANE.cell + 24 + k * 11,
      known = end < 0 ? "not known" : String(end);
    group.append(
      titled(
        svg(
          "g",
          { class: "klw-spot", "data-mark": "remote" },
          svg("path", {
            d: `M${at - 4} ${low + 8}L${at + 4} ${low + 8}L${at} ${low + 1}Z`,
            "data-known": String(end >= 0),
          }),
          text(`remote ${ids.join(", ")}: ${known}`, {
            x: at > right - 150 ? at - 8 : at + 8,
            y: low + 9,
            "text-anchor": at > right - 150 ? "end" : "start",
          }),
        ),
        `The log end offset of broker ${ids.join(", ")}, as the leader knows it from its last fetch: ${known}`,
      ),
    );
  });
  return group;
}

function shortName(name, cell) {
  const most = Math.max(2, Math.floor((cell - 6) / 7));
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}

// What moved in this step, then what is under way: answers that travel, requests that wait.
function messagesOf({ moves = [], under_way: underWay, waiting }) {
  const moved = moves.map(([from, to, text, isLost]) => ({
    from,
    to,
    text,
    kind: isLost ? "lost" : "moved",
    title: isLost ? "lost" : "",
  }));
  const coming = underWay.filter(([, , , answers]) => answers).map(([follower, leader, , answers]) => ({
    from: leader,
    to: follower,
    text: answers,
    kind: "travels",
    title: "on its way",
  }));
  const asked = new Set(moves.filter(([, , , isLost]) => !isLost).map(([from, to]) => `${from} ${to}`));
  const parked = underWay.filter(([, , , answers]) => !answers).map(([follower, leader, asks]) => ({
    from: follower,
    to: leader,
    text: asks,
    kind: "waits",
    title: "waits",
  }));
  const isNew = ({ from, to }) => asked.has(`${from} ${to}`);
  for (const each of parked) {
    if (isNew(each)) moved.find(({ from, to }) => from === each.from && to === each.to).title = "arrives and waits";
  }
  const producers = waiting.filter(([, kind]) => kind === "produce").map(([broker, , text]) => ({
    from: -1,
    to: broker,
    text,
    kind: "waits",
    title: "waits",
  }));
  const sent = moved.find(({ from, kind }) => from === -1 && kind === "moved"),
    isAnswered = sent && moved.some(({ from, to }) => from === sent.to && to === -1);
  const mine = sent && !isAnswered ? producers.findLast(({ to }) => to === sent.to) : null;
  if (mine) sent.title = `waits ${mine.text.replace("produce ", "")}`;
  const later = producers.filter((each) => each !== mine);
  return [...moved, ...coming, ...parked.filter((each) => !isNew(each)), ...later];
}

function arrow({ kind }, x, from, to) {
  const sign = Math.sign(to - from) || 1,
    end = kind === "lost" ? from + (to - from) * 0.62 : kind === "travels" ? from + (to - from) * 0.7 : to - sign * 3;
  const group = svg(
    "g",
    { class: "klw-arrow", "data-kind": kind },
    svg("line", { x1: x, x2: x, y1: from, y2: end }),
    svg("circle", { cx: x, cy: from, r: 2.5 }),
  );
  if (kind === "lost") {
    group.append(
      svg("path", { d: `M${x - 5} ${end - 5}L${x + 5} ${end + 5}M${x + 5} ${end - 5}L${x - 5} ${end + 5}` }),
    );
  } else if (kind === "waits") group.append(svg("rect", { x: x - 4.5, y: end - 4.5, width: 9, height: 9, rx: 1.5 }));
  else {group.append(
      svg("path", {
        class: "klw-head-of",
        d: `M${x - 4.5} ${end - sign * 7}L${x + 4.5} ${end - sign * 7}L${x} ${end}Z`,
      }),
    );}
  return group;
}

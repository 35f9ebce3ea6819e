// The page of `kafka-workbench app`: it shows widgets that a server makes, without Jupyter. Messages are those of
// ipywidgets; widgets/app/page.py has the other half.
import { LiveModel } from "./live_model.js";
import { viewOf } from "./views.js";

const state = document.getElementById("state"),
  screen = document.getElementById("screen");
const models = new Map();

// The token has done its work: the cookie that it left lets this page in from now on.
function forgetToken() {
  if (new URLSearchParams(location.search).has("token")) {
    history.replaceState(null, "", location.pathname + location.hash);
  }
}

// A frame: the size of a JSON object, the object, and the buffers whose sizes are in it.
function unpack(frame) {
  const size = new DataView(frame).getUint32(0);
  const message = JSON.parse(
    new TextDecoder().decode(new Uint8Array(frame, 4, size)),
  );
  let at = 4 + size;
  const buffers = message.sizes.map((each) => {
    at += each;
    return new DataView(frame, at - each, each);
  });
  return { message, buffers };
}

// A state whose bytes came apart from it, with them.
function whole({ state, buffer_paths: paths = [] }, buffers) {
  paths.forEach((path, number) => {
    const inside = path.slice(0, -1).reduce((part, name) => part[name], state);
    inside[path.at(-1)] = buffers[number];
  });
  return state;
}

function say(title, text, act) {
  const told = document.createElement("span");
  told.textContent = text;
  const head = document.createElement("strong");
  head.textContent = title;
  state.replaceChildren(head, told);
  if (act) {
    const again = document.createElement("button");
    again.textContent = act.name;
    again.addEventListener("click", act.run);
    state.append(again);
  }
  state.hidden = false;
}

function listen(socket) {
  const send = (message) => {
    if (socket.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify(message));
    }
  };
  const on = {
    open({ id, data }, buffers) {
      models.set(
        id,
        new LiveModel(whole(data, buffers), (data) => send({ id, data })),
      );
    },
    msg({ id, data }, buffers) {
      if (data.method === "update") {
        models.get(id)?.receive(whole(data, buffers));
      } else if (data.method === "custom") {
        models.get(id)?.emit("msg:custom", data.content, buffers);
      }
    },
    done({ id }) {
      models.get(id)?.flush();
    },
    close({ id }) {
      models.delete(id);
    },
    show({ id }) {
      state.hidden = true;
      state.className = "klw-pagebanner";
      screen.replaceChildren(viewOf(models.get(id), models).el);
    },
    problem({ text }) {
      const dismiss = { name: "Dismiss", run: () => state.hidden = true };
      say("This did not work", text, screen.firstChild ? dismiss : null);
    },
  };
  socket.binaryType = "arraybuffer";
  socket.addEventListener("message", ({ data }) => {
    const { message, buffers } = unpack(data);
    on[message.type](message, buffers);
  });
  socket.addEventListener("close", () => {
    const isProblem = !screen.firstChild && !state.querySelector("i");
    if (isProblem) return; // it says why nothing is shown
    say(
      "This page has lost its connection",
      "The command was ended, or this computer slept. What is shown remains.",
      { name: "Open it again", run: () => location.reload() },
    );
    for (const model of models.values()) model.lose();
  });
}

forgetToken();
const address = new URL("channel", location.href);
address.protocol = address.protocol.replace("http", "ws");
listen(new WebSocket(address.href.replace(/#.*/, "")));
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload(); // on the way back to a page that has ended
});

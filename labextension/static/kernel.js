// The kernel that reads what is opened: one for a page, started with the first document and ended with the last.

const LISTEN = "from widgets.jupyterlab import listen; listen()";
const TARGET = "kafka-log-workbench"; // widgets/jupyterlab.py has it, too
const NAME = "Kafka Log Workbench";

const GONE = new Set(["starting", "restarting", "autorestarting", "dead", "terminating"]); // of one that was ready

const NOT_INSTALLED = {
  problem: "The kernel's Python has no Kafka Log Workbench.",
  hint: "Install it where the kernel runs: pip install 'kafka-log-workbench[notebook]'",
};

// What a document shows instead of a screen.
export class Problem extends Error {
  constructor({ problem, hint = "" }) {
    super(problem);
    this.hint = hint;
  }
}

export class Kernel {
  #services;
  #modules;
  #rendermime;
  #started = null;
  #documents = new Set();

  constructor(services, modules, rendermime) {
    this.#services = services;
    this.#modules = modules;
    this.#rendermime = rendermime;
  }

  // Show a path; `document.onGone` is called when the kernel ended. Its answers come in the order of the questions.
  async open(path, document) {
    this.#documents.add(document);
    this.#started ??= this.#start().catch((error) => {
      this.#started = null;
      throw error;
    });
    const { session, manager } = await this.#started;
    const channel = new Channel(session.session.kernel);
    const { model_id } = await channel.first({ path });
    const view = await manager.create_view(await manager.get_model(model_id));
    return { widget: view.luminoWidget, channel };
  }

  // A document closed; the kernel ends after the last.
  async close(document) {
    this.#documents.delete(document);
    if (this.#documents.size || !this.#started) return;
    const started = this.#started;
    this.#started = null;
    const { session, registration } = await started.catch(() => ({}));
    registration?.dispose();
    session?.dispose(); // which shuts the kernel down
  }

  async #start() {
    const { SessionContext } = this.#modules.apputils, { kernels, sessions, kernelspecs } = this.#services;
    const widgets = await this.#modules.widgetManager();
    if (!widgets) {
      throw new Problem({
        problem: "JupyterLab shows no widgets.",
        hint: "Install ipywidgets where JupyterLab runs, and see that jupyter labextension list shows it as enabled.",
      });
    }
    await kernelspecs.ready;
    const session = new SessionContext({
      kernelManager: kernels,
      sessionManager: sessions,
      specsManager: kernelspecs,
      path: `kafka-log-workbench-${Date.now()}-${Math.random()}`,
      name: NAME,
      type: "console",
      kernelPreference: { name: pythonOf(kernelspecs.specs), shutdownOnDispose: true },
    });
    try {
      await session.initialize();
      await session.ready;
      await listen(session.session.kernel);
    } catch (error) {
      session.dispose();
      throw error;
    }
    this.#endWithPage(session);
    const { manager, registration } = widgetManagerOf(session, widgets, this.#rendermime.clone());
    let process = null; // the kernel's session of messages: another one since a restart that nothing else shows
    const onGone = () => {
      session.iopubMessage.disconnect(onMessage);
      session.statusChanged.disconnect(onStatus);
      session.kernelChanged.disconnect(onGone);
      registration.dispose();
      setTimeout(() => session.dispose());
      this.#started = null;
      for (const each of this.#documents) each.onGone();
    };
    const onStatus = (_sender, status) => GONE.has(status) && onGone();
    const onMessage = (_sender, { header }) => {
      if (header.msg_type !== "status") return;
      process ??= header.session;
      if (process !== header.session) onGone();
    };
    session.iopubMessage.connect(onMessage);
    session.statusChanged.connect(onStatus);
    session.kernelChanged.connect(onGone);
    return { session, registration, manager: await manager };
  }

  // End the kernel when the page closes or is loaded again: another page cannot take over its widgets.
  #endWithPage(session) {
    const { ServerConnection } = this.#modules.services, settings = this.#services.serverSettings;
    const end = ({ persisted }) => {
      if (persisted || !session.session) return;
      const url = new URL(`api/sessions/${session.session.id}`, settings.baseUrl).href;
      ServerConnection.makeRequest(url, { method: "DELETE", keepalive: true }, settings);
    };
    globalThis.addEventListener("pagehide", end);
    session.disposed.connect(() => globalThis.removeEventListener("pagehide", end));
  }
}

// Questions and answers about one document: the path goes as data, and is never part of a code.
class Channel {
  #comm;
  #waiting = [];

  constructor(kernel) {
    this.#comm = kernel.createComm(TARGET);
    this.#comm.onMsg = ({ content }) => this.#waiting.shift()?.(content.data);
  }

  first(data) {
    return this.#answer(() => this.#comm.open(data));
  }

  ask(data) {
    return this.#answer(() => this.#comm.send(data));
  }

  close() {
    if (!this.#comm.isDisposed) this.#comm.close();
  }

  async #answer(send) {
    const answer = new Promise((resolve) => this.#waiting.push(resolve));
    send();
    const data = await answer;
    if (data.problem) throw new Problem(data);
    return data;
  }
}

async function listen(kernel) {
  const { content } = await kernel.requestExecute({ code: LISTEN, silent: true, store_history: false }).done;
  if (content.status === "ok") return;
  if (content.ename === "ModuleNotFoundError") throw new Problem(NOT_INSTALLED);
  throw new Problem({ problem: content.evalue || content.ename || "The kernel did not start." });
}

// The manager of the kernel's widgets. It is made for notebooks: what it asks of one is answered for the session.
function widgetManagerOf(session, { registerWidgetManager }, rendermime) {
  const nothing = { connect: () => true, disconnect: () => true };
  const context = {
    sessionContext: session,
    saveState: nothing,
    model: { getMetadata: () => undefined, setMetadata: () => {} },
    path: session.path,
    urlResolver: { resolveUrl: (url) => Promise.resolve(url), getDownloadUrl: (path) => Promise.resolve(path) },
  };
  let registration;
  const found = new Promise((resolve) => {
    const view = {
      set manager(given) { // what every renderer of widgets has
        resolve(given);
      },
    };
    registration = registerWidgetManager(context, rendermime, [view]);
  });
  const manager = found.then(async (given) => {
    if (!given.restoredStatus) await new Promise((resolve) => given.restored.connect(() => resolve()));
    return given;
  });
  return { manager, registration };
}

// Return the name of the kernel of Python: JupyterLab's default if it is one.
export function pythonOf(specs) {
  const known = specs?.kernelspecs ?? {};
  const names = [specs?.default, ...Object.keys(known)];
  const name = names.find((each) => known[each]?.language?.toLowerCase() === "python");
  if (name) return name;
  throw new Problem({ problem: "JupyterLab has no kernel of Python.", hint: "pip install ipykernel" });
}

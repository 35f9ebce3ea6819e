// A document of JupyterLab's that shows a file or a folder of Kafka's in the workbench.
import { Problem } from "./kernel.js";
import { tabName } from "./names.js";

export const FACTORY = "Kafka Log Workbench";
export const FOLDER_FACTORY = "Kafka Log Workbench (directory)";
const ONLY_READ = "Files of Kafka's are only read.";

// Return the factory of models: JupyterLab reads no content for them, and can write none.
export function modelFactory({ docregistry }, contentType) {
  class NeverWritten extends docregistry.DocumentModel {
    // JupyterLab then makes no checkpoint of it, and older versions do not save it.
    get collaborative() {
      return true;
    }

    toString() {
      throw new Error(ONLY_READ);
    }

    toJSON() {
      return this.toString();
    }
  }
  return {
    name: `kafka-log-workbench-${contentType}`,
    contentType,
    fileFormat: null,
    collaborative: false,
    isDisposed: false,
    dispose() {},
    preferredLanguage: () => "",
    createNew: (options) => new NeverWritten(options),
  };
}

// Return the factory of documents, by the name of its models.
export function documentFactory(modules, options, { kernel, contents, openNotebook }) {
  const { docregistry, lumino, ui } = modules;
  // JupyterLab calls a tab as its file, and renames the file if the tab is called something else.
  class Document extends docregistry.DocumentWidget {
    _onPathChanged({ localPath }) {
      this.title.label = tabName(localPath);
    }

    _onTitleChanged() {}
  }
  class Factory extends docregistry.ABCWidgetFactory {
    createNewWidget(context) {
      onlyRead(context);
      const content = new lumino.Panel();
      content.addClass("klw-lab");
      const document = new Document({ content, context });
      const screen = new Screen(content, { kernel, contents, path: () => context.path });
      document.toolbar.addItem(
        "notebook",
        new ui.ToolbarButton({
          label: "Open This View as a Notebook",
          tooltip: "Make a notebook with the code of what is shown",
          onClick: () => screen.notebook().then(openNotebook, (error) => screen.complain(error)),
        }),
      );
      context.ready.then(() => screen.show());
      document.disposed.connect(() => screen.end());
      return document;
    }
  }
  return new Factory({ readOnly: true, ...options });
}

// JupyterLab saves documents with Ctrl+S, and asks for their checkpoints, for which its server makes a folder beside the
// file. Nothing of that happens here.
function onlyRead(context) {
  context.save = () => Promise.resolve();
  context.saveAs = () => Promise.resolve(false);
  context.rename = () => Promise.resolve();
  context.createCheckpoint = () => Promise.resolve({ id: "", last_modified: "" });
  context.listCheckpoints = () => Promise.resolve([]);
}

// What is in a document: a screen of the workbench, or why there is none.
class Screen {
  #content;
  #options;
  #channel = null;
  #isOver = false;

  constructor(content, options) {
    this.#content = content;
    this.#options = options;
  }

  async show() {
    const { kernel, contents } = this.#options, path = this.#options.path();
    this.#say("status", [["i", ""], ["p", `Reading ${contents.localPath(path) || "the root of JupyterLab"}`]]);
    try {
      if (contents.driveName(path)) {
        throw new Problem({ problem: "This file is not on JupyterLab's server.", hint: "Copy it there first." });
      }
      const { widget, channel } = await kernel.open(contents.localPath(path), this);
      this.#channel = channel;
      if (this.#isOver) return this.end();
      this.#content.node.replaceChildren();
      this.#content.addWidget(widget);
    } catch (error) {
      this.#fail(error);
    }
  }

  async notebook() {
    if (!this.#channel) throw new Problem({ problem: "Nothing is shown yet." });
    return (await this.#channel.ask({ kind: "notebook" })).notebook;
  }

  // Say above the screen why something was not done.
  complain(error) {
    const bar = element("div", { className: "klw-lab-complaint", role: "alert" }, element("span", {}, error.message));
    bar.append(element("button", { onclick: () => bar.remove() }, "Close"));
    this.#content.node.querySelector(".klw-lab-complaint")?.remove();
    this.#content.node.prepend(bar);
  }

  onGone() {
    this.#channel = null;
    this.#fail(new Problem({ problem: "The kernel that read this ended.", hint: "Nothing was lost: it only reads." }));
  }

  end() {
    this.#isOver = true;
    this.#channel?.close();
    this.#options.kernel.close(this);
  }

  #fail(error) {
    if (this.#isOver) return;
    const again = element("button", { onclick: () => this.show() }, "Try again");
    this.#say("alert", [["strong", "This cannot be shown"], ["p", error.message], ["p", error.hint ?? ""]], again);
  }

  #say(role, lines, ...more) {
    for (const each of [...this.#content.widgets]) each.dispose();
    const rows = lines.map(([tag, text]) => element(tag, {}, text));
    this.#content.node.replaceChildren(element("div", { className: "klw-lab-state", role }, ...rows, ...more));
  }
}

// Names of files only ever become text nodes.
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

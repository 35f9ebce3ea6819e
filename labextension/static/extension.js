// The extension of JupyterLab: Kafka's files and folders open in the workbench.
import { documentFactory, FACTORY, FOLDER_FACTORY, modelFactory } from "./document.js";
import { icons } from "./icons.js";
import { Kernel, pythonOf } from "./kernel.js";
import { kindOf, KINDS, typeOf } from "./names.js";
import { sharedModules } from "./shared_modules.js";

const PARTITION = "^.+-\\d+(\\.[0-9a-f]{32}-(delete|stray|future))?$";
const OF_A_LOG_DIRECTORY = /^((cleaner|recovery-point|log-start|replication)-offset-checkpoint|meta\.properties)$/;

const OF_A_PARTITION = /^(\d{20}\.log|partition\.metadata)$/;

const OPEN_FOLDER = "kafka-log-workbench:open-directory";
const OPEN_HERE = "kafka-log-workbench:open-current-directory";
const OPEN = "kafka-log-workbench:open";

// Return the plugins, made of the modules that JupyterLab shares.
export async function plugins(scope) {
  const shared = sharedModules(scope);
  const modules = { widgetManager: () => shared("@jupyter-widgets/jupyterlab-manager") };
  const names = {
    application: "@jupyterlab/application",
    apputils: "@jupyterlab/apputils",
    docmanager: "@jupyterlab/docmanager",
    docregistry: "@jupyterlab/docregistry",
    filebrowser: "@jupyterlab/filebrowser",
    launcher: "@jupyterlab/launcher",
    lumino: "@lumino/widgets",
    rendermime: "@jupyterlab/rendermime",
    services: "@jupyterlab/services",
    ui: "@jupyterlab/ui-components",
  };
  await Promise.all(Object.entries(names).map(async ([key, name]) => modules[key] = await shared(name)));
  const wanted = {
    restorer: modules.application?.ILayoutRestorer,
    palette: modules.apputils?.ICommandPalette,
    browsers: modules.filebrowser?.IFileBrowserFactory,
    launcher: modules.launcher?.ILauncher,
  };
  const optional = Object.entries(wanted).filter(([, token]) => token);
  return [{
    id: "kafka-log-workbench:plugin",
    description: "Opens the files and directories of a Kafka log.",
    autoStart: true,
    requires: [modules.rendermime.IRenderMimeRegistry],
    optional: optional.map(([, token]) => token),
    activate(app, rendermime, ...given) {
      activate(app, rendermime, modules, Object.fromEntries(optional.map(([name], i) => [name, given[i]])));
    },
  }];
}

function activate(app, rendermime, modules, { restorer, palette, browsers, launcher }) {
  const { docRegistry: registry, commands, serviceManager: services } = app, icon = icons(modules);
  addStyle();
  const kinds = Object.keys(KINDS).map(typeOf);
  for (const [kind, [displayName, pattern]] of Object.entries(KINDS)) {
    registry.addFileType({
      name: typeOf(kind),
      displayName,
      pattern,
      fileFormat: null,
      mimeTypes: ["application/octet-stream"],
      icon: icon[kind],
    });
  }
  registry.addFileType({ name: "kafka-log-copy", displayName: "Log", extensions: [".log"], mimeTypes: ["text/plain"] });

  const tracker = new modules.apputils.WidgetTracker({ namespace: "kafka-log-workbench" });
  const open = (path, factory) => commands.execute("docmanager:open", { path, factory });
  const context = {
    kernel: new Kernel(services, modules, rendermime),
    contents: services.contents,
    openNotebook: (notebook) => openNotebook(notebook, services, open),
  };
  for (const [name, contentType] of [[FACTORY, "file"], [FOLDER_FACTORY, "directory"]]) {
    const models = modelFactory(modules, contentType), isFile = contentType === "file";
    registry.addModelFactory(models);
    const fileTypes = isFile ? [...kinds, "kafka-log-copy"] : [];
    const defaultFor = isFile ? kinds : [];
    const factory = documentFactory(modules, { name, modelName: models.name, fileTypes, defaultFor }, context);
    factory.widgetCreated.connect((_factory, made) => {
      made.title.icon = isFile ? icon[kindOf(made.context.path)] : icon.folder;
      made.context.pathChanged.connect(() => tracker.save(made));
      tracker.add(made);
    });
    registry.addWidgetFactory(factory);
  }
  restorer?.restore(tracker, {
    command: "docmanager:open",
    args: ({ context: { path, factoryName } }) => ({
      path,
      factory: factoryName.endsWith("-file") ? FACTORY : FOLDER_FACTORY,
    }),
    name: ({ context: { path } }) => path,
  });

  const browser = () => browsers?.tracker.currentWidget;
  const folders = () => [...(browser()?.selectedItems() ?? [])].filter((each) => each.type === "directory");
  commands.addCommand(OPEN_FOLDER, {
    label: "Open in Kafka Log Workbench",
    icon: icon.page,
    execute: () => Promise.all(folders().map(({ path }) => open(path, FOLDER_FACTORY))),
  });
  commands.addCommand(OPEN_HERE, {
    label: "Open This Directory in Kafka Log Workbench",
    icon: icon.page,
    execute: () => open(browser()?.model.path ?? "", FOLDER_FACTORY),
  });
  commands.addCommand(OPEN, {
    label: ({ isPalette }) => isPalette ? "Open a Kafka Log Directory or File" : "Kafka Log Workbench",
    caption: "Show what is in a log directory, a partition or a file of Kafka's",
    icon: icon.page,
    execute: async ({ cwd }) => {
      const found = await modules.apputils.InputDialog.getText({
        title: "Open in Kafka Log Workbench",
        label: "Log directory, partition folder or file, from JupyterLab's root",
        text: cwd ?? browser()?.model.path ?? "",
        okLabel: "Open",
      });
      if (!found.button.accept) return;
      const path = (found.value ?? "").replace(/^\/+|\/+$/g, "");
      const { type } = await services.contents.get(path, { content: false });
      return open(path, type === "directory" ? FOLDER_FACTORY : FACTORY);
    },
  });
  const folder = '.jp-DirListing-item[data-isdir="true"]';
  app.contextMenu.addItem({ command: OPEN_FOLDER, selector: folder, rank: 1.5 });
  app.contextMenu.addItem({ command: OPEN_HERE, selector: ".jp-DirListing-content", rank: 1.6 });
  palette?.addItem({ command: OPEN, category: "Kafka", args: { isPalette: true } });
  launcher?.add({ command: OPEN, category: "Other", rank: 1 });
  if (browsers) markPartitions(browsers.tracker, { registry, icon, openButton });
  openFromAddress(app, open);

  function openButton() {
    const button = new modules.ui.ToolbarButton({
      icon: icon.page,
      label: "Open",
      tooltip: "Open this directory in Kafka Log Workbench",
      onClick: () => commands.execute(OPEN_HERE),
    });
    button.addClass("klw-lab-open");
    return button;
  }
}

// JupyterLab's address of a directory, which `kafka-workbench lab DIR` begins with, shows it in the file browser. One of
// Kafka's opens, too.
async function openFromAddress({ restored, serviceManager: { contents } }, open) {
  const [, named] = globalThis.location.pathname.match(/\/lab\/(?:workspaces\/[^/]+\/)?tree\/(.+)$/) ?? [];
  if (!named) return;
  const path = decodeURIComponent(named);
  await restored;
  const { type, content } = await contents.get(path).catch(() => ({}));
  const names = type === "directory" ? content.map(({ name }) => name) : [];
  if (names.some(isOfADirectory)) open(path, FOLDER_FACTORY);
}

// Give the folders of partitions their icon while a log directory is listed; elsewhere, folders of such names are not
// Kafka's. The file browser has a button that opens the directory of Kafka's that it shows.
function markPartitions(tracker, { registry, icon, openButton }) {
  let marked = null;
  const look = (model) => {
    const isLogDirectory = names(model).some((name) => OF_A_LOG_DIRECTORY.test(name));
    if (isLogDirectory === (marked !== null)) return;
    marked?.dispose();
    marked = isLogDirectory
      ? registry.addFileType({
        name: "kafka-partition",
        displayName: "Kafka partition",
        pattern: PARTITION,
        contentType: "directory",
        fileFormat: null,
        icon: icon.folder,
      })
      : null;
  };
  const follow = ({ model, toolbar }) => {
    const button = openButton();
    toolbar.addItem("kafka-log-workbench", button);
    const show = () => button.setHidden(!names(model).some(isOfADirectory));
    for (const act of [look, show]) {
      model.refreshed.connect(act);
      act(model);
    }
  };
  tracker.forEach(follow);
  tracker.widgetAdded.connect((_tracker, browser) => follow(browser));
}

const names = (model) => [...model.items()].map(({ name }) => name);
const isOfADirectory = (name) => OF_A_LOG_DIRECTORY.test(name) || OF_A_PARTITION.test(name);

async function openNotebook(notebook, { contents, kernelspecs: { specs } }, open) {
  const name = pythonOf(specs), { display_name, language } = specs.kernelspecs[name];
  const content = { ...notebook, metadata: { kernelspec: { name, display_name, language } } };
  const { path } = await contents.newUntitled({ path: "", type: "notebook" });
  await contents.save(path, { type: "notebook", format: "json", content });
  return open(path);
}

function addStyle() {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL("./style.css", import.meta.url).href;
  document.head.append(link);
}

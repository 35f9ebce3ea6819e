// What JupyterLab loads first of an extension: a container of module federation, written by hand. JupyterLab gives it
// the modules that all extensions share, then asks it for the extension, which is a plain ES module beside this file.
(() => {
  const here = document.currentScript.src;
  let scope = {};
  const container = {
    init(given) {
      scope = given;
    },
    async get() {
      const { plugins } = await import(new URL("./extension.js", here).href);
      const made = await plugins(scope);
      return () => ({ __esModule: true, default: made });
    },
  };
  (globalThis._JUPYTERLAB ??= {})["kafka-log-workbench"] = container;
})();

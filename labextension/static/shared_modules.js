// The modules of JupyterLab that an extension shares, from the scope of module federation.

// Return a function that gives a module by its name, null if this JupyterLab has none.
export function sharedModules(scope) {
  return async (name) => {
    const versions = Object.entries(scope[name] ?? {});
    if (!versions.length) return null;
    versions.sort(([one, first], [two, second]) => !!second.loaded - !!first.loaded || byNumber(two, one));
    const entry = versions[0][1];
    entry.loaded = true; // others then take this one, so that all have the same classes and tokens
    return (await entry.get())();
  };
}

function byNumber(one, two) {
  return one.localeCompare(two, "en", { numeric: true });
}

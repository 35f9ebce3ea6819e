// From the model to the explorer's views: the directory, the partition's segments, and a file that is open.
import { fillName } from "../shared/dom.js";
import { stateNote } from "../shared/state.js";

export function showDirectory({ model, head, tree, selection }) {
  const sent = model.get("_directory");
  head.title.textContent = sent.title;
  head.title.title = sent.path;
  head.summary.textContent = sent.summary;
  tree.setNodes(sent.nodes, { openAll: sent.nodes.length <= 60 });
  tree.setSelected(model.get("file") ?? selection.chosen().partition);
}

export function showFile(view) {
  const { model, views, file, tree, selection } = view, sent = model.get("_file");
  if (sent) views.before(file.el);
  else file.el.remove();
  file.show(sent);
  tree.setSelected(sent?.path ?? selection.chosen().partition);
  showStrip(view);
}

export function hasPartitions({ model }) {
  return model.get("_directory").nodes.some((each) => each.kind === "partition");
}

export function showStrip(view) {
  const { model, selection, partition: panel, instead, views, foot, head } = view;
  const { partition, segment } = selection.chosen(), sent = model.get("_strip");
  const mine = sent?.partition === partition ? sent : null, isFile = model.get("_file") !== null;
  panel.strip.setData(mine);
  panel.strip.setSelected(mine ? mine.base_offset.indexOf(segment) : -1);
  const name = mine?.name ?? partition ?? "Partition";
  fillName(panel.title, name).title = name;
  panel.about.textContent = panel.about.title = mine?.about ?? "";
  const hasSegments = Boolean(mine?.size.length), isFilled = hasPartitions(view);
  instead.set(hasSegments || isFile ? null : noSegments({ partition, mine, isFilled, model }));
  views.hidden = isFile || !hasSegments;
  foot.hidden = views.hidden && !isFile;
  head.verify.disabled = partition === null;
  head.verifyAll.disabled ||= !isFilled;
}

function noSegments({ partition, mine, isFilled, model }) {
  if (partition !== null && !mine) return stateNote("loading", "Reading…");
  if (partition !== null) return stateNote("empty", "This partition has no segments.");
  return stateNote("empty", isFilled ? "Select a partition." : noPartitionsText(model.get("_directory").path));
}

function noPartitionsText(path) {
  return `${path} holds no partitions. Open a directory of log.dirs of a broker: it has a folder for each partition, named \
like orders-0. After a broker wrote to this one, press ⟳ to read it again.`;
}

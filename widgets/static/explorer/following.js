// Following: what is new since it began, and whether a segment only grew.
import { plural } from "../shared/format.js";

// A sentence that says since when directories are followed, and what is new.
export function followedText(model) {
  const { since, partitions = [] } = model.get("_fresh"), isOn = model.get("follow");
  if (!since) return "";
  const changed = partitions.length ? `${plural(partitions.length, "partition")} changed` : "nothing new";
  return `${isOn ? "following" : "followed"} since ${since} UTC · ${changed}`;
}

// Whether a segment's new contents begin with the old ones: the same batches, and perhaps more.
export function isGrowth(old, data) {
  const last = old.length - 1;
  if (last < 0) return true;
  return last < data.length && old.position[last] === data.position[last] &&
    old.columns.last_offset.exact(last) === data.columns.last_offset.exact(last) && old.end[last] === data.end[last];
}

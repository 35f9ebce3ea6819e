// The legend of the segment map: only what this segment has.
import { h } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { OTHER } from "../shared/theme.js";

export function segmentLegend(data) {
  const own = data.categories.filter(({ color }) => color !== OTHER), others = data.categories.length - own.length;
  const entries = own.map((each) => [each.text, { style: `--swatch:${each.color}` }]);
  if (others) entries.push([plural(others, "other"), { style: `--swatch:${OTHER}` }]);
  const has = (test) => {
    for (let i = 0; i < data.length; i++) if (test(i)) return true;
    return false;
  };
  if (has((i) => data.isTransactional(i))) entries.push(["transactional", { "data-mark": "transactional" }]);
  if (has((i) => data.isAborted(i))) entries.push(["aborted", { "data-mark": "aborted" }]);
  if (has((i) => data.isControl(i))) entries.push(["control", { "data-mark": "control" }]);
  if (has((i) => data.problem[i] !== 0)) entries.push(["damaged", { "data-mark": "damaged" }]);
  if (has((i) => data.missing[i] > 0)) entries.push(["offsets missing", { "data-mark": "missing" }]);
  if (data.fileSize > data.validSize) entries.push([data.stop, { "data-mark": "tail" }]);
  if (has((i) => data.isNew(i))) entries.push(["new", { "data-mark": "new" }]);
  if (data.indexPosition.length) entries.push(["offset index entry", { "data-mark": "entry" }]);
  if (data.timeIndexTime.length) entries.push(["time index entry", { "data-mark": "time" }]);
  return entries.map(([text, attributes]) => h("span", {}, h("i", attributes), text));
}

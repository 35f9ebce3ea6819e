// What the explorer has selected: a partition, a segment in it, a batch by its position, a record by its offset.
import { NOTHING } from "../shared/frame.js";

export function explorerSelection(model) {
  const chosen = () => ({ ...NOTHING, ...model.get("selected") });
  const isHere = (place) => place && place.partition === chosen().partition && place.segment === chosen().segment;
  // The selected segment as the kernel sent it; null until it is read.
  function segment() {
    const sent = model.get("_segment");
    return isHere(sent) ? sent : null;
  }
  // A change goes to the kernel, which sends the contents of another partition or segment.
  function choose(change) {
    const selected = { ...chosen(), ...change };
    if (!isHere(selected)) return model.choose({ selected });
    model.set("selected", selected);
    model.save_changes();
  }
  model.onLost(() => { // what the kernel did not get to read is not selected
    const sent = model.get("_segment");
    if (sent && !segment()) model.set("selected", { ...NOTHING, partition: sent.partition, segment: sent.segment });
  });
  return {
    chosen,
    choose,
    segment,
    choosePartition: (partition) => choose({ ...NOTHING, partition }),
    // A question about the selected segment.
    inSegment: (body) => ({ partition: chosen().partition, segment: chosen().segment, ...body }),
    // To the place of a finding: a file of the directory, a batch, or a partition.
    goTo({ partition, segment, batch_position: position, path, file }) {
      if (partition === null) return void model.choose({ file: path });
      if (segment !== null) choose({ partition, segment, position, offset: null });
      else if (partition !== chosen().partition) choose({ ...NOTHING, partition });
      else if (path.endsWith(`/${file}`) && file !== partition) model.choose({ file: path });
    },
    // One step back: from a record to its batch, from a batch to none; false without either.
    stepBack() {
      const { offset, position } = chosen();
      if (offset === null && position === null) return false;
      choose(offset === null ? { position: null } : { offset: null });
    },
  };
}

// The model that anywidget gives to `render`, connected with its widget in Python.
import { FileModel } from "../file_model.js";

export class LiveModel extends FileModel {
  // `tell`: sends the data of a message of ipywidgets.
  constructor(state, tell) {
    super(state);
    this.tell = tell;
    this.waiting = null; // changes that were saved while Python works on those before
    this.isBusy = false;
    const onEnd = new Set();
    this.onEnd = onEnd;
    this.widget_manager = {
      kernel: {
        statusChanged: {
          connect: (act) => onEnd.add(act),
          disconnect: (act) => onEnd.delete(act),
        },
      },
    };
  }
  onsave(changes) {
    if (this.isBusy) {
      this.waiting = { ...this.waiting, ...changes };
      return;
    }
    this.isBusy = true;
    this.tell({ method: "update", state: changes });
  }
  onsend(content) {
    this.tell({ method: "custom", content });
  }
  // Python is done with the changes that were sent: send those that were saved since then.
  flush() {
    const changes = this.waiting;
    this.waiting = null;
    this.isBusy = false;
    if (changes) this.onsave(changes);
  }
  // Python is gone.
  lose() {
    for (const act of [...this.onEnd]) act(null, "dead");
  }
}

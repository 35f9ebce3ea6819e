// The steps of a player as rows: kind, bytes touched, role in the picture, file, reason, numbers.
export const SEGMENT = 1;
export const POSITION = 2;
export const SIZE = 3;
export const ROLE = 4;
const KIND = 0, FILE = 5, REASON = 6, NUMBERS = 7;

export class StepRows {
  constructor({ steps = [], kinds = [], left_out: leftOut = 0 }) {
    this.steps = steps;
    this.kinds = kinds;
    this.leftOut = leftOut;
    this.hasPlaces = steps.some((step) => step[FILE] !== steps[0][FILE]);
  }
  get length() {
    return this.steps.length;
  }
  kindNumber(i) {
    return this.steps[i][KIND];
  }
  kind(i) {
    return this.kinds[this.steps[i][KIND]][0];
  }
  meaning(i) {
    return this.kinds[this.steps[i][KIND]][1];
  }
  role(i) {
    return this.steps[i][ROLE];
  }
  file(i) {
    return this.steps[i][FILE];
  }
  reason(i) {
    return this.steps[i][REASON];
  }
  numbers(i) {
    return this.steps[i][NUMBERS];
  }
  roleOfKind(number) {
    return this.steps.find((step) => step[KIND] === number)?.[ROLE] ?? "";
  }
  // The next step of a kind after `at`; after the last step it starts over; -1 if there is none.
  nextOfKind(kind, at) {
    for (let k = 1; k <= this.length; k++) {
      if (this.steps[(at + k) % this.length][KIND] === kind) return (at + k) % this.length;
    }
    return -1;
  }
  sentence(i) {
    return `Step ${i + 1} of ${this.length}: ${this.kind(i)}. ${this.reason(i) || this.meaning(i)}.`;
  }
}

// Columns of integers as Python packs them: a base and the narrowest unsigned difference to it.
// Offsets and ids are 64 bits wide; exact(i) never goes through a JavaScript number.
const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, u8: BigUint64Array };

export class Column {
  constructor({ base, dtype, length, data }) {
    this.base = BigInt(base);
    this.length = length;
    this.deltas = dtype === "same" ? null : typedView(data, ARRAYS[dtype]);
    if (this.deltas && this.deltas.length !== length) {
      throw new Error(`column has ${this.deltas.length} values (expected ${length})`);
    }
  }
  exact(i) {
    return this.deltas ? this.base + BigInt(this.deltas[i]) : this.base;
  }
  number(i) {
    return Number(this.base) + (this.deltas ? Number(this.deltas[i]) : 0);
  }
  numbers() {
    const out = new Float64Array(this.length), base = Number(this.base);
    if (!this.deltas) return out.fill(base);
    if (this.deltas instanceof BigUint64Array) { for (let i = 0; i < out.length; i++) out[i] = Number(this.exact(i)); }
    else out.set(this.deltas);
    if (base && !(this.deltas instanceof BigUint64Array)) { for (let i = 0; i < out.length; i++) out[i] += base; }
    return out;
  }
  // The first row whose value is above `value` (a BigInt); rows ascend.
  after(value) {
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.exact(middle) <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

// Buffers of some hosts start at unaligned positions: copy those, use the others directly.
export function typedView(view, Type) {
  const size = Type.BYTES_PER_ELEMENT;
  if (view.byteOffset % size === 0) return new Type(view.buffer, view.byteOffset, Math.floor(view.byteLength / size));
  return new Type(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

export function unpackColumns(packed) {
  return Object.fromEntries(Object.entries(packed).map(([name, column]) => [name, new Column(column)]));
}

// The index of the last element that is at most x, -1 if there is none; elements ascend.
export function floorIndex(ascending, x) {
  let low = 0, high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

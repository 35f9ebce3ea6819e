// The order of a table's rows by one of its columns: numbers, sizes and shares by what they say, other texts as a reader
// sorts them, and rows without a value last, whichever way.
const UNITS_OF_SIZE = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
const UNITS_OF_TIME = { ms: 1, s: 1e3, min: 6e4, h: 3.6e6, day: 8.64e7, days: 8.64e7 };
const UNITS_OF_CELLS = { "": 1, "%": 1, ...UNITS_OF_SIZE, ...UNITS_OF_TIME };
const QUANTITY = /^([-−]?[\d,]+)(\.\d+)?\s?([A-Za-z]+|%)?$/;
const NO_VALUE = new Set(["", "–", "—", "-", "?", "…", "none", "null"]);
const EXACT_DIGITS = 15; // longer whole numbers are BigInts

// What a text sorts by: a number, a BigInt, or lower-case text; null for none.
export function sortKey(text) {
  const plain = String(text ?? "").trim();
  if (NO_VALUE.has(plain)) return null;
  const [, whole, rest = "", unit = ""] = plain.match(QUANTITY) ?? [], factor = UNITS_OF_CELLS[unit];
  if (whole === undefined || factor === undefined) return plain.toLowerCase();
  const digits = whole.replaceAll(",", "").replace("−", "-");
  return digits.length > EXACT_DIGITS && !rest && !unit ? BigInt(digits) : Number(digits + rest) * factor;
}

// The numbers of `n` rows in the order of `keyOf(i)`; equal ones keep their order.
export function orderBy(n, keyOf, isDown) {
  const keys = Array.from({ length: n }, (_, i) => keyOf(i)), order = Uint32Array.from(keys.keys());
  const words = new Intl.Collator("en", { numeric: true }), way = isDown ? -1 : 1;
  return order.sort((a, b) => {
    const x = keys[a], y = keys[b];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    const isText = typeof x === "string", isOther = typeof y === "string";
    const less = isText !== isOther ? (isText ? 1 : -1) : isText ? words.compare(x, y) : x < y ? -1 : Number(x > y);
    return way * less || a - b;
  });
}

// Where each row is in an order.
export function placesIn(order) {
  const places = new Uint32Array(order.length);
  order.forEach((row, place) => {
    places[row] = place;
  });
  return places;
}

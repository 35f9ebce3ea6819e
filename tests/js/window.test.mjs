import assert from "node:assert/strict";
import test from "node:test";
import { geometry, scrollOf, topOf, topToShow } from "../../widgets/static/shared/window.js";

test("a short table scrolls pixel by pixel", () => {
  const g = geometry(100, 24, 240);
  assert.equal(g.isScaled, false);
  assert.equal(topOf(48, g), 2);
  assert.equal(scrollOf(2, g), 48);
});

test("five million rows fit under the browser's tallest element, and both ends are reached", () => {
  const g = geometry(5_000_000, 24, 240);
  assert.ok(g.height <= 8_000_000 && g.isScaled);
  assert.equal(topOf(0, g), 0);
  assert.equal(topOf(g.lastScroll, g), 5_000_000 - 10);
  assert.ok(Math.abs(topOf(scrollOf(1_234_567, g), g) - 1_234_567) < 1e-6);
});

test("a table that fits does not scroll", () => {
  const g = geometry(3, 24, 240);
  assert.equal(g.lastTop, 0);
  assert.equal(topOf(0, g), 0);
});

test("a row is brought into sight with the least movement", () => {
  assert.equal(topToShow(3, 10, 8, 92), 3);
  assert.equal(topToShow(12, 10, 8, 92), 10);
  assert.equal(topToShow(20, 10, 8, 92), 13);
  assert.equal(topToShow(99, 10, 8, 92), 92);
});

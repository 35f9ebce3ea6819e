import assert from "node:assert/strict";
import test from "node:test";
import { kindOf, tabName } from "../../labextension/static/names.js";

test("a tab is called by the partition and the file without its zeros", () => {
  assert.equal(tabName("shop/orders-0/00000000000000000442.log"), "orders-0 · 442.log");
  assert.equal(tabName("orders-0/00000000000000000000.index.deleted"), "orders-0 · 0.index.deleted");
  assert.equal(tabName(`orders-0.${"a".repeat(32)}-delete/00000000000000000442.log`), "orders-0 · 442.log");
  assert.equal(tabName("shop/orders-0"), "orders-0");
  assert.equal(tabName("shop/recovery-point-offset-checkpoint"), "recovery-point-offset-checkpoint");
  assert.equal(tabName("ticket-4711.log"), "ticket-4711.log");
  assert.equal(tabName(""), "Kafka Log Workbench");
});

test("each kind of file is known by its name, with its suffixes", () => {
  const kinds = {
    "a-0/00000000000000000442.log.cleaned": "segment",
    "a-0/00000000000000000442.index": "offsets",
    "a-0/00000000000000000442.timeindex.swap": "times",
    "a-0/00000000000000000442.txnindex": "aborted",
    "a-0/00000000000000000442.snapshot": "producers",
    "a-0/00000000000000000442-0000000001.checkpoint": "checkpoint",
    "a-0/leader-epoch-checkpoint": "checkpoint",
    "cleaner-offset-checkpoint.tmp": "checkpoint",
    "meta.properties": "about",
    "ticket-4711.log": "segment",
  };
  for (const [path, kind] of Object.entries(kinds)) assert.equal(kindOf(path), kind, path);
});

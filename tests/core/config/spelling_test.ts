import assert from "node:assert/strict";
import { nearestWord } from "../../../src/core/config/spelling.ts";

const KEYS = ["rpc_ws", "signer", "poll_interval", "type", "hub"];

Deno.test("spelling: up to two wrong letters, letter case and dashes are forgiven", () => {
  assert.equal(nearestWord("rpc_wss", KEYS), "rpc_ws");
  assert.equal(nearestWord("RPC-WS", KEYS), "rpc_ws");
  assert.equal(nearestWord("pol_intervall", KEYS), "poll_interval");
  assert.equal(nearestWord("hubb", KEYS), "hub");
});

Deno.test("spelling: what is further away is no suggestion", () => {
  assert.equal(nearestWord("colour", KEYS), undefined);
  assert.equal(nearestWord("hop", KEYS), undefined);
  assert.equal(nearestWord("", KEYS), undefined);
  assert.equal(nearestWord("poll_int", KEYS), undefined);
});

Deno.test("spelling: the nearest of several wins", () => {
  assert.equal(nearestWord("abcdex", ["abcxyx", "abcdef"]), "abcdef");
});

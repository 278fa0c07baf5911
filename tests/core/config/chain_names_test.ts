import assert from "node:assert/strict";
import { ChainNames } from "../../../src/core/config/chain_names.ts";

Deno.test("chain names: whole identifiers become names, alone or with the identifier, and others stay", () => {
  const names = new ChainNames([
    { section: "base", stateMachine: "EVM-8453" },
    { section: "hub", stateMachine: "KUSAMA-4009" },
    { section: "EVM-1", stateMachine: "EVM-1" },
    { section: "cosmos", stateMachine: "TNDRMINT-cosm" },
  ]);
  assert.equal(names.short("EVM-8453 -> KUSAMA-4009, TNDRMINT-cosm"), "base -> hub, cosmos");
  assert.equal(names.full("eth_call on EVM-8453: timeout"), "eth_call on base (EVM-8453): timeout");
  for (const other of ["EVM-84532", "EVM-84", "evm-8453.example", "EVM-1", "SUBSTRATE-cere"]) {
    assert.equal(names.short(other), other);
    assert.equal(names.full(other), other);
  }
  assert.deepEqual(["base", "EVM-8453", "EVM-9"].map((text) => names.identify(text)), [
    "EVM-8453",
    "EVM-8453",
    "EVM-9",
  ]);
  names.set([]);
  assert.equal(names.short("EVM-8453"), "EVM-8453");
});

import assert from "node:assert/strict";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { Oracle, type OracleChain } from "./oracle.ts";

const HUB = parseStateMachine("KUSAMA-4009");
const CHAIN = parseStateMachine("EVM-31337");

/** A hub and a chain whose heads a test moves. */
class Ends {
  hubHeight = 0n;
  chainHeight = 0n;
  isBroken = false;
  readonly told: string[] = [];
  /** For each time that the chain was to be updated with the hub's finality: whether somebody asked for just that. */
  readonly asked: boolean[] = [];
  readonly chain: OracleChain = {
    stateMachine: CHAIN,
    proveToHub: (last) => {
      if (this.isBroken) return Promise.reject(new Error("no hub"));
      if (this.chainHeight > last) this.told.push(`${CHAIN} ${this.chainHeight}`);
      return Promise.resolve(this.chainHeight);
    },
    proveHub: (last, isAsked) => {
      this.asked.push(isAsked);
      if (this.hubHeight > last) this.told.push(`${HUB} ${this.hubHeight}`);
      return Promise.resolve(this.hubHeight);
    },
  };
}

Deno.test("oracle: proves each new final height once, in both directions", async () => {
  const ends = new Ends();
  await using oracle = new Oracle({ hub: HUB, chains: [ends.chain] });
  assert.equal(await oracle.step({ from: CHAIN, to: HUB }), 0n);
  ends.chainHeight = 5n;
  ends.hubHeight = 7n;
  assert.equal(await oracle.step({ from: CHAIN, to: HUB }), 5n);
  assert.equal(await oracle.step({ from: CHAIN, to: HUB }), 5n);
  assert.equal(await oracle.step({ from: HUB, to: CHAIN }), 7n);
  assert.deepEqual(ends.told, ["EVM-31337 5", "KUSAMA-4009 7"]);
  assert.equal(oracle.lastHeight({ from: HUB, to: CHAIN }), 7n);
  oracle.start();
  await oracle.stop();
  assert.deepEqual(ends.asked, [true, false]);
});

Deno.test("oracle: a paused direction stands still while the other continues", async () => {
  const ends = new Ends();
  ends.chainHeight = 5n;
  ends.hubHeight = 7n;
  const updates: bigint[] = [];
  const update = Promise.withResolvers<void>();
  await using oracle = new Oracle({
    hub: HUB,
    chains: [ends.chain],
    everyMs: 1,
    onUpdate: ({ height }) => {
      updates.push(height);
      update.resolve();
    },
  });
  await oracle.pause({ from: CHAIN, to: HUB });
  oracle.start();
  await update.promise;
  assert.deepEqual(updates, [7n]);
  oracle.resume({ from: CHAIN, to: HUB });
  while (updates.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(updates, [7n, 5n]);
  await assert.rejects(oracle.pause({ from: HUB, to: HUB }), /No direction/);
});

Deno.test("oracle: fails aloud when a direction stays broken", async () => {
  const ends = new Ends();
  ends.chainHeight = 5n;
  ends.isBroken = true;
  await using oracle = new Oracle({ hub: HUB, chains: [ends.chain], everyMs: 1, patienceMs: 20 });
  oracle.start();
  await assert.rejects(oracle.failed, {
    code: "oracle_failed",
    message: /KUSAMA-4009 with EVM-31337.*no hub/,
  });
});

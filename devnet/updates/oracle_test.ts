import assert from "node:assert/strict";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { waitUntil } from "../waiting.ts";
import { Oracle, type ServedDirection } from "./oracle.ts";

const HUB = parseStateMachine("KUSAMA-4009");
const CHAIN = parseStateMachine("EVM-31337");
const TO_HUB = { from: CHAIN, to: HUB };
const TO_CHAIN = { from: HUB, to: CHAIN };

/** A hub and a chain whose heads a test moves. */
class Ends {
  hubHeight = 0n;
  chainHeight = 0n;
  isBroken = false;
  readonly told: string[] = [];
  /** For each time that the chain was to be updated with the hub's finality: whether somebody asked for just that. */
  readonly asked: boolean[] = [];
  readonly served: readonly ServedDirection[] = [{
    direction: TO_HUB,
    update: (last) => {
      if (this.isBroken) return Promise.reject(new Error("no hub"));
      if (this.chainHeight > last) this.told.push(`${CHAIN} ${this.chainHeight}`);
      return Promise.resolve(this.chainHeight);
    },
  }, {
    direction: TO_CHAIN,
    update: (last, isAsked) => {
      this.asked.push(isAsked);
      if (this.hubHeight > last) this.told.push(`${HUB} ${this.hubHeight}`);
      return Promise.resolve(this.hubHeight);
    },
  }];
}

Deno.test("oracle: proves each new final height once, in both directions", async () => {
  const ends = new Ends();
  await using oracle = new Oracle({ served: ends.served });
  assert.equal(await oracle.step(TO_HUB), 0n);
  ends.chainHeight = 5n;
  ends.hubHeight = 7n;
  assert.equal(await oracle.step(TO_HUB), 5n);
  assert.equal(await oracle.step(TO_HUB), 5n);
  assert.equal(await oracle.step(TO_CHAIN), 7n);
  assert.deepEqual(ends.told, ["EVM-31337 5", "KUSAMA-4009 7"]);
  assert.equal(oracle.lastHeight(TO_CHAIN), 7n);
  oracle.start();
  await oracle.stop();
  assert.deepEqual(ends.asked, [true, false]);
});

Deno.test("oracle: a paused direction stands still while the other continues", async () => {
  const ends = new Ends();
  ends.chainHeight = 5n;
  ends.hubHeight = 7n;
  await using oracle = new Oracle({ served: ends.served, everyMs: 1 });
  await oracle.pause(TO_HUB);
  oracle.start();
  await waitUntil("an update", () => oracle.lastHeight(TO_CHAIN) === 7n, { everyMs: 1 });
  assert.deepEqual(ends.told, ["KUSAMA-4009 7"]);
  oracle.resume(TO_HUB);
  await waitUntil("the other update", () => oracle.lastHeight(TO_HUB) === 5n, { everyMs: 1 });
  assert.deepEqual(ends.told, ["KUSAMA-4009 7", "EVM-31337 5"]);
  await assert.rejects(oracle.pause({ from: HUB, to: HUB }), /No direction/);
});

Deno.test("oracle: fails aloud when a direction stays broken", async () => {
  const ends = new Ends();
  ends.chainHeight = 5n;
  ends.isBroken = true;
  await using oracle = new Oracle({ served: ends.served, everyMs: 1, patienceMs: 20 });
  oracle.start();
  await assert.rejects(oracle.failed, {
    code: "oracle_failed",
    message: /KUSAMA-4009 with EVM-31337.*no hub/,
  });
});

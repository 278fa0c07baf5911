import assert from "node:assert/strict";
import type { RpcAnswer, RpcCall, RpcEndpoint } from "../../../src/core/rpc/call.ts";
import { reactionTo, RpcFault } from "../../../src/core/rpc/fault.ts";
import { calls } from "../../../src/core/rpc/substrate_calls.ts";
import { SubstrateClient } from "../../../src/core/rpc/substrate_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { fixedRandomness, seededRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;
const where = { chain: "KUSAMA-4009", endpointHost: "node", method: "chain_getBlockHash" };
const throttled = (): RpcFault =>
  new RpcFault("throttled", reactionTo("throttled"), where, { detail: "RPC rate limit exceeded" });
const HASH = `0x${"ab".repeat(32)}`;

/**
 * A node started with `--rpc-rate-limit`: so many calls in any second, the others of a batch are refused one by one.
 * Source: paritytech/polkadot-sdk: substrate/client/rpc-servers/src/middleware.
 */
class LimitedNode implements RpcEndpoint {
  readonly host = "node";
  refused = 0;
  answered = 0;
  /** False: it refuses everything. */
  isOpen = true;
  readonly #clock: FakeClock;
  #left: number;
  #lastMs: number;

  constructor(clock: FakeClock, readonly perSec: number) {
    this.#clock = clock;
    this.#left = perSec;
    this.#lastMs = clock.now();
  }

  async send(asked: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    await this.#clock.sleep(20, never);
    const nowMs = this.#clock.now();
    this.#left = Math.min(this.perSec, this.#left + (nowMs - this.#lastMs) / 1000 * this.perSec);
    this.#lastMs = nowMs;
    return asked.map((): RpcAnswer => {
      if (!this.isOpen || this.#left < 1) {
        this.refused++;
        return { kind: "fault", fault: throttled() };
      }
      this.#left--;
      this.answered++;
      return { kind: "result", result: HASH };
    });
  }
}

Deno.test("substrate client: all who ask a node that limits calls get their answers", async () => {
  const clock = new FakeClock();
  const node = new LimitedNode(clock, 30);
  const client = new SubstrateClient({ clock, randomness: seededRandomness(1) }, node, "KUSAMA-4009");
  // Eight workers that each want five blocks at a time, ten times.
  const workers = Array.from({ length: 8 }, async () => {
    for (let round = 0; round < 10; round++) {
      const wanted = Array.from({ length: 5 }, (_, at) => calls.blockHash(BigInt(at)));
      for (const hash of await client.callAll(wanted, never)) assert.equal(hash, HASH);
    }
  });
  await clock.run(Promise.all(workers));
  assert.equal(node.answered, 400);
  assert.ok(node.refused < 2 * node.answered, `${node.refused} calls were refused`);
});

Deno.test("substrate client: a submission that was throttled was not taken, and is sent again", async () => {
  const clock = new FakeClock();
  const node = new LimitedNode(clock, 1);
  const client = new SubstrateClient({ clock, randomness: fixedRandomness(0) }, node, "KUSAMA-4009");
  const both = Promise.all([
    client.call(calls.submit(Uint8Array.of(1)), never),
    client.call(calls.submit(Uint8Array.of(2)), never),
  ]);
  assert.deepEqual(await clock.run(both), [HASH, HASH]);
  assert.equal(node.refused, 1);
});

Deno.test("substrate client: a node that refuses for a quarter of a minute is a fault for all who ask", async () => {
  const clock = new FakeClock();
  const node = new LimitedNode(clock, 30);
  const client = new SubstrateClient({ clock, randomness: fixedRandomness(0) }, node, "KUSAMA-4009");
  node.isOpen = false;
  const outcome = client.call(calls.blockHash(1n), never).catch((error: unknown) => error);
  const fault = await clock.run(outcome);
  assert.ok(fault instanceof RpcFault && fault.code === "throttled");
  assert.ok(node.refused <= 6, `it was asked ${node.refused} times`);
  // Who comes next waits for the end of its pause, and is answered.
  node.isOpen = true;
  assert.equal(await clock.run(client.call(calls.blockHash(1n), never)), HASH);
});

// Which claims of a rollup are of interest, by an L1 in memory: which blocks are searched, which claims are kept, and in
// which order they are tried.
import assert from "node:assert/strict";
import fc from "fast-check";
import type { EvmReader } from "../../../src/consensus/evm_reader.ts";
import {
  type ClaimKind,
  ClaimRefusal,
  Claims,
  type RollupClaim,
} from "../../../src/consensus/rollup/claims.ts";
import type { Log } from "../../../src/core/chains/evm/rpc_schemas.ts";
import { toHash256 } from "../../../src/core/encoding/bytes.ts";
import type { Address } from "../../../src/core/evm/address.ts";
import { word } from "../../../src/core/evm/host_storage.ts";
import { evmStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { faultOf } from "../../support/rpc_faults.ts";
import { MemoryTarget } from "../../support/memory_target.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { never } from "./fixture.ts";

const stateRoot = toHash256(new Uint8Array(32));
const contract: Address = `0x${"11".repeat(20)}`;

type L1 = Pick<EvmReader, "chain" | "hosts" | "heldTo" | "each" | "fetchLogs">;

/** An L1 that has a claim in every tenth block, about a block of the rollup of the same number. */
class Scene {
  readonly log = new RecordedLog();
  readonly ranges: [bigint, bigint][] = [];
  /** Claims in the order in which they were tried. */
  readonly tried: bigint[] = [];
  isDown = false;
  /** Claims that cannot be proved, with the code; `timeout` is that of an endpoint. */
  readonly bad = new Map<bigint, string>();
  /** Blocks whose logs a second endpoint lacks; undefined: there is none. */
  lacking: ReadonlySet<bigint> | undefined;
  readonly #l1: L1 = {
    chain: evmStateMachine(1),
    hosts: ["l1.example"],
    heldTo: () => this.#l1 as EvmReader,
    each: () => [this.#l1 as EvmReader, ...this.lacking === undefined ? [] : [this.#other as EvmReader]],
    fetchLogs: (_, { from, to }) => {
      if (this.isDown) return Promise.reject(faultOf("timeout"));
      this.ranges.push([from, to]);
      const first = from + 9n - (from + 9n) % 10n;
      const count = to < first ? 0 : Number((to - first) / 10n) + 1;
      return Promise.resolve(Array.from({ length: count }, (_, at) => logAt(first + 10n * BigInt(at))));
    },
  };
  readonly #other: L1 = {
    ...this.#l1,
    hosts: ["other.example"],
    fetchLogs: async (...asked) =>
      (await this.#l1.fetchLogs(...asked)).filter(({ blockNumber }) => !this.lacking?.has(blockNumber)),
  };
  readonly #claims = new Claims<RollupClaim>({
    hub: new MemoryTarget(),
    l1: this.#l1 as EvmReader,
    l2: this.#l1 as EvmReader,
    log: this.log,
  });

  /** Polls; the height that is offered, or the reason. */
  async poll(height: bigint, hubHeight?: bigint, of = contract): Promise<bigint | string> {
    const kind: ClaimKind<RollupClaim> = {
      noun: "claims",
      contract: of,
      topic0: word(0n),
      decode: (log) => ({ name: `claim ${log.blockNumber}`, log, l2Height: log.blockNumber }),
      plan: (open) => Promise.resolve(open.toReversed()),
      prove: ({ log: { blockNumber } }) => {
        this.tried.push(blockNumber);
        const code = this.bad.get(blockNumber);
        if (code === "timeout") throw faultOf(code);
        if (code !== undefined) {
          throw new ClaimRefusal(code, code === "forged" ? "l1" : "claim");
        }
        return Promise.resolve({ proof: new Uint8Array(0), height: blockNumber });
      },
    };
    const found = await this.#claims.find(kind, { block: { height, stateRoot }, hubHeight }, never);
    return found.kind === "nothing" ? found.reason : found.height;
  }
}

function logAt(blockNumber: bigint): Log {
  return { blockNumber, address: contract, topics: [word(0n)], data: word(blockNumber) } as Log;
}

Deno.test("claims: no L1 block is left out, whatever the steps of the hub", async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.nat({ max: 40 }), { minLength: 1 }), async (steps) => {
    const scene = new Scene();
    let height = 5n;
    for (const step of steps) {
      height += BigInt(step);
      await scene.poll(height);
    }
    const { ranges } = scene;
    assert.equal(ranges[0]?.[0], 0n);
    assert.equal(ranges.at(-1)?.[1], height);
    ranges.slice(1).forEach(([from], index) => assert.ok(from <= (ranges[index]?.[1] ?? 0n) + 1n));
  }));
});

Deno.test("claims: a failed search is made again, the last hour twice, and a new contract begins with the last day", async () => {
  const scene = new Scene();
  await scene.poll(20n);
  scene.isDown = true;
  await assert.rejects(scene.poll(30n), { code: "timeout" });
  scene.isDown = false;
  await scene.poll(20n);
  await scene.poll(1_000n);
  await scene.poll(1_100n);
  await scene.poll(8_000n, undefined, `0x${"22".repeat(20)}`);
  assert.deepEqual(scene.ranges, [[0n, 20n], [0n, 1_000n], [701n, 1_100n], [801n, 8_000n]]);
});

Deno.test("claims: the newest 512 are kept until the hub is above them, and tried in turn", async () => {
  const scene = new Scene();
  assert.equal(await scene.poll(7_000n), 7_000n);
  assert.equal(await scene.poll(7_000n), 6_990n, "what was offered comes after the others");
  for (let block = 1_890n; block <= 7_000n; block += 10n) scene.bad.set(block, "false_claim");
  assert.match(await scene.poll(7_000n) as string, /none of 32 claims can be proved/);
  assert.deepEqual(scene.tried.slice(2, 4), [6_980n, 6_970n]);
  assert.match(await scene.poll(7_000n, 7_000n) as string, /^none of 512 claims can be used: 512 not above/);
  assert.equal(
    await scene.poll(7_000n),
    "there are no new claims up to L1 block 7000, the newest that the hub knows",
  );
});

Deno.test("claims: one that is refused is logged once, and one that is not in the L1 makes it searched again", async () => {
  const scene = new Scene();
  scene.bad.set(20n, "false_claim");
  assert.equal(await scene.poll(20n), 10n);
  // The next poll tries what was never tried first.
  scene.bad.set(10n, "false_claim").set(0n, "forged");
  await assert.rejects(scene.poll(20n), { code: "bad_data", endpoint: "l1.example" });
  const reasons = scene.log.linesOf("rollup_claim_skipped").map((
    { fields },
  ) => [fields.claim, fields.explanation]);
  assert.deepEqual(reasons, [["claim 20", "false claim"], ["claim 0", "forged"], [
    "claim 10",
    "false claim",
  ]]);
  scene.bad.clear();
  assert.equal(await scene.poll(20n), 20n);
  assert.deepEqual(scene.ranges, [[0n, 20n], [0n, 20n]]);
});

Deno.test("claims: none is lost when the hub falls back to an older L1 block", async () => {
  const scene = new Scene();
  const offered = [];
  for (const height of [20n, 20n, 20n, 15n, 20n]) offered.push(await scene.poll(height));
  assert.deepEqual(offered, [20n, 10n, 0n, 10n, 20n]);
});

Deno.test("claims: an endpoint's fault about one does not end the poll of the others, three do, and none is lost", async () => {
  const scene = new Scene();
  scene.bad.set(50n, "timeout").set(40n, "timeout");
  assert.equal(await scene.poll(50n), 30n);
  for (const block of [0n, 10n, 20n, 30n]) scene.bad.set(block, "timeout");
  scene.tried.length = 0;
  for (let poll = 0; poll < 12; poll++) await assert.rejects(scene.poll(50n), { code: "timeout" });
  assert.equal(scene.tried.length, 36);
  scene.bad.clear();
  assert.equal(typeof await scene.poll(50n), "bigint");
});

Deno.test("claims: an endpoint whose index lacks a claim is named, and hides nothing", async () => {
  const scene = new Scene();
  scene.lacking = new Set([10n, 20n]);
  assert.equal(await scene.poll(20n), 20n);
  const [line, ...others] = scene.log.linesOf("endpoint_data_invalid.logs");
  assert.deepEqual([line?.level, line?.fields.endpoint, others], ["warn", "other.example", []]);
});

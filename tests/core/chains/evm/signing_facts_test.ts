/** What keeps a delivery from being signed: proofs that the host has already, and messages that others deliver. */
import assert from "node:assert/strict";
import { encodeAbiParameters } from "viem";
import type { Delivery } from "../../../../src/core/chains/submission.ts";
import { fromHex, type Hex, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import sp1 from "../../../vectors/beefy-sp1.json" with { type: "json" };
import { type Answerer, ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import {
  chainAt,
  chainOn,
  deliveryOfPosts,
  hostAnswers,
  node,
  post,
  sign,
  trySign,
  zeros,
} from "./scripted_node.ts";

/** What a host stores before the proof of the vectors, and after it. */
const [before, after]: readonly string[] = [sp1.trusted_state_abi, sp1.expected.new_state_abi];
const proof: Delivery["steps"][number] = { kind: "consensus", proof: fromHex(sp1.proof) };
const alone: Delivery = { steps: [proof] };
/** The messages need height 100 of the hub. */
const bundle: Delivery = { steps: [proof, ...deliveryOfPosts(1).steps] };

/** What the host knows in its blocks or in its mempool. */
interface Knowledge {
  readonly state: string | undefined;
  readonly hubHeight?: bigint;
}

const unknown: Knowledge = { state: before };
const stale: Knowledge = { state: after };
const noMempool = new ScriptedError(-32000, "pending block is not available");

/** A node whose host knows that in its blocks, and in its mempool; an error: it does not show it. */
function knowing(inBlocks: Knowledge, inMempool: Knowledge | ScriptedError): ScriptedRpc {
  const height = hostReads.latestStateMachineHeight.encode(0).slice(0, 10);
  return node({
    eth_call: hostAnswers(([call, tag]) => {
      const known = tag === "pending" ? inMempool : inBlocks;
      if (known instanceof ScriptedError) return known;
      const text = JSON.stringify(call);
      if (text.includes(hostReads.consensusState.encode())) {
        return encodeAbiParameters([{ type: "bytes" }], [known.state as Hex]);
      }
      return text.includes(height)
        ? `0x${(known.hubHeight ?? 99n).toString(16).padStart(64, "0")}`
        : zeros(2);
    }),
  });
}

/** Per row: the host, and the results of signing at once, after 59 s and after a minute. */
const proofs: readonly (readonly [string, Parameters<typeof knowing>, readonly string[]])[] = [
  ["that the host does not know is signed", [unknown, unknown], ["signed"]],
  ["that the host has taken since the simulation is not signed", [stale, stale], ["blocks"]],
  ["that waits in the mempool counts as delivered, for a minute", [unknown, stale], [
    "mempool",
    "mempool",
    "signed",
  ]],
  ["is signed where a node does not show its mempool", [unknown, noMempool], ["signed"]],
];
for (const [place, delivery] of [["alone", alone], ["in front of messages", bundle]] as const) {
  for (const [what, knows, expected] of proofs) {
    Deno.test(`known proofs: a proof ${place} ${what}, without a request of its own`, async () => {
      const { chain, requests, clock } = chainOn(knowing(...knows));
      await chain.hubClient.fetchHasBatchCall(never);
      await chain.gas.fetchGasQuote(never); // its first price is compared with others
      requests.count = 0;
      for (const [index, each] of expected.entries()) {
        const result = await trySign(chain, {}, delivery);
        assert.equal(result.kind === "proofs_known" ? result.from : result.kind, each);
        // Where a bundle on top of the pool is refused, its reads are asked for once more.
        if (knows[1] !== noMempool) assert.equal(requests.count, index + 1);
        await clock.advance(index === 0 ? 59_000 : 1_000);
      }
    });
  }
}

Deno.test("known proofs: messages whose height the host has learned by another proof go without the one in front", async () => {
  for (const [hubHeight, kind] of [[99n, "signed"], [100n, "proofs_known"]] as const) {
    const known = { state: before, hubHeight };
    const rpc = knowing(known, known);
    assert.equal((await trySign(chainAt([rpc]).chain, {}, bundle)).kind, kind);
  }
});

Deno.test("known proofs: what is no proof of this client's kind is left to the chain", async () => {
  const rpc = knowing(stale, stale);
  const other: Delivery = { steps: [{ kind: "consensus", proof: fromHex(toHash256(new Uint8Array(32))) }] };
  await sign(chainAt([rpc]).chain, {}, other);
});

/** A node on whose pool calls are answered so. */
function withPool(pending: Answerer): ScriptedRpc {
  return node({
    eth_call: hostAnswers((params, rpc) => params[1] === "pending" ? pending(params, rpc) : zeros(2)),
  });
}

const duplicate = new ScriptedError(3, "execution reverted", "0x2ad4ae2e");

/** A pool in which somebody delivers the second post. */
const contested: Answerer = ([call]) => {
  const text = JSON.stringify(call);
  const isReceipt = text.includes(hostReads.requestReceipts.encode(post(0n).commitment).slice(0, 10));
  if (!isReceipt) return duplicate;
  return text.includes(post(1n).commitment.slice(2)) ? `0x${"00".repeat(12)}${"cd".repeat(20)}` : zeros(1);
};

Deno.test("pool: a competitor's delivery that waits names the message; after a minute it is not waited for any longer", async () => {
  const { chain, requests, clock } = chainOn(withPool(contested));
  const refusal = { code: "duplicate", detail: "a delivery of it is pending in the mempool", messages: [1] };
  await chain.hubClient.fetchHasBatchCall(never);
  await chain.gas.fetchGasQuote(never); // its first price is compared with others
  requests.count = 0;
  for (const waitMs of [59_000, 1_000]) {
    assert.deepEqual(await trySign(chain, {}, deliveryOfPosts(2)), { kind: "refused", refusal });
    await clock.advance(waitMs);
  }
  assert.equal(requests.count, 4);
  await sign(chain, {}, deliveryOfPosts(2));
});

let asked = 0;
const uncontested: readonly (readonly [string, Answerer])[] = [
  [
    "a competitor that is gone when it is asked which message it has",
    () => asked++ === 0 ? duplicate : zeros(1),
  ],
  ["other refusals on top of the pool", () => new ScriptedError(3, "execution reverted", "0xe36afbb8")],
];
for (const [what, pending] of uncontested) {
  Deno.test(`pool: what does not keep us from signing: ${what}`, async () => {
    const rpc = withPool(pending);
    await sign(chainAt([rpc]).chain, {}, deliveryOfPosts(2));
  });
}

Deno.test("pool: a node without the tag `pending` is asked once in ten minutes, and stays in use", async () => {
  for (const message of ["pending block is not available", "internal error", "method not found"]) {
    let asked = 0;
    const { chain, clock } = chainOn(withPool(() => {
      asked++;
      return new ScriptedError(-32000, message);
    }));
    for (let round = 0; round < 5; round++) await sign(chain, {}, deliveryOfPosts(2));
    assert.equal(asked, 1);
    await clock.advance(10 * 60_000);
    await sign(chain, {}, deliveryOfPosts(2));
    assert.equal(asked, 2);
  }
});

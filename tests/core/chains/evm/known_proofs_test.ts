import assert from "node:assert/strict";
import { encodeAbiParameters } from "viem";
import type { Delivery, SigningResult, Simulation } from "../../../../src/core/chains/submission.ts";
import { fromHex, type Hex, toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import sp1 from "../../../vectors/beefy-sp1.json" with { type: "json" };
import { FakeClock } from "../../../support/fake_clock.ts";
import { ScriptedError, type ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { never } from "./chain_fixture.ts";
import { chainAt, deliveryOfPosts, node, zeros } from "./scripted_node.ts";

/** What a host stores before the proof of the vectors, and after it. */
const before = toHex(sp1.trusted_state_abi);
const after = toHex(sp1.expected.new_state_abi);
const proof: Delivery["steps"][number] = { kind: "consensus", proof: fromHex(toHex(sp1.proof)) };
const alone: Delivery = { steps: [proof] };
/** The messages need height 100 of the hub. */
const bundle: Delivery = { steps: [proof, ...deliveryOfPosts(1).steps] };

function toHex(text: string): Hex {
  if (!text.startsWith("0x")) throw new Error("Expected hex");
  return `0x${text.slice(2)}`;
}

type Tag = "latest" | "pending";

/** What the host knows in its blocks and in its mempool. */
interface Knowledge {
  readonly state: Hex;
  readonly hubHeight?: bigint;
}

/** A node whose host knows that; `fault`: it does not show its mempool. */
function nodeWith(knows: Readonly<Record<Tag, Knowledge | "fault">>): ScriptedRpc {
  return node({
    eth_call: ([call, tag]) => {
      const text = JSON.stringify(call);
      if (text.includes(hostReads.hostParams.encode())) return hostVector.reads.hostParams.result;
      const known = knows[tag === "pending" ? "pending" : "latest"];
      if (known === "fault") return new ScriptedError(-32000, "pending block is not available");
      if (text.includes(hostReads.consensusState.encode())) {
        return encodeAbiParameters([{ type: "bytes" }], [known.state]);
      }
      if (text.includes(hostReads.latestStateMachineHeight.encode(0).slice(0, 10))) {
        return `0x${(known.hubHeight ?? 99n).toString(16).padStart(64, "0")}`;
      }
      return zeros(2);
    },
  });
}

function sign(chain: ReturnType<typeof chainAt>["chain"], delivery: Delivery): Promise<SigningResult> {
  const simulation: Extract<Simulation, { kind: "accepted" }> = {
    kind: "accepted",
    handled: [true],
    gasUsed: 100_000n,
    gasLimit: 200_000n,
    messageGas: [50_000n],
    gasPriceWei: 100n,
    dataCostWei: 0n,
  };
  return chain.sender.sign(delivery, { simulation, nonceAtLeast: undefined }, never);
}

const unknown: Knowledge = { state: before };
const stale: Knowledge = { state: after };

for (const [what, delivery] of [["alone", alone], ["in front of messages", bundle]] as const) {
  Deno.test(`known proofs: a proof ${what} that the host does not know is signed, and asking takes no request of its own`, async () => {
    await using rpc = nodeWith({ latest: unknown, pending: unknown });
    const { chain, requests } = chainAt([rpc]);
    await chain.hubClient.fetchHasBatchCall(never);
    await chain.gas.fetchGasQuote(never); // its first price is compared with others
    requests.count = 0;
    assert.equal((await sign(chain, delivery)).kind, "signed");
    assert.equal(requests.count, 1);
  });

  Deno.test(`known proofs: a proof ${what} that the host has taken since the simulation is not signed`, async () => {
    await using rpc = nodeWith({ latest: stale, pending: stale });
    assert.deepEqual(await sign(chainAt([rpc]).chain, delivery), { kind: "proofs_known", from: "blocks" });
  });

  Deno.test(`known proofs: a proof ${what} that waits in the mempool counts as delivered, for a minute`, async () => {
    await using rpc = nodeWith({ latest: unknown, pending: stale });
    const clock = new FakeClock();
    const { chain } = chainAt([rpc], {}, clock);
    assert.deepEqual(await sign(chain, delivery), { kind: "proofs_known", from: "mempool" });
    await clock.advance(59_000);
    assert.equal((await sign(chain, delivery)).kind, "proofs_known");
    await clock.advance(1_000);
    assert.equal((await sign(chain, delivery)).kind, "signed");
  });

  Deno.test(`known proofs: a node that does not show its mempool does not keep a proof ${what} from being signed`, async () => {
    await using rpc = nodeWith({ latest: unknown, pending: "fault" });
    assert.equal((await sign(chainAt([rpc]).chain, delivery)).kind, "signed");
  });
}

Deno.test("known proofs: messages whose height the host has learned by another proof go without the one in front", async () => {
  for (const [hubHeight, kind] of [[99n, "signed"], [100n, "proofs_known"]] as const) {
    const known = { state: before, hubHeight };
    await using rpc = nodeWith({ latest: known, pending: known });
    assert.equal((await sign(chainAt([rpc]).chain, bundle)).kind, kind);
  }
});

Deno.test("known proofs: what is no proof of this client's kind is left to the chain", async () => {
  await using rpc = nodeWith({ latest: stale, pending: stale });
  const other: Delivery = { steps: [{ kind: "consensus", proof: fromHex(toHash256(new Uint8Array(32))) }] };
  assert.equal((await sign(chainAt([rpc]).chain, other)).kind, "signed");
});

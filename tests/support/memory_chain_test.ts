import assert from "node:assert/strict";
import { type Message, postMessage } from "../../src/core/ismp/message.ts";
import type { Simulation } from "../../src/core/chains/submission.ts";
import {
  parseStateMachine,
  stateMachineIdKey,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import { FakeClock } from "./fake_clock.ts";
import { encodeProof } from "./memory_consensus.ts";
import { MemoryChain } from "./memory_chain.ts";
import { MemoryNode } from "./memory_node.ts";
import { MemoryEvm } from "./memory_evm.ts";

const { signal } = new AbortController();
const relayer = new Uint8Array(20).fill(7);
const families = ["evm", "substrate"] as const;

/** A hub and a chain that it delivers to. */
class Pair {
  readonly clock = new FakeClock();
  readonly source = new MemoryNode(this.clock, {
    id: { stateMachine: parseStateMachine("KUSAMA-4009"), consensusStateId: toConsensusStateId("PARA") },
    family: "substrate",
  });
  readonly from = new MemoryChain(this.source, this.clock, { relayer });
  readonly target: MemoryNode;
  readonly to: MemoryChain;

  constructor(family: typeof families[number] = "evm", setId?: bigint) {
    const id = { stateMachine: parseStateMachine("EVM-2"), consensusStateId: toConsensusStateId("ETH0") };
    this.target = new MemoryNode(this.clock, { id, family, ...(setId === undefined ? {} : { setId }) });
    this.to = new (family === "evm" ? MemoryEvm : MemoryChain)(this.target, this.clock, { relayer });
  }

  message(nonce: bigint, timeoutTimestampSec = 0n): Message {
    const [source, module] = [parseStateMachine("EVM-1"), new Uint8Array(20).fill(3)];
    const dest = this.target.id.stateMachine;
    const body = Uint8Array.of(1);
    return postMessage({ source, dest, nonce, from: module, to: module, timeoutTimestampSec, body });
  }

  /** Messages leave in one block of the source, of which the target learns. */
  depart(...messages: readonly Message[]): bigint {
    for (const one of messages) this.source.dispatch(one);
    const { height } = this.source.produceBlock();
    this.target.accept(this.source, height);
    this.target.produceBlock();
    return height;
  }

  /** Simulates messages behind consensus proofs. @param proved what the proof is of, where it is of others */
  async simulate(
    carried: readonly Message[],
    height: bigint,
    { proved = carried, behind = [] }: {
      readonly proved?: readonly Message[];
      readonly behind?: readonly Uint8Array[];
    } = {},
  ): Promise<Simulation> {
    const proof = await this.from.proveMessages(proved, { height, target: this.to }, signal);
    const consensus = behind.map((bytes) => ({ kind: "consensus" as const, proof: bytes }));
    return await this.to.simulate({
      steps: [...consensus, { kind: "messages", messages: carried, proof }],
    }, signal);
  }

  /** What the target says, as a code. */
  async codeOf(...parameters: Parameters<Pair["simulate"]>): Promise<string> {
    const simulation = await this.simulate(...parameters);
    return simulation.kind === "refused" ? simulation.refusal.code : "accepted";
  }

  /** A consensus proof about a height of the source. */
  proofOf(height: bigint, signedBy: bigint, newSetId?: bigint): Uint8Array {
    const root = this.source.block(height)?.hash ?? "0x";
    return encodeProof({ source: stateMachineIdKey(this.source.id), height, root, signedBy, newSetId });
  }
}

Deno.test("memory chain: the challenge period is reached on EVM hosts and exceeded on Substrate hosts", async () => {
  for (const family of families) {
    const chains = new Pair(family);
    chains.target.challengePeriodSec = 10n;
    const a = chains.message(1n);
    const height = chains.depart(a);
    const codes: string[] = [];
    for (const ms of [9_000, 1_000, 1_000]) {
      await chains.clock.advance(ms);
      chains.target.produceBlock();
      codes.push(await chains.codeOf([a], height));
    }
    assert.deepEqual(codes, ["not_ready", family === "evm" ? "accepted" : "not_ready", "accepted"]);
  }
});

Deno.test("memory host: a message goes behind the consensus proofs that make its block known, and pays for them", async () => {
  const chains = new Pair("evm", 4n);
  const one = chains.message(1n);
  chains.source.produceBlock();
  chains.source.dispatch(one);
  const { height } = chains.source.produceBlock();
  const behind = (...proofs: readonly Uint8Array[]): Promise<string> =>
    chains.codeOf([one], height, { behind: proofs });
  const [rotation, late] = [chains.proofOf(height - 1n, 4n, 5n), chains.proofOf(height, 5n)];
  assert.equal(await behind(), "not_ready");
  assert.equal(await behind(Uint8Array.of(1, 2)), "bad_proof");
  assert.equal(await behind(late), "unknown_authority_set");
  assert.equal(await behind(rotation, late), "accepted");
  assert.equal(await behind(late, rotation), "unknown_authority_set");
  assert.equal(chains.target.head.state.setId, 4n, "a simulation changes nothing");
  const simulation = await chains.simulate([one], height, { behind: [chains.proofOf(height, 4n)] });
  assert.ok(simulation.kind === "accepted");
  assert.deepEqual([simulation.gasUsed, simulation.messageGas], [400_000n, [100_000n]]);
  // An old proof is taken in silence and makes no block known.
  const newer = chains.source.produceBlock().height;
  chains.target.accept(chains.source, newer);
  chains.target.produceBlock();
  assert.equal(await behind(chains.proofOf(height, 4n)), "not_ready");
  assert.equal(await chains.codeOf([one], newer, { behind: [chains.proofOf(height, 9n)] }), "accepted");
});

import assert from "node:assert/strict";
import { type Message, postMessage } from "../../src/core/ismp/message.ts";
import type { SigningResult, Simulation } from "../../src/core/chains/submission.ts";
import {
  parseStateMachine,
  stateMachineIdKey,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import { FakeClock } from "./fake_clock.ts";
import { encodeProof } from "./memory_consensus.ts";
import { forge } from "./memory_host.ts";
import { MemoryChain } from "./memory_chain.ts";
import { MemoryNode } from "./memory_node.ts";
import { MemoryEvm } from "./memory_evm.ts";
import { seededRandomness } from "./seeded_randomness.ts";

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

Deno.test("memory chain: a proof holds for exactly its messages at a stored height, and a duplicate refuses the whole batch", async () => {
  for (const family of families) {
    const chains = new Pair(family);
    const [a, b, unsent] = [chains.message(1n), chains.message(2n), chains.message(9n)];
    const height = chains.depart(a, b);
    assert.equal(await chains.codeOf([a, b], height), "accepted");
    assert.equal(await chains.codeOf([b], height, { proved: [a] }), "bad_proof");
    assert.equal(await chains.codeOf([a, b], height, { proved: [a] }), "bad_proof");
    assert.equal(await chains.codeOf([a, b, a], height), "duplicate");
    assert.equal(await chains.codeOf([a], chains.source.produceBlock().height), "not_ready");
    await assert.rejects(chains.simulate([unsent], height), { code: "not_found" });
    chains.from.alterProof = forge;
    assert.equal(await chains.codeOf([a], height), "bad_proof");
  }
});

Deno.test("memory chain: a failing module is swallowed by an EVM host and refused by a Substrate host", async () => {
  const results = families.map(async (family) => {
    const chains = new Pair(family);
    const [a, b] = [chains.message(1n), chains.message(2n)];
    const height = chains.depart(a, b);
    chains.target.failing.add(a.commitment);
    const result = await chains.simulate([a, b], height);
    return result.kind === "accepted" ? result.handled : result.refusal.code;
  });
  assert.deepEqual(await Promise.all(results), [[false, true], "module_failed"]);
});

Deno.test("memory chain: what calls a handler that governance replaced is refused, reverts and costs gas; the relayer reads the new one", async () => {
  const chains = new Pair();
  const { target, to } = chains;
  const sent = [chains.message(1n), chains.message(2n)];
  const height = chains.depart(...sent);
  const sign = async (index: number): Promise<SigningResult> => {
    const messages = sent.slice(index, index + 1);
    const proof = await chains.from.proveMessages(messages, { height, target: to }, signal);
    const delivery = { steps: [{ kind: "messages" as const, messages, proof }] };
    const simulation = await to.simulate(delivery, signal);
    assert.ok(simulation.kind === "accepted");
    return await to.sign(delivery, { simulation, nonceAtLeast: undefined }, signal);
  };
  const old = await sign(0);
  assert.ok(old.kind === "signed");
  target.replaceHandler();
  target.produceBlock();
  await to.broadcast(old.submission, signal);
  target.produceBlock();
  const outcome = await to.fetchOutcome(old.submission, signal);
  assert.ok(outcome.kind === "included" && !outcome.succeeded);
  assert.equal(outcome.refusal?.code, "handler_replaced");
  assert.ok((outcome.spent?.gasUsed ?? 0n) > 0n);
  const again = await sign(1);
  assert.ok(again.kind === "signed");
  await to.broadcast(again.submission, signal);
  target.produceBlock();
  assert.equal(target.deliveries().length, 1);
});

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

Deno.test("memory chain: a message times out by the clock of the chain", async () => {
  const chains = new Pair();
  const a = chains.message(1n, BigInt(chains.clock.now() / 1000) + 5n);
  const height = chains.depart(a);
  assert.equal(await chains.codeOf([a], height), "accepted");
  await chains.clock.advance(5_000);
  chains.target.produceBlock();
  assert.equal(await chains.codeOf([a], height), "timed_out");
});

Deno.test("memory chain: a veto lowers the height, to 1 on EVM hosts; final blocks stay", async () => {
  for (const family of families) {
    const chains = new Pair(family);
    const first = chains.depart(chains.message(1n));
    chains.depart(chains.message(2n));
    chains.target.veto(chains.source);
    chains.target.produceBlock();
    const { height } = await chains.to.fetchView(chains.from.id, signal);
    assert.equal(height, family === "evm" ? 1n : first);
    const final = chains.target.finalHeight;
    chains.target.reorganise(2);
    assert.equal(chains.target.finalHeight, final);
    assert.throws(() => chains.target.reorganise(1), RangeError);
  }
});

Deno.test("fault plan: faults come where they were planned, and the same seed draws the same ones", async () => {
  const { to, target, clock } = new Pair();
  to.faults.add("fetchHeight", { kind: "throw", code: "throttled" }, { skip: 1, times: 2 });
  assert.equal(await to.fetchHeight(signal), 1n);
  await assert.rejects(to.fetchHeight(signal), { code: "throttled" });
  await assert.rejects(to.fetchHeight(signal), { code: "throttled" });
  assert.equal(await to.fetchHeight(signal), 1n);
  const stop = new AbortController();
  to.faults.add("fetchHeight", { kind: "hang" });
  const hanging = to.fetchHeight(stop.signal);
  await clock.settle();
  stop.abort(new Error("enough"));
  await assert.rejects(hanging, /enough/);
  to.faults.add("fetchHeight", { kind: "delay", ms: 500 });
  const late = to.fetchHeight(signal);
  target.produceBlock();
  await clock.advance(500);
  assert.equal(await late, 2n);
  const course = async (seed: number): Promise<string> => {
    to.faults.draw(seededRandomness(seed), 30, [{ kind: "throw", code: "unreachable" }]);
    let marks = "";
    for (let call = 0; call < 40; call++) {
      marks += await to.fetchHeight(signal).then(() => ".", () => "!");
    }
    return marks;
  };
  assert.equal(await course(4), await course(4));
  assert.notEqual(await course(4), await course(5));
  assert.match(await course(4), /!/);
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

Deno.test("memory host: hosts with another client refuse every proof", async () => {
  const chains = new Pair("evm");
  const one = chains.message(1n);
  const height = chains.depart(one);
  assert.equal(await chains.codeOf([one], height, { behind: [chains.proofOf(height, 4n)] }), "bad_proof");
});

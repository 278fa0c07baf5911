import assert from "node:assert/strict";
import { type Message, postMessage } from "../../src/core/ismp/message.ts";
import type { Delivery, SigningResult, Simulation } from "../../src/core/chains/submission.ts";
import {
  parseStateMachine,
  stateMachineIdKey,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import { FakeClock } from "./fake_clock.ts";
import { MemoryChain } from "./memory_chain.ts";
import { encodeProof } from "./memory_consensus.ts";
import { forge } from "./memory_host.ts";
import { MemoryNode } from "./memory_node.ts";
import { MemoryEvm } from "./memory_evm.ts";
import { RecordedLog } from "./recorded_log.ts";
import { seededRandomness } from "./seeded_randomness.ts";

const { signal } = new AbortController();
const targetName = parseStateMachine("EVM-2");

interface Pair {
  readonly clock: FakeClock;
  readonly source: MemoryNode;
  readonly target: MemoryNode;
  readonly from: MemoryChain;
  readonly to: MemoryChain;
}

function pair(family: "evm" | "substrate" = "evm", setId?: bigint): Pair {
  const clock = new FakeClock();
  const relayer = new Uint8Array(20).fill(7);
  const source = new MemoryNode(clock, {
    id: { stateMachine: parseStateMachine("KUSAMA-4009"), consensusStateId: toConsensusStateId("PARA") },
    family: "substrate",
  });
  const id = { stateMachine: targetName, consensusStateId: toConsensusStateId("ETH0") };
  const target = new MemoryNode(clock, { id, family, ...(setId === undefined ? {} : { setId }) });
  const connect = (node: MemoryNode): MemoryChain => new MemoryChain(node, clock, { relayer });
  return { clock, source, target, from: connect(source), to: connect(target) };
}

function message(nonce: bigint, timeoutTimestampSec = 0n): Message {
  const body = new Uint8Array([1]);
  const module = new Uint8Array(20).fill(3);
  const source = parseStateMachine("EVM-1");
  return postMessage({
    source,
    dest: targetName,
    nonce,
    from: module,
    to: module,
    timeoutTimestampSec,
    body,
  });
}

/** Sends messages at the source, and lets the target know of their block. */
function depart({ source, target }: Pair, messages: readonly Message[]): bigint {
  for (const one of messages) source.dispatch(one);
  const { height } = source.produceBlock();
  target.accept(source, height);
  target.produceBlock();
  return height;
}

async function simulate(
  { from, to }: Pair,
  proved: readonly Message[],
  carried: readonly Message[],
  height: bigint,
): Promise<Simulation> {
  const proof = await from.proveMessages(proved, { height, target: to }, signal);
  return await to.simulate({ steps: [{ kind: "messages", messages: carried, proof }] }, signal);
}

for (const family of ["evm", "substrate"] as const) {
  Deno.test(`memory chain (${family}): a proof holds for exactly its messages at a stored height`, async () => {
    const chains = pair(family);
    const [a, b] = [message(1n), message(2n)];
    const height = depart(chains, [a, b]);
    assert.equal((await simulate(chains, [a, b], [a, b], height)).kind, "accepted");
    const other = await simulate(chains, [a], [b], height);
    assert.ok(other.kind === "refused" && other.refusal.code === "bad_proof");
    const more = await simulate(chains, [a], [a, b], height);
    assert.ok(more.kind === "refused" && more.refusal.code === "bad_proof");
    const unknown = await simulate(chains, [a], [a], chains.source.produceBlock().height);
    assert.ok(unknown.kind === "refused" && unknown.refusal.code === "not_ready");
    chains.from.alterProof = forge;
    const forged = await simulate(chains, [a], [a], height);
    assert.ok(forged.kind === "refused" && forged.refusal.code === "bad_proof");
    await assert.rejects(simulate(chains, [message(9n)], [message(9n)], height), { code: "not_found" });
  });

  Deno.test(`memory chain (${family}): a duplicate refuses the whole batch`, async () => {
    const chains = pair(family);
    const [a, b] = [message(1n), message(2n)];
    const height = depart(chains, [a, b]);
    const twice = await simulate(chains, [a, b, a], [a, b, a], height);
    assert.ok(twice.kind === "refused" && twice.refusal.code === "duplicate");
  });
}

Deno.test("memory chain: a failing module is swallowed by an EVM host and refused by a Substrate host", async () => {
  for (const family of ["evm", "substrate"] as const) {
    const chains = pair(family);
    const [a, b] = [message(1n), message(2n)];
    const height = depart(chains, [a, b]);
    chains.target.failing.add(a.commitment);
    const result = await simulate(chains, [a, b], [a, b], height);
    if (family === "evm") assert.deepEqual(result.kind === "accepted" && result.handled, [false, true]);
    else assert.ok(result.kind === "refused" && result.refusal.code === "module_failed");
  }
});

Deno.test("memory chain: what calls a handler that governance replaced is refused, reverts and costs gas; the relayer reads the new one", async () => {
  const work = pair();
  const { clock, target } = work;
  const relayer = new Uint8Array(20).fill(8);
  const log = new RecordedLog();
  const to = new MemoryEvm(target, clock, { relayer, log });
  const sent = [message(1n), message(2n)];
  const height = depart(work, sent);
  const deliver = async (carried: Message): Promise<Delivery> => ({
    steps: [{
      kind: "messages",
      messages: [carried],
      proof: await work.from.proveMessages([carried], { height, target: to }, signal),
    }],
  });
  const [first, second] = await Promise.all(sent.map(deliver));
  assert.ok(first !== undefined && second !== undefined);
  const sign = async (delivery: Delivery): Promise<SigningResult> => {
    const simulation = await to.simulate(delivery, signal);
    assert.ok(simulation.kind === "accepted");
    return await to.sign(delivery, { simulation, nonceAtLeast: undefined }, signal);
  };
  const old = await sign(first);
  assert.ok(old.kind === "signed");
  target.replaceHandler();
  target.produceBlock();
  await to.broadcast(old.submission, signal);
  target.produceBlock();
  const outcome = await to.fetchOutcome(old.submission, signal);
  assert.ok(outcome.kind === "included" && !outcome.succeeded);
  assert.equal(outcome.refusal?.code, "handler_replaced");
  assert.ok((outcome.spent?.gasUsed ?? 0n) > 0n);
  const again = await sign(second);
  assert.ok(again.kind === "signed");
  assert.deepEqual(log.events("info"), ["host_changed"]);
  await to.broadcast(again.submission, signal);
  target.produceBlock();
  assert.equal(target.deliveries().length, 1);
});

Deno.test("memory chain: the challenge period is reached on EVM hosts and exceeded on Substrate hosts", async () => {
  for (const family of ["evm", "substrate"] as const) {
    const chains = pair(family);
    chains.target.challengePeriodSec = 10n;
    const a = message(1n);
    const height = depart(chains, [a]);
    const kinds: string[] = [];
    for (const ms of [9_000, 1_000, 1_000]) {
      await chains.clock.advance(ms);
      chains.target.produceBlock();
      kinds.push((await simulate(chains, [a], [a], height)).kind);
    }
    const [early, exact, late] = kinds;
    assert.deepEqual([early, late], ["refused", "accepted"]);
    assert.equal(exact, family === "evm" ? "accepted" : "refused");
  }
});

Deno.test("memory chain: a message times out by the clock of the chain", async () => {
  const chains = pair();
  const dueSec = BigInt(chains.clock.now() / 1000) + 5n;
  const a = message(1n, dueSec);
  const height = depart(chains, [a]);
  assert.equal((await simulate(chains, [a], [a], height)).kind, "accepted");
  await chains.clock.advance(5_000);
  chains.target.produceBlock();
  const late = await simulate(chains, [a], [a], height);
  assert.ok(late.kind === "refused" && late.refusal.code === "timed_out");
});

Deno.test("memory chain: a veto lowers the height, to 1 on EVM hosts", async () => {
  for (const family of ["evm", "substrate"] as const) {
    const chains = pair(family);
    const first = depart(chains, [message(1n)]);
    depart(chains, [message(2n)]);
    chains.target.veto(chains.source);
    chains.target.produceBlock();
    const { height } = await chains.to.fetchView(chains.from.id, signal);
    assert.equal(height, family === "evm" ? 1n : first);
  }
});

Deno.test("memory chain: final blocks stay, also after many reorganisations", () => {
  const { target } = pair();
  for (let block = 0; block < 5; block++) target.produceBlock();
  const final = target.finalHeight;
  target.reorganise(2);
  assert.equal(target.finalHeight, final);
  assert.throws(() => target.reorganise(1), RangeError);
});

Deno.test("fault plan: faults come where they were planned, and a lost answer leaves the deed done", async () => {
  const { to, target, clock } = pair();
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
});

Deno.test("fault plan: the same seed draws the same faults", async () => {
  const course = async (seed: number): Promise<string> => {
    const { to } = pair();
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

/** The bytes of a proof about `height` of the source. */
function proofOf({ source }: Pair, height: bigint, signedBy: bigint, newSetId?: bigint): Uint8Array {
  const root = source.block(height)?.hash ?? "0x";
  return encodeProof({ source: stateMachineIdKey(source.id), height, root, signedBy, newSetId });
}

/** Simulates consensus proofs in front of a message that is proved at `height`. */
async function simulateBehind(
  ends: Pair,
  proofs: readonly Uint8Array[],
  carried: Message,
  height: bigint,
): Promise<Simulation> {
  const proof = await ends.from.proveMessages([carried], { height, target: ends.to }, signal);
  const consensus = proofs.map((bytes) => ({ kind: "consensus" as const, proof: bytes }));
  const steps = [...consensus, { kind: "messages" as const, messages: [carried], proof }];
  return await ends.to.simulate({ steps }, signal);
}

const codeOf = (simulation: Simulation): string =>
  simulation.kind === "refused" ? simulation.refusal.code : "accepted";

Deno.test("memory host: a message goes behind the consensus proof that makes its block known, and pays for both", async () => {
  const ends = pair("evm", 4n);
  const one = message(1n);
  ends.source.dispatch(one);
  const { height } = ends.source.produceBlock();
  assert.equal(codeOf(await simulateBehind(ends, [], one, height)), "not_ready");
  const simulation = await simulateBehind(ends, [proofOf(ends, height, 4n)], one, height);
  assert.ok(simulation.kind === "accepted");
  assert.deepEqual([simulation.gasUsed, simulation.messageGas], [400_000n, [100_000n]]);
});

Deno.test("memory host: an old consensus proof is taken in silence and makes no block known", async () => {
  const ends = pair("evm", 4n);
  const one = message(1n);
  ends.source.dispatch(one);
  const { height } = ends.source.produceBlock();
  ends.source.produceBlock();
  ends.target.accept(ends.source, height + 1n);
  ends.target.produceBlock();
  assert.equal(codeOf(await simulateBehind(ends, [proofOf(ends, height, 4n)], one, height)), "not_ready");
  assert.equal(codeOf(await simulateBehind(ends, [proofOf(ends, height, 9n)], one, height + 1n)), "accepted");
});

Deno.test("memory host: proofs of authorities that are not current are refused, unless the rotations come first", async () => {
  const ends = pair("evm", 4n);
  const one = message(1n);
  ends.source.produceBlock();
  ends.source.dispatch(one);
  const { height } = ends.source.produceBlock();
  const late = proofOf(ends, height, 5n);
  assert.equal(codeOf(await simulateBehind(ends, [late], one, height)), "unknown_authority_set");
  const rotation = proofOf(ends, height - 1n, 4n, 5n);
  assert.equal(codeOf(await simulateBehind(ends, [rotation, late], one, height)), "accepted");
  assert.equal(codeOf(await simulateBehind(ends, [late, rotation], one, height)), "unknown_authority_set");
  assert.equal(ends.target.head.state.setId, 4n, "a simulation changes nothing");
});

Deno.test("memory host: bytes that are no proof, and hosts with another client, refuse", async () => {
  for (const setId of [4n, undefined]) {
    const ends = pair("evm", setId);
    const one = message(1n);
    ends.source.dispatch(one);
    const { height } = ends.source.produceBlock();
    const bytes = setId === undefined ? proofOf(ends, height, 4n) : new Uint8Array([1, 2]);
    assert.equal(codeOf(await simulateBehind(ends, [bytes], one, height)), "bad_proof");
  }
});

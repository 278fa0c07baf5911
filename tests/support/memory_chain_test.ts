/** What a host in memory takes, and when: the relayer's tests rest on that. */
import assert from "node:assert/strict";
import type { Simulation } from "../../src/core/chains/submission.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import { stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import { type Fixture, type Scene, setUp } from "../messaging/relay/fixture.ts";
import { encodeProof } from "./memory_consensus.ts";
import type { MemoryNode } from "./memory_node.ts";

/** A message leaves in a block of the source, of which the target learns. */
function depart(message: Message, source: MemoryNode, target: MemoryNode): bigint {
  source.dispatch(message);
  const { height } = source.produceBlock();
  target.accept(source, height);
  target.produceBlock();
  return height;
}

/** Simulates a message on the second chain (or on the hub) behind consensus proofs. */
async function simulate(
  { relayer: { one, two, hub, signal } }: Scene,
  { message, height, behind = [], isIn = false }: {
    readonly message: Message;
    readonly height: bigint;
    readonly behind?: readonly Uint8Array[];
    readonly isIn?: boolean;
  },
): Promise<Simulation> {
  const [from, to] = isIn ? [one, hub] : [hub, two];
  const proof = await from.proveMessages([message], { height, target: to }, signal);
  const consensus = behind.map((bytes) => ({ kind: "consensus" as const, proof: bytes }));
  return await to.simulate(
    { steps: [...consensus, { kind: "messages", messages: [message], proof }] },
    signal,
  );
}

const codeOf = (simulation: Simulation): string =>
  simulation.kind === "refused" ? simulation.refusal.code : "accepted";

Deno.test("memory chain: the challenge period is reached on EVM hosts and exceeded on Substrate hosts", async () => {
  for (const isIn of [false, true]) {
    const period = { challengePeriodSec: 10n };
    const scene = setUp({ nodes: { two: period, hub: period } });
    const { fixture } = scene;
    const [source, target] = isIn ? [fixture.one, fixture.hub] : [fixture.hub, fixture.two];
    const message = fixture.message();
    const height = depart(message, source, target);
    const codes: string[] = [];
    for (const ms of [9_000, 1_000, 1_000]) {
      await fixture.clock.advance(ms);
      target.produceBlock();
      codes.push(codeOf(await simulate(scene, { message, height, isIn })));
    }
    assert.deepEqual(codes, ["not_ready", isIn ? "not_ready" : "accepted", "accepted"]);
  }
});

/** A consensus proof about a height of the hub. */
function proofOf({ hub }: Fixture, height: bigint, signedBy: bigint, newSetId?: bigint): Uint8Array {
  const root = hub.block(height)?.hash ?? "0x";
  return encodeProof({ source: stateMachineIdKey(hub.id), height, root, signedBy, newSetId });
}

Deno.test("memory host: a message goes behind the consensus proofs that make its block known, and pays for them", async () => {
  const scene = setUp({ nodes: { two: { setId: 4n } } });
  const { fixture, fixture: { hub, two } } = scene;
  const message = fixture.message();
  hub.produceBlock();
  hub.dispatch(message);
  const { height } = hub.produceBlock();
  const behind = async (...proofs: readonly Uint8Array[]): Promise<string> =>
    codeOf(await simulate(scene, { message, height, behind: proofs }));
  const [rotation, late] = [proofOf(fixture, height - 1n, 4n, 5n), proofOf(fixture, height, 5n)];
  assert.equal(await behind(), "not_ready");
  assert.equal(await behind(Uint8Array.of(1, 2)), "bad_proof");
  assert.equal(await behind(late), "unknown_authority_set");
  assert.equal(await behind(rotation, late), "accepted");
  assert.equal(await behind(late, rotation), "unknown_authority_set");
  assert.equal(two.head.state.setId, 4n, "a simulation changes nothing");
  const simulation = await simulate(scene, { message, height, behind: [proofOf(fixture, height, 4n)] });
  assert.ok(simulation.kind === "accepted");
  assert.deepEqual([simulation.gasUsed, simulation.messageGas], [400_000n, [100_000n]]);
  // An old proof is taken in silence and makes no block known.
  const newer = hub.produceBlock().height;
  two.accept(hub, newer);
  two.produceBlock();
  assert.equal(await behind(proofOf(fixture, height, 4n)), "not_ready");
  const old = [proofOf(fixture, height, 9n)];
  assert.equal(codeOf(await simulate(scene, { message, height: newer, behind: old })), "accepted");
});

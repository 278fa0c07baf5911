import { consensusSettings } from "../../../../devnet/hub/pallets/consensus_verifiers.ts";
import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import assert from "node:assert/strict";
import { consensusDigestCodec, timestampDigestCodec } from "../../../../src/core/ismp/host_state.ts";
import { findDigest } from "../../../../devnet/hub/digest.ts";
import {
  decodeGrandpaMessage,
  decodeGrandpaState,
} from "../../../../src/consensus/clients/grandpa/spec/verify_message.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { clientOf } from "../../../../devnet/hub/initial_clients.ts";
import { parachainClientId } from "../../../../devnet/hub/pallets/consensus_clients.ts";
import { startRelayChain } from "../../../../devnet/relay/relay_chain.ts";
import { catchProverFault, reasonOf, updatesOf } from "../../findings.ts";
import { Fixture, never, onFixture } from "./fixture.ts";

/** A test of this file, so that reports name it. */
const test = (name: string, ...work: Parameters<typeof onFixture>): void =>
  Deno.test(name, onFixture(...work));

/** Headers in a proof. */
function headerCount(proof: Uint8Array | undefined): number {
  assert.ok(proof);
  return decodeGrandpaMessage(proof).value.finalityProof.unknownHeaders.length;
}

test("GRANDPA prover: a chain follows the hub block by block, with the roots and the time of its headers", async (fixture) => {
  const prover = fixture.prover();
  assert.deepEqual(await prover.next(never), { kind: "nothing", reason: "no newer final block" });
  for (let round = 0; round < 3; round++) {
    const header = fixture.advance(2);
    const finding = updatesOf(await prover.next(never));
    assert.equal(finding.height, BigInt(header.number));
    assert.equal(finding.hasMore, false);
    assert.equal(finding.proofs.length, 1);
    await fixture.submit(finding);
    assert.equal(fixture.knownHeight, BigInt(header.number));
    const roots = findDigest(header.digest, "ISMP", consensusDigestCodec);
    const time = findDigest(header.digest, "ISTM", timestampDigestCodec);
    const at = { id: fixture.hubId, height: BigInt(header.number) };
    assert.deepEqual(await fixture.target.reads.fetchCommitment(at, never), {
      timestampSec: time?.timestampSec,
      overlayRoot: roots?.mmrRoot,
      stateRoot: roots?.childTrieRoot,
    });
    assert.equal((await fixture.fetchTrusted()).latestHash, fixture.relay.finalized.hash);
    assert.deepEqual(await prover.next(never), { kind: "nothing", reason: "no newer final block" });
  }
});

test("GRANDPA prover: a change of the set that is not final yet is followed from block to block", async (fixture) => {
  const prover = fixture.prover();
  const soon = 6_000;
  fixture.advance();
  const change = fixture.relay.rotate();
  const before = await prover.next(never);
  assert.ok(before.kind === "updates" && fixture.relay.finalized.number < change.number);
  assert.equal(before.hasMore, true, "the set changes beyond the final block");
  await fixture.submit(before);
  const waiting = { kind: "nothing", reason: "no newer final block", againInMs: soon } as const;
  assert.deepEqual(await prover.next(never), waiting);
  fixture.relay.produceBlocks(1);
  assert.deepEqual(await prover.next(never), {
    kind: "nothing",
    reason: "the final block proves no newer height of the hub",
    againInMs: soon,
  });
  fixture.relay.produceBlocks(1);
  const [update, ...others] = await fixture.follow(prover);
  assert.equal(others.length, 0);
  assert.equal(update?.hasMore, false);
  assert.equal((await fixture.fetchTrusted()).latestHash, change.hash);
  assert.deepEqual(await prover.next(never), { kind: "nothing", reason: "no newer final block" });
});

for (
  const [name, appended] of [
    ["undecodable headers", "ff".repeat(40)],
    ["more than any honest proof has", "00".repeat(5_000_000)],
  ] as const
) {
  test(`GRANDPA prover: a finality proof with ${name} does not keep the chain from being followed`, async (fixture) => {
    fixture.relay.alter = ({ method }, result) =>
      method === "grandpa_proveFinality" ? `${String(result)}${appended}` : result;
    fixture.advance(2, 20);
    assert.equal((await fixture.follow(fixture.prover())).length, 1);
    const { latestHeight } = await fixture.fetchTrusted();
    // The votes of a proof that is read are for the newest block, those that the node keeps for every eighth.
    const newest = fixture.relay.finalized.number;
    assert.equal(latestHeight, appended.length > 100 ? Math.floor(newest / 8) * 8 : newest);
  });
}

test("GRANDPA prover: sessions that were missed are caught up with, one proof for each", async (fixture) => {
  fixture.passSessions(3);
  fixture.advance();
  const updates = await fixture.follow(fixture.prover());
  assert.deepEqual(updates.map(({ hasMore }) => hasMore), [true, true, true, false]);
  const trusted = await fixture.fetchTrusted();
  assert.equal(trusted.latestHash, fixture.relay.finalized.hash);
  assert.equal(trusted.currentSetId, fixture.relay.session.grandpaSetId);
  assert.equal(fixture.knownHeight, BigInt(fixture.hub.finalized.number));
});

test("GRANDPA prover: a change of the set is delivered though the hub stands still", async (fixture) => {
  await fixture.follow(fixture.prover());
  fixture.advance();
  await fixture.follow(fixture.prover());
  fixture.relay.produceBlocks(3);
  assert.deepEqual(await fixture.prover().next(never), {
    kind: "nothing",
    reason: "the final block proves no newer height of the hub",
  });
  const change = fixture.relay.rotate();
  fixture.relay.produceBlocks(2);
  const [update, ...others] = await fixture.follow(fixture.prover());
  assert.equal(others.length, 0);
  assert.equal(update?.height, undefined);
  assert.equal((await fixture.fetchTrusted()).latestHash, change.hash);
});

Deno.test("GRANDPA prover: where the newest votes are on different blocks, an earlier justification is taken, or none", async () => {
  let splits = (_: number): boolean => false;
  await using fixture = await Fixture.start({
    relay: { grandpaPeriod: 4, splitVotes: (block) => splits(block) },
  });
  fixture.advance(2, 12);
  const newest = fixture.relay.finalized.number;
  splits = (block) => block === newest;
  await fixture.submit(updatesOf(await fixture.prover().next(never)));
  const { latestHeight } = await fixture.fetchTrusted();
  assert.equal(latestHeight, newest % 4 === 0 ? newest - 4 : newest - newest % 4);
  assert.equal(fixture.knownHeight, BigInt(fixture.hub.finalized.number));
  splits = () => true;
  fixture.advance(2, 12);
  assert.deepEqual(await fixture.prover().next(never), {
    kind: "nothing",
    reason: "the votes are for different blocks, which the verifier refuses; another block is tried later",
    againInMs: 6_000,
  });
});

Deno.test("GRANDPA prover: a gap that is wider than max_block_range is crossed in several proofs", async () => {
  await using fixture = await Fixture.start({ prover: { maxBlockRange: 10 }, relay: { grandpaPeriod: 8 } });
  const { latestHeight: start } = await fixture.fetchTrusted();
  for (let round = 0; round < 10; round++) fixture.advance(1, 4);
  const updates = await fixture.follow(fixture.prover());
  assert.ok(updates.length > 3);
  assert.ok(updates.every(({ proofs }) => headerCount(proofs[0]) <= 10));
  assert.deepEqual(updates.map(({ hasMore }) => hasMore).indexOf(false), updates.length - 1);
  const trusted = await fixture.fetchTrusted();
  assert.equal(trusted.latestHash, fixture.relay.finalized.hash);
  assert.ok(trusted.latestHeight - start > 39);
});

Deno.test("GRANDPA prover: the client gets over a range in which the hub stood still", async () => {
  await using fixture = await Fixture.start({ prover: { maxBlockRange: 10 }, relay: { grandpaPeriod: 8 } });
  await fixture.follow(fixture.prover());
  fixture.relay.produceBlocks(30);
  fixture.advance();
  const updates = await fixture.follow(fixture.prover());
  assert.equal(updates.at(-1)?.height, BigInt(fixture.hub.finalized.number));
  assert.equal((await fixture.fetchTrusted()).latestHash, fixture.relay.finalized.hash);
});

Deno.test("GRANDPA prover: a range without any justification is reported by its size", async () => {
  await using fixture = await Fixture.start({ prover: { maxBlockRange: 5 }, relay: { grandpaPeriod: 512 } });
  fixture.advance(1, 20);
  assert.deepEqual(await fixture.prover().next(never), {
    kind: "nothing",
    reason: "the node keeps no justification for any of the 5 blocks after the known one (max_block_range)",
  });
});

Deno.test("GRANDPA prover: a node that neither proves finality nor keeps a justification is reported with what helps", async () => {
  await using fixture = await Fixture.start({
    relay: { missingMethods: ["grandpa_proveFinality"], grandpaPeriod: 512 },
  });
  fixture.advance();
  const prover = fixture.prover();
  const asked = async (): Promise<number> => {
    const before = fixture.relay.callCounts.get("chain_getBlock") ?? 0;
    const finding = await prover.next(never);
    assert.ok(finding.kind === "nothing");
    assert.match(
      finding.reason,
      /keeps no justification .* offers no usable grandpa_proveFinality: use a node/,
    );
    return (fixture.relay.callCounts.get("chain_getBlock") ?? 0) - before;
  };
  const { latestHeight } = await fixture.fetchTrusted();
  assert.equal(await asked(), fixture.relay.finalized.number - latestHeight);
  fixture.relay.produceBlocks(5);
  assert.equal(await asked(), 5, "blocks that were searched without result are not read again");
});

Deno.test("GRANDPA prover: a node that proves no finality is searched for the justifications that it keeps", async () => {
  await using fixture = await Fixture.start({ relay: { missingMethods: ["grandpa_proveFinality"] } });
  fixture.advance(2, 20);
  assert.equal((await fixture.follow(fixture.prover())).length, 1);
  assert.equal(
    (await fixture.fetchTrusted()).latestHeight,
    Math.floor(fixture.relay.finalized.number / 8) * 8,
  );
  fixture.relay.missingMethods = new Set();
  fixture.relay.fault = ({ method }) =>
    method === "grandpa_proveFinality"
      ? { kind: "error", code: 4, message: "GRANDPA prove finality rpc failed: Block not covered" }
      : undefined;
  fixture.relay.produceBlocks(8);
  fixture.advance(2, 8);
  assert.equal((await fixture.follow(fixture.prover())).length, 1);
  fixture.relay.fault = ({ method }) =>
    method === "grandpa_proveFinality" ? { kind: "result", result: null } : undefined;
  fixture.advance(2, 16);
  assert.equal((await fixture.follow(fixture.prover())).length, 1);
});

test("GRANDPA prover: blocks become final between its questions", async (fixture) => {
  fixture.advance(1, 4);
  let isLate = true;
  fixture.relay.fault = ({ method }) => {
    if (method === "grandpa_proveFinality" && isLate) fixture.relay.produceBlocks(3);
    return undefined;
  };
  const prover = fixture.prover();
  assert.equal((await fixture.follow(prover, 2)).length, 1);
  assert.equal((await fixture.fetchTrusted()).latestHash, fixture.relay.finalized.hash);
  // The set may change meanwhile as well: the node then proves by the last block of the old set.
  isLate = false;
  fixture.advance(1, 4);
  let change = "";
  fixture.relay.fault = ({ method }) => {
    if (method === "grandpa_proveFinality" && change === "") {
      change = fixture.relay.rotate().hash;
      fixture.relay.produceBlocks(3);
    }
    return undefined;
  };
  await fixture.submit(updatesOf(await prover.next(never)));
  assert.equal((await fixture.fetchTrusted()).latestHash, change);
});

test("GRANDPA prover: another relay chain than the client's is reported", async (fixture) => {
  await using stranger = await startRelayChain({ blockTimeMs: "manual", now: () => 1_000_000_000_000 });
  const known = (await fixture.fetchTrusted()).latestHeight;
  const equal = await catchProverFault(fixture.prover({}, { relayUrl: stranger.wsUrl }).next(never));
  assert.equal(stranger.finalized.number, known);
  assert.match(equal.detail, /another chain/);
  stranger.produceBlocks(20);
  const fault = await catchProverFault(fixture.prover({}, { relayUrl: stranger.wsUrl }).next(never));
  assert.equal(fault.code, "hub_state");
  assert.match(fault.detail, /another chain/);
});

test("GRANDPA prover: a relay chain whose final block is before the client's is reported", async (fixture) => {
  await using young = await startRelayChain({ blockTimeMs: "manual", now: () => 1_000_000_000_000 });
  fixture.advance(1, 20);
  await fixture.follow(fixture.prover());
  const { latestHeight } = await fixture.fetchTrusted();
  const finding = await fixture.prover({}, { relayUrl: young.wsUrl }).next(never);
  assert.ok(finding.kind === "nothing");
  const said = new RegExp(
    `is ${young.finalized.number}, but the client knows ${latestHeight}: the node is behind`,
  );
  assert.match(finding.reason, said);
});

test("GRANDPA prover: clients that are missing, of another kind or frozen, and chains that do not list the hub", async (fixture) => {
  const prover = fixture.prover();
  const { consensusStateId: stateId } = fixture.hubId;
  const { node } = fixture.chain;
  assert.deepEqual(await prover.check(never), []);
  const initial = await prover.fetchInitialState(never);
  assert.equal(initial.clientId, consensusClientIds.grandpa);
  assert.equal(decodeGrandpaState(initial.state).latestHash, fixture.relay.finalized.hash);

  const produce = async (change: Promise<unknown>): Promise<void> => {
    node.produceBlock();
    await change;
  };
  await produce(
    node.change(({ overlay }) =>
      consensusSettings.grandpaStateMachine.remove(overlay, fixture.hubId.stateMachine)
    ),
  );
  assert.match((await prover.check(never))[0]?.found ?? "", /SupportedStateMachines/);
  fixture.advance();
  assert.equal((await prover.next(never)).kind, "nothing");
  await produce(node.change(consensusSettings.grandpaStateMachine.to(6000n, fixture.hubId.stateMachine)));
  assert.equal((await fixture.follow(prover)).length, 1);

  await produce(node.freezeClient(stateId));
  assert.match((await catchProverFault(prover.next(never))).detail, /frozen/);
  await produce(node.unfreezeClient(stateId));
  const wrong = clientOf(stateId, initial);
  await produce(node.createConsensusClient({ ...wrong, state: Uint8Array.of(1) }));
  await produce(node.createConsensusClient({ ...wrong, clientId: parachainClientId }));
  assert.match((await catchProverFault(prover.check(never))).detail, /is PARA, not GRNP$/);

  const unknown = fixture.prover({ consensusStateId: toConsensusStateId("NONE") });
  assert.match((await catchProverFault(unknown.check(never))).detail, /has no client NONE/);
  assert.match((await catchProverFault(unknown.next(never))).detail, /has no client NONE/);
});

test("GRANDPA prover: a standalone chain is proved by its own headers, parachains of another relay chain by theirs", async (fixture) => {
  const variants = [
    { stateMachine: parseStateMachine("SUBSTRATE-solo"), paraIds: [] },
    { stateMachine: parseStateMachine("RELAY-PAS0-4009"), paraIds: [4009] },
  ];
  const { node } = fixture.chain;
  const produce = async (change: Promise<unknown>): Promise<void> => {
    node.produceBlock();
    await change;
  };
  for (const { stateMachine, paraIds } of variants) {
    const prover = fixture.prover({ stateMachine, paraIds });
    const initial = await prover.fetchInitialState(never);
    await produce(node.createConsensusClient(clientOf(fixture.hubId.consensusStateId, initial)));
    await produce(node.change(consensusSettings.grandpaStateMachine.to(6000n, stateMachine)));
    assert.deepEqual(await prover.check(never), []);
    fixture.passSessions(1);
    fixture.advance();
    assert.equal((await fixture.follow(prover)).length, 2);
    const isStandalone = paraIds.length === 0;
    const known = isStandalone ? fixture.relay.finalized.number : fixture.hub.finalized.number;
    const id = { stateMachine, consensusStateId: fixture.hubId.consensusStateId };
    assert.equal(node.latestHeight(id), BigInt(known));
    const commitment = await fixture.target.reads.fetchCommitment({ id, height: BigInt(known) }, never);
    const stateRoot = isStandalone
      ? fixture.relay.header(known).stateRoot
      : fixture.hub.finalizedHeader.stateRoot;
    assert.equal(commitment?.stateRoot, stateRoot);
  }
});

Deno.test("GRANDPA prover: sets whose blocks the node has pruned are passed without heads, which the last proof has", async () => {
  await using fixture = await Fixture.start({ relay: { keepStates: 8 } });
  const { currentSetId } = await fixture.fetchTrusted();
  fixture.passSessions(2, 12);
  const found = await fixture.follow(fixture.prover());
  const final = BigInt(fixture.hub.finalized.number);
  assert.deepEqual(found.map(({ height }) => height), [undefined, undefined, final]);
  assert.match(found[0]?.summary ?? "", /without heads, which the node has pruned/);
  assert.doesNotMatch(found[2]?.summary ?? "", /pruned/);
  assert.equal(fixture.knownHeight, final);
  assert.equal((await fixture.fetchTrusted()).currentSetId, currentSetId + 2n);
});

Deno.test("GRANDPA prover: a block that the node has pruned changes nothing unless it changes the set", async () => {
  await using fixture = await Fixture.start({ relay: { keepStates: 8, grandpaPeriod: 16 } });
  fixture.advance(1, 20);
  // The newest votes are not served, so block 16 is the newest that can be proved.
  fixture.relay.missingMethods = new Set(["grandpa_proveFinality"]);
  assert.match(reasonOf(await fixture.prover().next(never)), /pruned the heads/);
});

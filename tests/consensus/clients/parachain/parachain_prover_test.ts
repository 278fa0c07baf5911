import { consensusSettings } from "../../../../devnet/hub/pallets/consensus_verifiers.ts";
import { consensusClientIds } from "../../../../src/core/ismp/consensus_clients.ts";
import assert from "node:assert/strict";
import { GrandpaProver } from "../../../../src/consensus/clients/grandpa/grandpa_prover.ts";
import { ParachainProver } from "../../../../src/consensus/clients/parachain/parachain_prover.ts";
import { proverByClient } from "../../../../src/consensus/clients/grandpa/client.ts";
import { decodeParachainProof } from "../../../../src/consensus/clients/parachain/spec/parachain_proof.ts";
import { consensusDigestCodec, timestampDigestCodec } from "../../../../src/core/ismp/host_state.ts";
import { parseStateMachine, toConsensusStateId } from "../../../../src/core/ismp/state_machine.ts";
import { findDigest } from "../../../../devnet/hub/digest.ts";
import { clientOf } from "../../../../devnet/hub/initial_clients.ts";
import { grandpaStateOf } from "../../../../devnet/updates/substrate_oracle_chain.ts";
import { parachainClientId } from "../../../../devnet/hub/pallets/consensus_clients.ts";
import { connectRelay } from "../../../../devnet/relay/relay_reader.ts";
import { catchProverFault, outcomeOf, reasonOf, turned, updatesOf } from "../../findings.ts";
import { Fixture, never, SIBLING } from "./fixture.ts";

Deno.test("parachain prover: a sibling follows the hub, with the roots and the time of its headers", async () => {
  await using fixture = await Fixture.start();
  const prover = fixture.ofHub();
  assert.deepEqual(await prover.check(never), []);
  const target = fixture.connect(fixture.chain.node);
  for (let round = 0; round < 3; round++) {
    await fixture.send();
    const { hub } = fixture.advance(2);
    const finding = updatesOf(await prover.next(never));
    assert.equal(finding.height, BigInt(hub.number));
    assert.equal(finding.hasMore, false);
    await fixture.submit(fixture.chain.node, finding);
    assert.equal(fixture.knownOfHub, BigInt(hub.number));
    const roots = findDigest(hub.digest, "ISMP", consensusDigestCodec);
    const time = findDigest(hub.digest, "ISTM", timestampDigestCodec);
    const commitment = await target.reads.fetchCommitment(
      { id: fixture.hubId, height: BigInt(hub.number) },
      never,
    );
    assert.deepEqual(commitment, {
      timestampSec: time?.timestampSec,
      overlayRoot: roots?.mmrRoot,
      stateRoot: roots?.childTrieRoot,
    });
    assert.match(
      reasonOf(await prover.next(never)),
      /^relay block \d+, the newest that KUSAMA-2000 knows, has no newer head$/,
    );
  }
});

Deno.test("parachain prover: heads without messages are proved once in ten minutes, those with messages at once", async () => {
  await using fixture = await Fixture.start();
  let laterSec = 0n;
  for (
    const [prover, to] of [
      [fixture.ofHub({ laterSec: () => laterSec }), fixture.chain.node],
      [fixture.ofSibling({ laterSec: () => laterSec }), fixture.hub],
    ] as const
  ) {
    laterSec = 0n;
    await fixture.submit(to, updatesOf(await prover.next(never)));
    fixture.advance(2);
    assert.match(
      reasonOf(await prover.next(never)),
      /has a newer head, but nothing was sent or received since block \d+: without messages a head is due every 600 s$/,
    );
    await fixture.send();
    fixture.advance(2);
    await fixture.submit(to, updatesOf(await prover.next(never)));
    fixture.advance(2);
    laterSec = 590n;
    assert.equal((await prover.next(never)).kind, "nothing");
    laterSec = 600n;
    await fixture.submit(to, updatesOf(await prover.next(never)));
  }
});

Deno.test("parachain prover: the relay chain block is one that a final block builds on", async () => {
  await using fixture = await Fixture.start();
  const prover = fixture.ofHub();
  await prover.next(never);
  const { number } = fixture.relay.produceBlocks();
  const { node } = fixture.chain;
  const before = decodeParachainProof(updatesOf(await prover.next(never)).proofs[0] ?? new Uint8Array());
  node.produceBlock();
  const same = decodeParachainProof(updatesOf(await prover.next(never)).proofs[0] ?? new Uint8Array());
  assert.equal(same.relayHeight, before.relayHeight, "the block that knows more is not final yet");
  node.produceBlock();
  const after = decodeParachainProof(updatesOf(await prover.next(never)).proofs[0] ?? new Uint8Array());
  assert.equal(after.relayHeight, number);
});

Deno.test("parachain prover: a relay chain node that lies is named, and nothing is made", async () => {
  await using fixture = await Fixture.start();
  const prover = fixture.ofHub();
  const { relay } = fixture;
  relay.alter = ({ method }, result) => method === "chain_getBlockHash" ? relay.hash(2) : result;
  assert.match(
    await outcomeOf(prover.next(never)),
    /^bad_data: its block \d+ is not the one that KUSAMA-2000 knows/,
  );
  relay.alter = ({ method }, result) =>
    method === "chain_getHeader"
      ? { ...Object(result), stateRoot: turned(Object(result).stateRoot) }
      : result;
  assert.equal(await outcomeOf(prover.next(never)), "malformed");
  let count = 0;
  const lieWith = (change: (nodes: readonly unknown[]) => readonly unknown[]): void => {
    relay.alter = ({ method }, result) => {
      if (method !== "state_getReadProof") return result;
      const { proof } = Object(result);
      count = proof.length;
      return { ...Object(result), proof: change(proof) };
    };
  };
  lieWith((nodes) => nodes);
  assert.equal(await outcomeOf(prover.next(never)), "updates");
  assert.ok(count > 2);
  for (let at = 0; at < count; at++) {
    const wrong = /^bad_data: its proof of the head does not verify \((heads_proof|head_missing)\)$/;
    lieWith((nodes) => nodes.map((node, index) => index === at ? turned(node) : node));
    assert.match(await outcomeOf(prover.next(never)), wrong, `node ${at}`);
    lieWith((nodes) => nodes.filter((_, index) => index !== at));
    assert.match(await outcomeOf(prover.next(never)), wrong, `without node ${at}`);
  }
  relay.alter = undefined;
  assert.equal(await outcomeOf(prover.next(never)), "updates");
});

Deno.test("parachain prover: a block whose state the relay chain's node has pruned is waited out", async () => {
  await using fixture = await Fixture.start({ relay: { keepStates: 8 } });
  const prover = fixture.ofHub();
  fixture.relay.produceBlocks(20);
  assert.match(
    reasonOf(await prover.next(never)),
    /^the node has pruned relay block \d+, the newest/,
  );
  fixture.advance();
  assert.equal((await prover.next(never)).kind, "updates");
});

Deno.test("parachain prover: a parachain without a head on the relay chain is waited for", async () => {
  await using fixture = await Fixture.start({ relay: { heads: () => new Map() } });
  const reason = reasonOf(await fixture.ofHub().next(never));
  assert.match(reason, /^parachain 4009 has no head in relay block \d+, the newest/);
});

Deno.test("parachain prover: what only governance can fix is reported: for the hub a warning, for siblings a note", async () => {
  await using fixture = await Fixture.start({ followed: [] });
  const prover = fixture.ofSibling();
  const [finding, ...others] = await prover.check(never);
  assert.equal(others.length, 0);
  assert.equal(finding?.result, "ok");
  const text = /^KUSAMA-4009 does not list parachain 2000 in IsmpParachain\.Parachains: .*governance/;
  assert.match(finding?.found ?? "", text);
  const look = await prover.next(never);
  assert.match(reasonOf(look), text);
  assert.ok(look.kind === "nothing" && (look.againInMs ?? 0) > prover.intervalMs);
  const listed = fixture.hub.change(consensusSettings.followedParachain.to(undefined, SIBLING));
  fixture.advance();
  await listed;
  assert.deepEqual(await prover.check(never), []);
  await fixture.submit(fixture.hub, updatesOf(await prover.next(never)));

  await using ignorant = await Fixture.start({ knowsRelay: false, hasClient: false });
  const [warning] = await ignorant.ofHub().check(never);
  assert.equal(warning?.result, "warning");
  assert.match(warning?.found ?? "", /^KUSAMA-2000 does not list parachain 4009/);
  const follow = ignorant.chain.node.change(consensusSettings.followedParachain.to(undefined, 4009));
  ignorant.advance();
  await follow;
  assert.match((await ignorant.ofHub().check(never))[0]?.found ?? "", /keeps no blocks of the relay chain/);
  assert.match(reasonOf(await ignorant.ofHub().next(never)), /keeps no blocks of the relay chain/);
  const [none] = await ignorant.ofSibling({ consensusStateId: toConsensusStateId("NONE") }).check(never);
  assert.match(none?.found ?? "", /^KUSAMA-4009 has no client NONE of KUSAMA-2000/);
});

Deno.test("parachain prover: clients that are frozen or have expired are named, and nothing is read of the relay chain", async () => {
  await using fixture = await Fixture.start();
  const prover = fixture.ofHub();
  const { node } = fixture.chain;
  const { consensusStateId } = fixture.hubId;
  const produce = async (change: Promise<unknown>): Promise<void> => {
    node.produceBlock();
    await change;
  };
  await produce(node.freezeClient(consensusStateId));
  const frozen = await catchProverFault(prover.next(never));
  assert.equal(frozen.code, "frozen");
  assert.match(frozen.detail, /^client PAS0 of KUSAMA-2000 is frozen/);
  await produce(node.unfreezeClient(consensusStateId));
  node.advanceTime(22 * 86_400_000);
  node.produceBlock();
  assert.equal((await catchProverFault(prover.next(never))).code, "expired");
  assert.equal(fixture.relay.callCounts.get("state_getReadProof"), undefined);
});

Deno.test("parachain prover: Polkadot Hub goes by the name under which hubs store it, and by no other", async () => {
  await using fixture = await Fixture.start();
  for (
    const [own, stored] of [["KUSAMA-1000", "EVM-420420417"], ["POLKADOT-1000", "EVM-420420419"]] as const
  ) {
    assert.throws(() => fixture.ofSibling({ stateMachine: parseStateMachine(own) }), {
      name: "RangeError",
      message: `${own} is stored as ${stored}`,
    });
  }
});

Deno.test("parachain prover: there is no state to begin with", async () => {
  await using fixture = await Fixture.start();
  const { code, detail } = await catchProverFault(fixture.ofHub().fetchInitialState(never));
  assert.equal(code, "not_served");
  assert.match(detail, /^there is no state: .*add_parachain/);
});

Deno.test("a chain follows the hub by what its client takes, also when governance changes that", async () => {
  await using fixture = await Fixture.start();
  const { node } = fixture.chain;
  await using reader = connectRelay(fixture.relay.wsUrl);
  const deps = { relay: reader.chain, target: fixture.connect(node) };
  const options = { ...fixture.hubId, intervalMs: 300_000 };
  const votes = { ...options, paraIds: [4009], maxBlockRange: 2400, slotDurationMs: 6000 };
  const byVotes = new GrandpaProver(deps, votes);
  const byHeads = new ParachainProver(deps, { ...options, hub: fixture.hubId.stateMachine });
  const prover = proverByClient({ ...deps, byVotes, byHeads }, consensusClientIds.parachain);
  const produce = async (change: Promise<unknown>): Promise<void> => {
    node.produceBlock();
    await change;
  };
  assert.deepEqual(await prover.check(never), []);
  const byHead = updatesOf(await prover.next(never));
  assert.match(byHead.summary, /^head in relay block/);
  await fixture.submit(node, byHead);
  const initial = await grandpaStateOf(fixture.relay, fixture.hub.identity);
  await produce(node.change(consensusSettings.grandpaStateMachine.to(6000n, fixture.hubId.stateMachine)));
  await produce(node.createConsensusClient(clientOf(fixture.hubId.consensusStateId, initial)));
  fixture.advance(3);
  fixture.relay.produceBlocks(3);
  const second = updatesOf(await prover.next(never));
  assert.match(second.summary, /^final relay block/);
  await fixture.submit(node, second);
  await produce(node.createConsensusClient({
    ...clientOf(fixture.hubId.consensusStateId, initial),
    clientId: parachainClientId,
    state: new Uint8Array(),
  }));
  await fixture.send();
  fixture.advance(3);
  assert.match(updatesOf(await prover.next(never)).summary, /^head in relay block/);
});

import { consensusSettings } from "./pallets/consensus_verifiers.ts";
import assert from "node:assert/strict";
import type { UpdateOutcome } from "../../src/core/chains/consensus_target.ts";
import { concatBytes, fromHex, type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { claimOf } from "../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { decodeOpStackState } from "../../src/consensus/clients/op_stack/spec/verify_update.ts";
import {
  decodeBeaconConsensusState,
  verifyBeaconUpdate,
} from "../../src/consensus/clients/sync_committee/spec/verify_update.ts";
import { sepolia } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { messagesTag, stateMachineUpdatedTag } from "./pool_tags.ts";
import {
  type StateMachineHeight,
  type StateMachineId,
  toConsensusClientId,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import {
  beaconConsensusStateCodec,
  stateUpdateCodecs,
  type UpdateLayout,
  updateLayouts,
} from "../../src/consensus/clients/sync_committee/spec/update.ts";
import { bytes, list, Struct, u64 } from "../../src/core/encoding/scale.ts";
import { boldUpdate } from "../../tests/consensus/clients/arbitrum/spec/vectors.ts";
import { states as bscStates } from "../../tests/consensus/clients/bsc/spec/vectors.ts";
import { faultGame, synthetic as games } from "../../tests/consensus/clients/op_stack/spec/vectors.ts";
import { flipByte } from "../../tests/consensus/rollup/spec/vectors.ts";
import { VectorNode } from "../../tests/consensus/vector_node.ts";
import {
  arbitrumOrbit,
  beacon,
  chapel,
  connectConsensus,
  contracts,
  ethereum,
  idOf,
  include,
  optimism,
  proofs,
  startConsensusHub,
  states,
  underL1,
} from "./consensus_work.ts";
import { clientOf } from "./initial_clients.ts";
import { resultHttp } from "./json_rpc_client.ts";

const { signal } = new AbortController();
const fisherman: Hash256 = `0x${"f1".repeat(32)}`;
const beaconHeights = [beacon.first, beacon.second].map(({ executionPayload }) =>
  executionPayload.blockNumber
);
const opHeight = games.integer("expected.height");
const arbitrumHeight = boldUpdate.proof.value.header.number;

/** Heights that an included extrinsic added. */
function advanced(outcome: UpdateOutcome): readonly StateMachineHeight[] {
  assert.equal(outcome.kind, "included");
  assert.equal(outcome.kind === "included" && outcome.succeeded, true);
  return outcome.advanced ?? [];
}

function heights(id: StateMachineId, ...all: readonly (bigint | undefined)[]): readonly unknown[] {
  return all.map((height) => ({ id, height }));
}

Deno.test("hub: two chained updates of a beacon chain are taken in one extrinsic, and its events name both heights", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const { consensusStateId: id } = ethereum;
  assert.deepEqual(await hub.reads.fetchClient(id, "best", signal), {
    clientId: "BEAC",
    state: states.beacon,
    updatedSec: 1_800_000_000n,
    unbondingSec: 1000n,
    isFrozen: false,
  });
  assert.equal(await hub.updates.dryRunUpdates({ id, proofs: proofs.beacon }, signal), undefined);
  const submission = await hub.updates.prepareUpdates({ id, proofs: proofs.beacon }, signal);
  assert.deepEqual(await hub.outcomes.fetchOutcome(submission, signal), { kind: "unknown" });
  assert.deepEqual(await hub.sender.broadcast(submission, signal), { kind: "sent" });
  assert.deepEqual(await hub.outcomes.fetchOutcome(submission, signal), { kind: "pending" });
  simulated.advanceTime(7000);
  simulated.produceBlock();
  const outcome = await hub.outcomes.fetchOutcome(submission, signal);
  assert.deepEqual(advanced(outcome), heights(ethereum, ...beaconHeights));
  assert.equal(outcome.kind === "included" && outcome.isFinal, false);

  let expected = decodeBeaconConsensusState(states.beacon);
  for (const update of [beacon.first, beacon.second]) {
    expected =
      verifyBeaconUpdate({ network: sepolia, consensusStateId: id }, expected, update).consensusState;
  }
  const updated = await hub.reads.fetchClient(id, "best", signal);
  assert.equal(toHex(updated?.state ?? new Uint8Array()), toHex(beaconConsensusStateCodec.enc(expected)));
  assert.equal(updated?.updatedSec, 1_800_000_007n);
  assert.deepEqual((await hub.reads.fetchClient(id, "final", signal))?.state, states.beacon);
  simulated.produceBlock();
  assert.deepEqual((await hub.reads.fetchClient(id, "final", signal))?.state, updated?.state);
  const final = await hub.outcomes.fetchOutcome(submission, signal);
  assert.equal(final.kind === "included" && final.isFinal, true);

  assert.equal(await hub.reads.fetchLatestHeight(ethereum, signal), beaconHeights[1]);
  for (const { executionPayload } of [beacon.first, beacon.second]) {
    const at = { id: ethereum, height: executionPayload.blockNumber };
    assert.deepEqual(await hub.reads.fetchCommitment(at, signal), {
      timestampSec: executionPayload.timestampSec,
      overlayRoot: undefined,
      stateRoot: executionPayload.stateRoot,
    });
    assert.equal(await hub.reads.fetchUpdateTime(at, signal), 1_800_000_007n);
  }
});

Deno.test("hub: an upgrade of the runtime changes the layout of beacon updates and adds Gloas", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const takes = async (layout: UpdateLayout): Promise<boolean> => {
    const update = stateUpdateCodecs[layout].enc(beacon.first);
    const id = ethereum.consensusStateId;
    return await hub.updates.dryRunUpdates({ id, proofs: [update] }, signal) === undefined;
  };
  const taken = async (): Promise<readonly UpdateLayout[]> => {
    const all = await Promise.all(updateLayouts.map(async (layout) => await takes(layout) ? [layout] : []));
    return all.flat();
  };
  assert.deepEqual(await taken(), ["flat"]);
  for (const layout of ["split", "variant"] as const) {
    void simulated.change(consensusSettings.beaconRuntime.to({ layout, gloas: undefined }));
    simulated.produceBlock();
    assert.deepEqual(await taken(), [layout]);
  }
  // From the fork on states have other places, which those of the vector have not.
  const gloas = { epoch: 1n, version: "0x90000076" } as const;
  void simulated.change(consensusSettings.beaconRuntime.to({ layout: "variant", gloas }));
  simulated.produceBlock();
  assert.deepEqual(await taken(), []);
});

Deno.test("hub: updates of a beacon chain are taken one after the other, never twice and never backwards", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  for (const [index, proof] of proofs.beacon.entries()) {
    assert.deepEqual(
      advanced(await include(simulated, hub, ethereum, [proof])),
      heights(ethereum, beaconHeights[index]),
    );
  }
  for (const proof of proofs.beacon) {
    assert.equal(
      (await hub.updates.dryRunUpdates({ id: ethereum.consensusStateId, proofs: [proof] }, signal))?.code,
      "bad_proof",
    );
  }
});

Deno.test("hub: a new set of BSC's validators is staged and put in force by one extrinsic", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const outcome = await include(simulated, hub, chapel, proofs.bsc);
  assert.deepEqual(advanced(outcome), heights(chapel, 2003n, 2010n));
  assert.deepEqual(
    (await hub.reads.fetchClient(chapel.consensusStateId, "best", signal))?.state,
    bscStates[2],
  );
});

Deno.test("hub: claims of rollups are stored under the id of the L1's client, each block once", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const cases = [
    { id: optimism, sent: proofs.opStack, height: opHeight },
    { id: arbitrumOrbit, sent: proofs.arbitrum, height: arbitrumHeight },
  ];
  for (const { id, sent, height } of cases) {
    assert.equal(await hub.reads.fetchLatestHeight(underL1(id), signal), undefined);
    const [first, second] = sent.map((proof) => [proof]);
    const outcome = await include(simulated, hub, id, first ?? []);
    assert.deepEqual(advanced(outcome), heights(underL1(id), height));
    assert.equal(await hub.reads.fetchLatestHeight(underL1(id), signal), height);
    assert.equal(await hub.reads.fetchLatestHeight(id, signal), undefined);
    // Another claim of the same block: taken, but nothing is new.
    assert.deepEqual(advanced(await include(simulated, hub, id, second ?? [])), []);
  }
  const stored = await hub.reads.fetchClient(optimism.consensusStateId, "best", signal);
  assert.equal(decodeOpStackState(stored?.state ?? new Uint8Array()).finalizedHeight, opHeight);
});

Deno.test("hub: a height below the newest one is taken and not stored", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const id = underL1(optimism);
  const stored = simulated.plantCommitment(id, opHeight + 1n, {
    timestampSec: 1n,
    overlayRoot: undefined,
    stateRoot: `0x${"cd".repeat(32)}`,
  });
  simulated.produceBlock();
  await stored;
  assert.deepEqual(advanced(await include(simulated, hub, optimism, proofs.opStack)), []);
  assert.equal(await hub.reads.fetchLatestHeight(id, signal), opHeight + 1n);
  assert.equal(await hub.reads.fetchCommitment({ id, height: opHeight }, signal), undefined);
});

Deno.test("hub: without contracts of the rollups in storage updates are taken and ignored", async () => {
  await using simulated = await startConsensusHub({ consensus: [] });
  await using connection = connectConsensus(simulated);
  for (const [id, sent] of [[optimism, proofs.opStack], [arbitrumOrbit, proofs.arbitrum]] as const) {
    const before = await connection.hub.reads.fetchClient(id.consensusStateId, "best", signal);
    assert.deepEqual(advanced(await include(simulated, connection.hub, id, sent)), []);
    assert.deepEqual(await connection.hub.reads.fetchClient(id.consensusStateId, "best", signal), before);
    assert.equal(await connection.hub.reads.fetchLatestHeight(underL1(id), signal), undefined);
  }
});

Deno.test("hub: an update with one bit changed is a bad proof, for the simulation and for the pool", async (t) => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const cases = [
    { id: ethereum, proof: proofs.beacon[0] },
    { id: optimism, proof: proofs.opStack[0] },
    { id: arbitrumOrbit, proof: proofs.arbitrum[0] },
    { id: chapel, proof: proofs.bsc[0] },
  ];
  for (const { id, proof = new Uint8Array() } of cases) {
    for (const at of [0, Math.floor(proof.length / 2), proof.length - 1]) {
      await t.step(`${id.consensusStateId}, byte ${at}`, async () => {
        const changed = [flipByte(proof, at)];
        assert.deepEqual(
          await hub.updates.dryRunUpdates({ id: id.consensusStateId, proofs: changed }, signal),
          {
            code: "bad_proof",
            detail: "Invalid.BadProof",
          },
        );
        const submission = await hub.updates.prepareUpdates(
          { id: id.consensusStateId, proofs: changed },
          signal,
        );
        const sent = await hub.sender.broadcast(submission, signal);
        assert.equal(sent.kind, "refused");
        const rejection = simulated.rejections.at(-1);
        assert.equal(rejection?.code, "BadProof");
        assert.match(
          rejection?.ismp ?? "",
          /^(consensus_proof_verification_failed|state_commitment_not_found)$/,
        );
        assert.deepEqual(await hub.outcomes.fetchOutcome(submission, signal), { kind: "unknown" });
      });
    }
  }
  await t.step("a bad one behind a good one: none is taken", async () => {
    const both = [proofs.beacon[0] ?? new Uint8Array(), proofs.beacon[0] ?? new Uint8Array()];
    assert.equal(
      (await hub.updates.dryRunUpdates({ id: ethereum.consensusStateId, proofs: both }, signal))?.code,
      "bad_proof",
    );
  });
});

Deno.test("hub: what fishermen ruled out, and what is proven at an unknown height of the L1, is a bad proof", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const code = async (id: StateMachineId, proof: Uint8Array | undefined): Promise<string | undefined> =>
    (await hub.updates.dryRunUpdates(
      { id: id.consensusStateId, proofs: [proof ?? new Uint8Array()] },
      signal,
    ))?.code;
  const detail = (): string | undefined => simulated.rejections.at(-1)?.detail;
  const submit = async (id: StateMachineId, proof: Uint8Array | undefined): Promise<void> => {
    const submission = await hub.updates.prepareUpdates({
      id: id.consensusStateId,
      proofs: [proof ?? new Uint8Array()],
    }, signal);
    assert.equal((await hub.sender.broadcast(submission, signal)).kind, "refused");
  };
  const ruled = [
    simulated.change(consensusSettings.blacklistedGame.to(fisherman, optimism, faultGame.proof.value.proxy)),
    simulated.change(
      consensusSettings.blacklistedClaim.to(fisherman, arbitrumOrbit, claimOf(boldUpdate.proof)),
    ),
  ];
  simulated.produceBlock();
  await Promise.all(ruled);
  for (const [id, sent] of [[optimism, proofs.opStack], [arbitrumOrbit, proofs.arbitrum]] as const) {
    assert.equal(await code(id, sent[0]), "bad_proof");
    await submit(id, sent[0]);
    assert.match(detail() ?? "", /[Bb]lacklisted/);
    assert.equal(await code(id, sent[1]), undefined);
  }
  const gone = simulated.pruneCommitment({ id: ethereum, height: games.integer("l1_height") });
  simulated.produceBlock();
  await gone;
  assert.equal(await code(optimism, proofs.opStack[1]), "bad_proof");
  await submit(optimism, proofs.opStack[1]);
  assert.match(detail() ?? "", /L1CommitmentMissing/);
});

Deno.test("hub: unknown, frozen and expired clients take nothing, and are distinguished", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const codeOf = async (id: StateMachineId["consensusStateId"]): Promise<string | undefined> =>
    (await hub.updates.dryRunUpdates({ id, proofs: proofs.beacon.slice(0, 1) }, signal))?.code;
  assert.equal(await codeOf(toConsensusStateId("NONE")), "not_ready");
  assert.equal(await hub.reads.fetchClient(toConsensusStateId("NONE"), "best", signal), undefined);
  simulated.advanceTime(999_000);
  simulated.produceBlock();
  assert.equal(await codeOf(ethereum.consensusStateId), undefined);
  simulated.advanceTime(1000);
  simulated.produceBlock();
  assert.equal(await hub.reads.fetchNowSec(signal), 1_800_001_000n);
  assert.deepEqual(
    await hub.updates.dryRunUpdates({ id: ethereum.consensusStateId, proofs: proofs.beacon }, signal),
    {
      code: "client_expired",
      detail: "1000 seconds without an update, 1000 are allowed",
    },
  );
  const frozen = simulated.freezeClient(ethereum.consensusStateId);
  simulated.produceBlock();
  await frozen;
  assert.equal(await codeOf(ethereum.consensusStateId), "host_frozen");
  assert.equal((await hub.reads.fetchClient(ethereum.consensusStateId, "best", signal))?.isFrozen, true);
});

Deno.test("hub: the pool has one place per chain, and the higher update takes it", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const id = ethereum.consensusStateId;
  const [first = new Uint8Array(), second = new Uint8Array()] = proofs.beacon;
  const ours = await hub.updates.prepareUpdates({ id, proofs: [first] }, signal);
  const again = await hub.updates.prepareUpdates({ id, proofs: [first] }, signal);
  assert.notEqual(ours.hash, again.hash);
  assert.deepEqual(await hub.sender.broadcast(ours, signal), { kind: "sent" });
  assert.deepEqual(await hub.sender.broadcast(ours, signal), { kind: "alreadyKnown" });
  assert.deepEqual(await hub.sender.broadcast(again, signal), { kind: "alreadyKnown" });
  assert.deepEqual(await hub.outcomes.fetchOutcome(again, signal), { kind: "unknown" });
  // Both at once have the place and the priority of the first height.
  const both = await hub.updates.prepareUpdates({ id, proofs: [first, second] }, signal);
  assert.deepEqual(await hub.sender.broadcast(both, signal), { kind: "alreadyKnown" });
  // A period may be entered without the update before.
  const higher = await hub.updates.prepareUpdates({ id, proofs: [second] }, signal);
  assert.deepEqual(await hub.sender.broadcast(higher, signal), { kind: "sent" });
  assert.deepEqual(await hub.outcomes.fetchOutcome(ours, signal), { kind: "unknown" });
  // Another chain has a place of its own.
  const other = await hub.updates.prepareUpdates({ id: chapel.consensusStateId, proofs: proofs.bsc }, signal);
  assert.deepEqual(await hub.sender.broadcast(other, signal), { kind: "sent" });
  simulated.produceBlock();
  assert.deepEqual(
    advanced(await hub.outcomes.fetchOutcome(higher, signal)),
    heights(ethereum, beaconHeights[1]),
  );
  assert.deepEqual(
    advanced(await hub.outcomes.fetchOutcome(other, signal)),
    heights(chapel, 2003n, 2010n),
  );
});

const validTransaction = Struct({
  priority: u64,
  requires: list(bytes),
  provides: list(bytes),
  longevity: u64,
});

Deno.test("hub: validity has priority and tag of the first chain that advances, or of the messages", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const validity = async (id: StateMachineId, sent: readonly Uint8Array[]): Promise<unknown> => {
    const { raw } = await hub.updates.prepareUpdates({ id: id.consensusStateId, proofs: sent }, signal);
    const argument = toHex(concatBytes(Uint8Array.of(2), raw, new Uint8Array(32)));
    const method = "TaggedTransactionQueue_validate_transaction";
    const answer = fromHex(String(await resultHttp(simulated.httpUrl, "state_call", [method, argument])));
    assert.equal(answer[0], 0);
    const { priority, provides, longevity } = validTransaction.dec(answer.slice(1, -1));
    return { priority, provides: provides.map((tag) => toHex(tag)), longevity };
  };
  assert.deepEqual(await validity(ethereum, proofs.beacon), {
    priority: beaconHeights[0],
    provides: [stateMachineUpdatedTag(ethereum)],
    longevity: 25n,
  });
  const sent = proofs.opStack.slice(0, 1);
  assert.deepEqual(await validity(optimism, sent), {
    priority: opHeight,
    provides: [stateMachineUpdatedTag(underL1(optimism))],
    longevity: 25n,
  });
  await include(simulated, hub, optimism, sent);
  const messages = sent.map((consensusProof) => ({
    tag: "Consensus" as const,
    value: { consensusProof, consensusStateId: optimism.consensusStateId, signer: new Uint8Array() },
  }));
  assert.deepEqual(await validity(optimism, sent), {
    priority: 200n,
    provides: [messagesTag(messages)],
    longevity: 25n,
  });
});

Deno.test("hub: an update that is ruled out before its block is in the block, fails and changes nothing", async () => {
  await using simulated = await startConsensusHub();
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const sent = proofs.opStack.slice(0, 1);
  const submission = await hub.updates.prepareUpdates(
    { id: optimism.consensusStateId, proofs: sent },
    signal,
  );
  await hub.sender.broadcast(submission, signal);
  const ruled = simulated.change(
    consensusSettings.blacklistedGame.to(fisherman, optimism, faultGame.proof.value.proxy),
  );
  simulated.produceBlock();
  await ruled;
  const outcome = await hub.outcomes.fetchOutcome(submission, signal);
  assert.equal(outcome.kind, "included");
  const { succeeded, refusal } = outcome.kind === "included" ? outcome : {};
  assert.equal(succeeded, false);
  assert.equal(refusal?.detail, "Ismp.InvalidMessage");
  assert.deepEqual(outcome.advanced, []);
  assert.equal(await hub.reads.fetchLatestHeight(underL1(optimism), signal), undefined);
});

Deno.test("hub: contracts, epochs and what is ruled out stand where the live hub has them", async () => {
  const url = new URL("../../tests/vectors/evm-consensus-hub-storage-keys.json", import.meta.url);
  const vector = new VectorNode(JSON.parse(Deno.readTextFileSync(url)));
  const op = idOf(10, "OPT0");
  const base = idOf(8453, "BASE");
  const orbit = idOf(42161, "ARB0");
  await using simulated = await startConsensusHub({
    consensus: [
      ...[op, base].map((id) => consensusSettings.disputeGames.to(contracts.games, id)),
      consensusSettings.outputOracle.to(contracts.rollupCore, op),
      consensusSettings.rollupCore.to(contracts.rollupCore, orbit),
      consensusSettings.bscEpochLength.to(1000n),
    ],
  });
  await using connection = connectConsensus(simulated);
  const ruled = [
    simulated.change(consensusSettings.blacklistedGame.to(fisherman, op, `0x${"11".repeat(20)}`)),
    simulated.change(consensusSettings.blacklistedClaim.to(fisherman, orbit, `0x${"22".repeat(32)}`)),
  ];
  simulated.produceBlock();
  await Promise.all(ruled);
  const keys = vector.list("keys").map((entry) => entry.bytes("storage_key"));
  const absent = flipByte(keys[0] ?? new Uint8Array(), 40);
  const [values, trips] = await connection.trips(() =>
    connection.hub.reads.fetchStorage([...keys, absent], signal)
  );
  assert.equal(trips, 1);
  const [games = "", games2, oracle, core, epoch, game, claim, nothing] = values.map((value) =>
    value && toHex(value)
  );
  assert.equal(games.startsWith(contracts.games.factory), true);
  assert.equal(games2, games);
  assert.deepEqual([oracle, core, epoch], [
    contracts.rollupCore,
    contracts.rollupCore,
    "0xe803000000000000",
  ]);
  assert.deepEqual([game, claim, nothing], [fisherman, fisherman, undefined]);
  assert.deepEqual(await connection.hub.reads.fetchStorage([], signal), []);
});

Deno.test("hub: a client is created from what a prover says, with heights of its chains", async () => {
  const commitment = { timestampSec: 5n, overlayRoot: undefined, stateRoot: `0x${"ab".repeat(32)}` } as const;
  await using simulated = await startConsensusHub({ clients: [] });
  await using connection = connectConsensus(simulated);
  const { hub } = connection;
  const created = simulated.createConsensusClient(clientOf(optimism.consensusStateId, {
    clientId: toConsensusClientId("OPTC"),
    state: states.opStack,
    unbondingSec: 77n,
    challengePeriods: new Map([[optimism.stateMachine, 300n]]),
    commitments: [{ height: { id: optimism, height: 1n }, commitment }],
  }));
  simulated.produceBlock();
  await created;
  const view = await hub.reads.fetchClient(optimism.consensusStateId, "best", signal);
  assert.deepEqual([view?.clientId, view?.state, view?.unbondingSec], ["OPTC", states.opStack, 77n]);
  assert.equal(await hub.reads.fetchLatestHeight(optimism, signal), 1n);
  assert.deepEqual(await hub.reads.fetchCommitment({ id: optimism, height: 1n }, signal), commitment);
  assert.equal(await hub.reads.fetchUpdateTime({ id: optimism, height: 1n }, signal), 1_800_000_000n);
  assert.equal(await hub.reads.fetchCommitment({ id: optimism, height: 2n }, signal), undefined);
  assert.equal(await hub.reads.fetchUpdateTime({ id: optimism, height: 2n }, signal), undefined);
});

import { consensusSettings } from "./pallets/consensus_verifiers.ts";
import assert from "node:assert/strict";
import { parachainHeadKey } from "../../src/core/substrate/parachain_heads.ts";
import { parachainConsensusProofCodec } from "../../src/core/ismp/proof.ts";
import { decodeGrandpaState } from "../../src/consensus/clients/grandpa/spec/verify_message.ts";
import {
  type ConsensusClientId,
  parseStateMachine,
  type StateMachine,
  type StateMachineId,
  stateMachineParts,
  toConsensusStateId,
  toParaId,
} from "../../src/core/ismp/state_machine.ts";
import { readVector } from "../../tests/consensus/vector_node.ts";
import { connectConsensus } from "./consensus_work.ts";
import { encodeHeader } from "./digest.ts";
import { type Hub, type HubOptions, startHub } from "./hub.ts";
import { grandpaClientId, parachainClientId } from "./pallets/consensus_clients.ts";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { bytes, decodeStrict } from "../../src/core/encoding/scale.ts";
import { ismpKeys } from "../../src/core/ismp/storage_keys.ts";
import { resultHttp } from "./json_rpc_client.ts";
import { startRelayChain } from "../relay/relay_chain.ts";
import { connectRelay } from "../relay/relay_reader.ts";
import { startSubstrateChain } from "../chains/substrate_chains.ts";

const { signal } = new AbortController();
const stateId = toConsensusStateId("PAS0");
const accepted = readVector("grandpa-accepted").list("cases");
const rejected = readVector("grandpa-rejected").list("cases");
const parachain = readVector("parachain-consensus");

/** What differs between chains that follow others by a client. */
interface Follower {
  readonly stateMachine: string;
  readonly coprocessor: StateMachine;
  readonly clientId: ConsensusClientId;
  readonly state: Uint8Array;
  readonly follows: readonly StateMachine[];
}

function startFollower(
  { stateMachine, coprocessor, clientId, state, follows }: Follower,
  more: Partial<HubOptions> = {},
): Promise<Hub> {
  const consensusStateId = toConsensusStateId("SUB0");
  return startHub({
    blockTimeMs: "manual",
    pool: { banMs: 0 },
    chain: {
      stateMachine: parseStateMachine(stateMachine),
      consensusStateId,
      hashing: "Blake2",
      coprocessor,
    },
    clients: [{
      stateId,
      clientId,
      unbondingPeriodSec: 1_000_000n,
      challengePeriodsSec: new Map(follows.map((chain) => [chain, 0n])),
      state,
    }],
    ...more,
  });
}

/** Sends one update of the client: `taken`, or why not. */
async function update(chain: Hub, proof: Uint8Array): Promise<string> {
  const { stateMachine, consensusStateId } = chain.identity;
  await using connection = connectConsensus(chain, {
    id: { stateMachine, consensusStateId },
    hashing: "Blake2",
  });
  const { hub } = connection;
  const submission = await hub.updates.prepareUpdates({ id: stateId, proofs: [proof] }, signal);
  const { kind } = await hub.sender.broadcast(submission, signal);
  if (kind !== "sent") return chain.rejections.at(-1)?.detail ?? "no reason";
  chain.produceBlock();
  const outcome = await hub.outcomes.fetchOutcome(submission, signal);
  return outcome.kind === "included" && outcome.succeeded ? "taken" : outcome.kind;
}

Deno.test("a chain's GRANDPA client takes the messages of the vectors, and refuses the others", async (t) => {
  const cases = [
    ...accepted.map((vector) => ({ vector, isTaken: true })),
    ...rejected.map((vector) => ({ vector, isTaken: false })),
  ];
  for (const { vector, isTaken } of cases) {
    await t.step(vector.text("name"), async () => {
      const state = vector.bytes("trusted_state.scale");
      const tracked = decodeGrandpaState(state).stateMachine;
      const { tag } = stateMachineParts(tracked);
      const others = ["POLKADOT-2000", "POLKADOT-3367", "KUSAMA-4009", "KUSAMA-2000", "RELAY-PAS0-2000"];
      const supported = [tracked, ...others.map(parseStateMachine)];
      await using chain = await startFollower({
        stateMachine: "SUBSTRATE-dest",
        coprocessor: tag === "Polkadot" || tag === "Kusama" ? tracked : parseStateMachine("POLKADOT-3367"),
        clientId: grandpaClientId,
        state,
        follows: supported,
      }, { consensus: supported.map((each) => consensusSettings.grandpaStateMachine.to(6000n, each)) });
      const result = await update(chain, vector.bytes("consensus_message_scale"));
      if (isTaken) {
        assert.equal(result, "taken");
        const key = toHex(ismpKeys.consensusStates(stateId));
        const stored = fromHex(String(await resultHttp(chain.httpUrl, "state_getStorage", [key])));
        const state = decodeStrict(bytes, stored, "ConsensusState");
        assert.equal(toHex(state), vector.text("expected.new_state.scale"));
      } else assert.match(result, /consensus_proof_verification_failed/);
      const heights = supported.map((stateMachine) =>
        chain.latestHeight({ stateMachine, consensusStateId: stateId })
      );
      assert.equal(heights.some((height) => height !== undefined), isTaken);
    });
  }
});

Deno.test("a parachain's client takes the vector's heads at relay chain blocks that it knows", async () => {
  const paraId = Number(parachain.integer("para_id"));
  const relayHeight = Number(parachain.integer("relay_height"));
  const sibling: StateMachineId = {
    stateMachine: parseStateMachine(`KUSAMA-${paraId}`),
    consensusStateId: stateId,
  };
  const start = (parent: number): Promise<Hub> =>
    startFollower({
      stateMachine: "KUSAMA-2001",
      coprocessor: parseStateMachine("KUSAMA-4009"),
      clientId: parachainClientId,
      state: new Uint8Array(),
      follows: [sibling.stateMachine],
    }, {
      consensus: [consensusSettings.followedParachain.to(undefined, paraId)],
      relayParent: () => ({ number: parent, stateRoot: parachain.hash("relay_state_root") }),
    });
  const proof = parachain.bytes("consensus_proof_scale");
  await using chain = await start(relayHeight);
  assert.equal(await update(chain, proof), "taken");
  assert.ok((chain.latestHeight(sibling) ?? 0n) > 0n);
  const missing = parachainConsensusProofCodec.enc({ relayHeight, storageProof: [] });
  assert.match(await update(chain, missing), /consensus_proof_verification_failed/);
  await using ignorant = await start(relayHeight - 1);
  assert.match(await update(ignorant, proof), /unknown relay chain height/);
});

Deno.test("a parachain verifies the hub's head by the relay chain that both build on", async () => {
  await using hub = await startHub({ blockTimeMs: "manual" });
  const { stateMachine, consensusStateId } = hub.identity;
  const hubPara = toParaId(stateMachine);
  await using relay = await startRelayChain({
    blockTimeMs: "manual",
    heads: () => new Map([[hubPara, encodeHeader(hub.finalizedHeader)]]),
  });
  const sibling = await startSubstrateChain("sibling", hub.identity, {
    stateMachine: "KUSAMA-2000",
    blockTimeMs: "manual",
    relay,
  });
  await using chain = sibling.node;
  for (let made = 0; made < 3; made++) hub.produceBlock();
  const parent = relay.produceBlocks();
  chain.produceBlock();
  await using reader = connectRelay(relay.wsUrl);
  const storageProof = await reader.chain.fetchReadProof([parachainHeadKey(hubPara)], parent.hash, signal);
  const proof = parachainConsensusProofCodec.enc({ relayHeight: parent.number, storageProof });
  assert.equal(await update(chain, proof), "taken");
  const known = chain.latestHeight({ stateMachine, consensusStateId });
  assert.equal(known, BigInt(hub.finalized.number));
});

/**
 * Initial state of a BEEFY client of the hub: from the relay chain's newest justified block, or from the hub's own
 * client where no relay chain is configured. Source: docs/protocol/hub-consensus.md sections 5.2 and 5.12.
 */
import { mapError } from "../../spec/client_error.ts";
import { usualPeriods } from "../../prover.ts";
import { consensusClientIds } from "../../../core/ismp/consensus_clients.ts";
import type { ConsensusTarget, TargetReads } from "../../../core/chains/consensus_target.ts";
import {
  authoritySetCodec,
  BEEFY_ENGINE,
  BeefyError,
  decodeBeefyJustification,
} from "../../../core/beefy/commitment.ts";
import { type HubBeefyState, hubBeefyStateCodec, relayBeefyKeys } from "./spec/relay_storage.ts";
import { type BeefyClientState, encodeBeefyClientState } from "../../../core/evm/beefy_client_state.ts";
import type { ConsensusStateId, StateMachine } from "../../../core/ismp/state_machine.ts";
import { toConsensusStateId } from "../../../core/ismp/state_machine.ts";
import { type Codec, decodeStrict, ScaleError, u64 } from "../../../core/encoding/scale.ts";
import { type InitialConsensusState, ProverFault } from "../../prover.ts";
import type { RelayChain } from "../../relay_chain/relay_chain.ts";

/** Name of the hub's own BEEFY client. */
export const BEEFY_STATE_ID: ConsensusStateId = toConsensusStateId("BEEF");

/** Reads of the relay chain that the state needs. */
export type StateRelay = Pick<
  RelayChain,
  "host" | "fetchBeefyFinalized" | "fetchJustification" | "fetchStorage"
>;

/** Builds the state at the newest justified block. */
export async function stateOfRelay(
  relay: StateRelay,
  hub: StateMachine,
  signal: AbortSignal,
): Promise<InitialConsensusState> {
  const { header, hash } = await relay.fetchBeefyFinalized(signal);
  const keys = [
    relayBeefyKeys.currentSet,
    relayBeefyKeys.nextSet,
    relayBeefyKeys.leafCount,
  ];
  const [stored, encoded] = await Promise.all([
    relay.fetchStorage(keys, hash, signal),
    relay.fetchJustification(hash, BEEFY_ENGINE, signal),
  ]);
  const bad = (detail: string, cause?: unknown): ProverFault =>
    new ProverFault("bad_data", { chain: hub, endpoint: relay.host, detail }, { cause });
  const decode = <T>(codec: Codec<T>, name: string, value: Uint8Array | undefined): T => {
    if (value === undefined) throw bad(`block ${header.number} of the relay chain has no ${name}`);
    return mapError(
      ScaleError,
      () => decodeStrict(codec, value, name),
      (cause) => bad(`unreadable ${name}`, cause),
    );
  };
  const current = decode(authoritySetCodec, "BeefyMmrLeaf.BeefyAuthorities", stored[0]);
  const next = decode(authoritySetCodec, "BeefyMmrLeaf.BeefyNextAuthorities", stored[1]);
  const leaves = decode(u64, "Mmr.NumberOfLeaves", stored[2]);
  if (encoded === undefined) throw bad(`the node has no justification of its newest BEEFY block ${hash}`);
  const { commitment } = mapError(
    BeefyError,
    () => decodeBeefyJustification(encoded),
    (cause) => bad("unreadable BEEFY justification", cause),
  );
  if (commitment.blockNumber !== header.number || commitment.validatorSetId !== current.id) {
    throw bad(`the justification of block ${header.number} is for another block or set`);
  }
  const latestHeight = BigInt(header.number);
  return initial(hub, { latestHeight, beefyActivationBlock: latestHeight - leaves, current, next });
}

/** Reads the state of the hub's own client. */
export async function stateOfHub(
  hub: Pick<ConsensusTarget, "id"> & { readonly reads: Pick<TargetReads, "fetchClient"> },
  signal: AbortSignal,
): Promise<InitialConsensusState> {
  const { stateMachine } = hub.id;
  const client = await hub.reads.fetchClient(BEEFY_STATE_ID, "final", signal);
  if (client === undefined) {
    const detail = "it has no BEEFY client of itself; a [hub.prover] reads the state from the relay chain";
    throw new ProverFault("hub_state", { chain: stateMachine, detail });
  }
  const decode = (): HubBeefyState => decodeStrict(hubBeefyStateCodec, client.state, "ConsensusState");
  const { current, next, ...trusted } = mapError(ScaleError, decode, (cause) => {
    const detail =
      `its BEEFY state of ${client.state.length} bytes has a layout that this version does not know; ` +
      "update the program, or read the state from the relay chain with a [hub.prover]";
    return new ProverFault("hub_state", { chain: stateMachine, detail }, { cause });
  });
  return initial(stateMachine, {
    latestHeight: BigInt(trusted.latestHeight),
    beefyActivationBlock: BigInt(trusted.beefyActivationBlock),
    current,
    next,
  });
}

/** Encodes the state for hosts and `BeefyConsensusProofs.initialize_state`: 256 bytes of ABI. */
function initial(hub: StateMachine, state: BeefyClientState): InitialConsensusState {
  return {
    clientId: consensusClientIds.beefy,
    state: encodeBeefyClientState(state),
    ...usualPeriods(hub),
    commitments: [],
  };
}

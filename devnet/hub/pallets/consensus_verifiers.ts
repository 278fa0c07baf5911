/**
 * How the hub's clients of EVM chains check updates: the relayer's pure verifiers, for beacon chains, OP stack chains and
 * Polygon ones of its own, with what the hub's storage holds.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/{sync-committee,ismp-optimism,ismp-arbitrum,bsc,polygon}/src.
 */
import { equalBytes, type Hash256 } from "../../../src/core/encoding/bytes.ts";
import {
  arbitrumConsensusStateCodec,
  blacklistedClaimKey,
  rollupCoreKey,
} from "../../../src/consensus/clients/arbitrum/spec/update.ts";
import {
  bscConsensusStateCodec,
  epochLengthCodec,
  epochLengthKey,
} from "../../../src/consensus/clients/bsc/spec/update.ts";
import {
  blacklistedGameKey,
  disputeGameRulesKey,
  outputOracleKey,
} from "../../../src/consensus/clients/op_stack/spec/update.ts";
import {
  GrandpaError,
  grandpaNumberCodec,
  supportedStateMachineKey,
} from "../../../src/consensus/clients/grandpa/spec/message.ts";
import {
  followedParachainKey,
  knownRelayHeightsCodec,
  knownRelayHeightsKey,
  relayStateRootKey,
  slotDurationCodec,
  slotDurationKey,
} from "../../../src/consensus/clients/parachain/spec/parachain_proof.ts";
import { addressCodec } from "../../../src/core/evm/address.ts";
import type {
  ConsensusStateId,
  IntermediateState,
  StateMachine,
  StateMachineHeight,
} from "../../../src/core/ismp/state_machine.ts";
import { _void as unit, type CodecType, enhanceCodec } from "scale-ts";
import {
  bytesAsHex,
  hash256,
  Option,
  ScaleError,
  Struct,
  u32,
  u64,
} from "../../../src/core/encoding/scale.ts";
import { type Overlay, StorageItem } from "../storage.ts";
import { checkOpStackUpdate, rulesLayout } from "../verifiers/op_stack/op_stack_client.ts";
import {
  type UpdateLayout,
  updateLayouts,
} from "../../../src/consensus/clients/sync_committee/spec/update.ts";
import {
  claimOf,
  decodeArbitrumState,
  decodeArbitrumUpdate,
  verifyArbitrumUpdate,
} from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import {
  BscError,
  type BscNetwork,
  findBscNetwork,
} from "../../../src/consensus/clients/bsc/spec/extra_data.ts";
import {
  decodeBscState,
  decodeBscUpdate,
  verifyBscUpdate,
} from "../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { RollupUpdateError } from "../../../src/consensus/rollup/spec/rollup_client.ts";
import {
  type BeaconNetwork,
  chiado,
  ethereumMainnet,
  gnosisMainnet,
  sepolia,
} from "../../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import type { RuntimeName } from "../runtime_metadata.ts";
import { type BeaconRules, checkBeaconUpdate } from "../verifiers/beacon/beacon_client.ts";
import { checkPolygonUpdate } from "../verifiers/polygon/polygon_client.ts";
import { ClientRefusal } from "../verifiers/refusals.ts";
import { IsmpError } from "./ismp_error.ts";

/**
 * What governance and fishermen tell the consensus clients: contracts on the L1, claims that are ruled out, the epochs of
 * BSC, the chains that are followed by GRANDPA or on the same relay chain. The pallets are not in the metadata of the vectors, so their keys come from the readers' own code.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/{ismp-optimism,ismp-arbitrum,bsc}/src/pallet.rs,
 * modules/ismp/clients/grandpa/src/lib.rs, modules/ismp/clients/parachain/client/src/lib.rs,
 * modules/pallets/fishermen/src/lib.rs.
 */

const beaconRuntime = Struct({
  layout: enhanceCodec(
    u32,
    (name: UpdateLayout) => updateLayouts.indexOf(name),
    (at) => updateLayouts[at] ?? "flat",
  ),
  /** Epoch and version of Gloas; `undefined` in a runtime that does not know it. */
  gloas: Option(Struct({ epoch: u64, version: bytesAsHex })),
});

/** Rules for beacon chains of a runtime: kept in the state, so that a runtime upgrade changes them in a block. */
export type BeaconRuntime = CodecType<typeof beaconRuntime>;

/** The storage items; ids of rollups are those under their own clients. */
export const consensusSettings = {
  disputeGames: new StorageItem("DisputeGames", disputeGameRulesKey, rulesLayout),
  outputOracle: new StorageItem("OutputOracle", outputOracleKey, addressCodec),
  rollupCore: new StorageItem("RollupCore", rollupCoreKey, addressCodec),
  bscEpochLength: new StorageItem("EpochLength", epochLengthKey, epochLengthCodec),
  /** Chains that the GRANDPA client takes, with the milliseconds of their slots. */
  grandpaStateMachine: new StorageItem(
    "SupportedStateMachines",
    supportedStateMachineKey,
    grandpaNumberCodec,
  ),
  /** State roots of the relay chain that a parachain has learnt from its own blocks, by relay chain block. */
  relayStateRoot: new StorageItem("CurrentRelayChainStateRoots", relayStateRootKey, hash256),
  /** Blocks of `relayStateRoot`, rising. */
  knownRelayHeights: new StorageItem("KnownRelayHeights", knownRelayHeightsKey, knownRelayHeightsCodec),
  /** Parachains that the parachain client follows. */
  followedParachain: new StorageItem("Parachains", followedParachainKey, unit),
  /** Milliseconds of the slots of parachains whose headers have no timestamps. */
  slotDuration: new StorageItem("SlotDurations", slotDurationKey, slotDurationCodec),
  /** Games that are ruled out, with the account that saw to it. */
  blacklistedGame: new StorageItem("BlacklistedDisputeGames", blacklistedGameKey, hash256),
  /** Claims that are ruled out, with the account that saw to it. */
  blacklistedClaim: new StorageItem("BlacklistedArbitrumClaims", blacklistedClaimKey, hash256),
  /** What the runtime is compiled with for beacon chains; without it that of August 2026. */
  beaconRuntime: new StorageItem(
    "BeaconRuntime",
    () => new TextEncoder().encode(":devnet:beacon_runtime"),
    beaconRuntime,
  ),
};

/** The networks that a runtime is compiled for. */
export interface ConsensusNetworks {
  readonly ethereum: BeaconNetwork;
  readonly gnosis: BeaconNetwork;
  readonly bsc: BscNetwork;
}

function bscNetwork(chainId: number): BscNetwork {
  const network = findBscNetwork(chainId);
  if (network === undefined) throw new Error(`No BSC network ${chainId}`);
  return network;
}

/** Networks of the two hubs: parachain/runtimes/{nexus,gargantua}/src/ismp.rs. */
export const networksOf: Readonly<Record<RuntimeName, ConsensusNetworks>> = {
  gargantua: { ethereum: sepolia, gnosis: chiado, bsc: bscNetwork(97) },
  nexus: { ethereum: ethereumMainnet, gnosis: gnosisMainnet, bsc: bscNetwork(56) },
};

/** What clients read of the hub. */
export interface ConsensusHost {
  /** Undefined on chains that are built without clients of EVM chains. */
  readonly networks: ConsensusNetworks | undefined;
  /** The chain itself. */
  readonly stateMachine: StateMachine;
  /** The hub that it trusts. */
  readonly coprocessor: StateMachine;
  /** Clock of the chain, Unix seconds. */
  readonly nowSec: bigint;
  readonly storage: Pick<Overlay, "get" | "entries">;
  /** What was verified of late: an update is looked at by the dry run, by the pool and in the block. */
  readonly verified: VerifiedUpdates;
  /** State root of a stored commitment; undefined when there is none. */
  stateRoot(at: StateMachineHeight): Hash256 | undefined;
}

/** An update, and what it is held against. */
export interface UpdateToVerify {
  readonly stateId: ConsensusStateId;
  /** SCALE bytes of the client's state. */
  readonly trusted: Uint8Array;
  readonly proof: Uint8Array;
}

/** What an accepted update leads to. */
export interface ClientUpdate {
  readonly state: Uint8Array;
  readonly commitments: readonly IntermediateState[];
}

/** Accepted updates that are remembered: one of each chain of a devnet, and some that wait in the pool. */
const MAX_VERIFIED = 16;

/** Accepted updates whose verdict depends on nothing but a name, the trusted state and the proof. */
export class VerifiedUpdates {
  readonly #known: (Pick<UpdateToVerify, "trusted" | "proof"> & { name: string; found: ClientUpdate })[] = [];

  /** The result for the same name and bytes, or a new one. @throws what `verify` throws; refusals are not kept. */
  verifyOnce(
    name: string,
    { trusted, proof }: Pick<UpdateToVerify, "trusted" | "proof">,
    verify: () => ClientUpdate,
  ): ClientUpdate {
    const known = this.#known.find((one) =>
      one.name === name && equalBytes(one.trusted, trusted) && equalBytes(one.proof, proof)
    );
    if (known !== undefined) return known.found;
    const found = verify();
    this.#known.push({ name, trusted, proof, found });
    if (this.#known.length > MAX_VERIFIED) this.#known.shift();
    return found;
  }
}

/** Checks an update. @throws {IsmpError} consensus_proof_verification_failed; `cause` is the client's own error. */
export type ConsensusVerifier = (host: ConsensusHost, update: UpdateToVerify) => ClientUpdate;

const refusals = [ClientRefusal, RollupUpdateError, BscError, GrandpaError, ScaleError];

/** Turns the errors of the clients into the one that the handlers of messages know; others are defects. */
export function refusing(verify: ConsensusVerifier): ConsensusVerifier {
  return (host, update) => {
    try {
      return verify(host, update);
    } catch (cause) {
      const isRefusal = refusals.some((refusal) => cause instanceof refusal);
      if (!isRefusal) throw cause;
      throw new IsmpError("consensus_proof_verification_failed", Object(cause).code, { cause });
    }
  };
}

/** @throws {IsmpError} on chains that have no clients of EVM chains. */
function networksFor({ networks }: ConsensusHost, stateId: ConsensusStateId): ConsensusNetworks {
  if (networks !== undefined) return networks;
  throw new IsmpError("consensus_client_id_not_recognized", stateId);
}

function present<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}

/** Beacon chains. @param network of the runtime's. */
export function beaconVerifier(network: "ethereum" | "gnosis"): ConsensusVerifier {
  return refusing((host, { stateId, trusted, proof }) => {
    const rules = rulesOf(networksFor(host, stateId)[network], host.storage);
    const name = `${network} ${stateId} ${rules.layout} ${rules.gloasEpoch}`;
    return host.verified.verifyOnce(name, { trusted, proof }, () => {
      const { state, commitment } = checkBeaconUpdate(rules, { trusted, proof, stateId });
      return { state, commitments: [commitment] };
    });
  });
}

/** A chain as the runtime knows it: the constants of August 2026, and Gloas after an upgrade that knows it. */
function rulesOf(network: BeaconNetwork, storage: ConsensusHost["storage"]): BeaconRules {
  const { layout, gloas } = consensusSettings.beaconRuntime.get(storage) ?? { layout: "flat" };
  const { slotsPerEpoch, epochsPerPeriod, genesisValidatorsRoot, forks } = network;
  const earlier = forks.filter(({ name }) => name !== "gloas");
  const versions = gloas === undefined ? earlier : [...earlier, gloas];
  return {
    layout,
    slotsPerEpoch,
    epochsPerPeriod,
    genesisValidatorsRoot,
    versions,
    gloasEpoch: gloas?.epoch,
  };
}

/** OP stack rollups; without a factory or oracle in storage updates are accepted and ignored. */
export const opStackVerifier: ConsensusVerifier = refusing((host, { stateId, trusted, proof }) => {
  networksFor(host, stateId);
  const { storage } = host;
  const { state, commitment } = checkOpStackUpdate(trusted, proof, {
    stateRoot: (at) => host.stateRoot(at),
    rules: (id) => consensusSettings.disputeGames.get(storage, id),
    oracle: (id) => consensusSettings.outputOracle.get(storage, id),
    isBlacklisted: (id, proxy) => consensusSettings.blacklistedGame.get(storage, id, proxy) !== undefined,
  });
  return { state, commitments: present(commitment) };
});

/** Arbitrum rollups; without a rollup contract in storage updates are accepted and ignored. */
export const arbitrumVerifier: ConsensusVerifier = refusing((host, { stateId, trusted, proof }) => {
  networksFor(host, stateId);
  const { storage, stateRoot } = host;
  const update = decodeArbitrumUpdate(proof);
  const state = decodeArbitrumState(trusted);
  const { stateMachineId: id, l1StateMachineId } = state;
  const claim = claimOf(update.proof);
  const isRuledOut = consensusSettings.blacklistedClaim.get(storage, id, claim) !== undefined;
  const { consensusState, commitment } = verifyArbitrumUpdate(state, update, {
    l1StateRoot: stateRoot({ id: l1StateMachineId, height: update.l1Height }),
    rollupCore: consensusSettings.rollupCore.get(storage, id),
    blacklistedClaims: new Set(isRuledOut ? [claim] : []),
  });
  return { state: arbitrumConsensusStateCodec.enc(consensusState), commitments: present(commitment) };
});

/** BSC. */
export const bscVerifier: ConsensusVerifier = refusing(
  (host, { stateId, trusted, proof }) => {
    const networks = networksFor(host, stateId);
    const epochLength = consensusSettings.bscEpochLength.get(host.storage);
    return host.verified.verifyOnce(`bsc ${stateId} ${epochLength}`, { trusted, proof }, () => {
      const update = decodeBscUpdate(proof);
      const { consensusState, commitment } = verifyBscUpdate(decodeBscState(trusted), update, {
        network: networks.bsc,
        epochLength,
        consensusStateId: stateId,
      });
      return { state: bscConsensusStateCodec.enc(consensusState), commitments: [commitment] };
    });
  },
);

/** Polygon. Its verdict depends on the hub's clock. */
export const polygonVerifier: ConsensusVerifier = refusing((host, { stateId, trusted, proof }) => {
  networksFor(host, stateId);
  const { nowSec } = host;
  const { state, commitment } = checkPolygonUpdate({ trusted, proof, stateId, nowSec });
  return { state, commitments: present(commitment) };
});

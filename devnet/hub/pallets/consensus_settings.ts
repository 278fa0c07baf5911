/**
 * What governance and fishermen tell the consensus clients: contracts on the L1, claims that are ruled out, the epochs of
 * BSC, the chains that are followed by GRANDPA or on the same relay chain. The pallets are not in the metadata of the vectors, so their keys come from the readers' own code.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/{ismp-optimism,ismp-arbitrum,bsc}/src/pallet.rs,
 * modules/ismp/clients/grandpa/src/lib.rs, modules/ismp/clients/parachain/client/src/lib.rs,
 * modules/pallets/fishermen/src/lib.rs.
 */
import type { Hash256, Hex } from "../../../src/core/encoding/bytes.ts";
import { blacklistedClaimKey, rollupCoreKey } from "../../../src/consensus/clients/arbitrum/spec/update.ts";
import { epochLengthCodec, epochLengthKey } from "../../../src/consensus/clients/bsc/spec/update.ts";
import {
  blacklistedGameKey,
  disputeGameRulesKey,
  outputOracleKey,
} from "../../../src/consensus/clients/op_stack/spec/update.ts";
import {
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
import { type Address, addressCodec } from "../../../src/core/evm/address.ts";
import type { StateMachine, StateMachineId } from "../../../src/core/ismp/state_machine.ts";
import { _void as unit, enhanceCodec } from "scale-ts";
import {
  bytesAsHex,
  type Codec,
  decodeStrict,
  hash256,
  Option,
  Struct,
  u32,
  u64,
} from "../../../src/core/encoding/scale.ts";
import type { Overlay, StorageReader } from "../storage.ts";
import { type GameFactoryRules, rulesLayout } from "../verifiers/op_stack/layouts.ts";
import type { BeaconLayout } from "../verifiers/beacon/layouts.ts";

/** A storage item whose keys are made by a function. */
export interface KeyedItem<Keys extends readonly unknown[], Value> {
  /** The stored value, undefined when there is none. */
  get(reader: StorageReader, ...keys: Keys): Value | undefined;
  put(overlay: Overlay, value: Value, ...keys: Keys): void;
  remove(overlay: Overlay, ...keys: Keys): void;
}

function item<Keys extends readonly unknown[], Value>(
  name: string,
  key: (...keys: Keys) => Uint8Array,
  codec: Codec<Value>,
): KeyedItem<Keys, Value> {
  return {
    get: (reader, ...keys) => {
      const stored = reader.get(key(...keys));
      return stored === undefined ? undefined : decodeStrict(codec, stored, name);
    },
    put: (overlay, value, ...keys) => overlay.put(key(...keys), codec.enc(value)),
    remove: (overlay, ...keys) => overlay.remove(key(...keys)),
  };
}

/** Rules for beacon chains of a runtime: kept in the state, so that a runtime upgrade changes them in a block. */
export interface BeaconRuntime {
  readonly layout: BeaconLayout;
  /** Epoch and version of Gloas; `undefined` in a runtime that does not know it. */
  readonly gloas: { readonly epoch: bigint; readonly version: Hex } | undefined;
}

const layoutNames = ["flat", "split", "variant"] as const;

const beaconRuntime: Codec<BeaconRuntime> = Struct({
  layout: enhanceCodec(
    u32,
    (name: BeaconLayout) => layoutNames.indexOf(name),
    (at) => layoutNames[at] ?? "flat",
  ),
  gloas: Option(Struct({ epoch: u64, version: bytesAsHex })),
});

/** The storage items; ids of rollups are those under their own clients. */
export const consensusSettings: {
  readonly disputeGames: KeyedItem<[StateMachineId], GameFactoryRules>;
  readonly outputOracle: KeyedItem<[StateMachineId], Address>;
  readonly rollupCore: KeyedItem<[StateMachineId], Address>;
  readonly bscEpochLength: KeyedItem<[], bigint>;
  /** Chains that the GRANDPA client takes, with the milliseconds of their slots. */
  readonly grandpaStateMachine: KeyedItem<[StateMachine], bigint>;
  /** State roots of the relay chain that a parachain has learnt from its own blocks, by relay chain block. */
  readonly relayStateRoot: KeyedItem<[number], Hash256>;
  /** Blocks of {@link relayStateRoot}, rising. */
  readonly knownRelayHeights: KeyedItem<[], readonly number[]>;
  /** Parachains that the parachain client follows. */
  readonly followedParachain: KeyedItem<[number], undefined>;
  /** Milliseconds of the slots of parachains whose headers have no timestamps. */
  readonly slotDuration: KeyedItem<[number], bigint>;
  /** Games that are ruled out, with the account that saw to it. */
  readonly blacklistedGame: KeyedItem<[StateMachineId, Address], Hash256>;
  /** Claims that are ruled out, with the account that saw to it. */
  readonly blacklistedClaim: KeyedItem<[StateMachineId, Hash256], Hash256>;
  /** What the runtime is compiled with for beacon chains; without it that of August 2026. */
  readonly beaconRuntime: KeyedItem<[], BeaconRuntime>;
} = {
  disputeGames: item("DisputeGames", disputeGameRulesKey, rulesLayout),
  outputOracle: item("OutputOracle", outputOracleKey, addressCodec),
  rollupCore: item("RollupCore", rollupCoreKey, addressCodec),
  bscEpochLength: item("EpochLength", epochLengthKey, epochLengthCodec),
  grandpaStateMachine: item("SupportedStateMachines", supportedStateMachineKey, grandpaNumberCodec),
  relayStateRoot: item("CurrentRelayChainStateRoots", relayStateRootKey, hash256),
  knownRelayHeights: item("KnownRelayHeights", knownRelayHeightsKey, knownRelayHeightsCodec),
  followedParachain: item("Parachains", followedParachainKey, unit),
  slotDuration: item("SlotDurations", slotDurationKey, slotDurationCodec),
  blacklistedGame: item("BlacklistedDisputeGames", blacklistedGameKey, hash256),
  blacklistedClaim: item("BlacklistedArbitrumClaims", blacklistedClaimKey, hash256),
  beaconRuntime: item(
    "BeaconRuntime",
    () => new TextEncoder().encode(":devnet:beacon_runtime"),
    beaconRuntime,
  ),
};

/**
 * Parameters of hosts and bandwidth subscriptions as the hub stores them.
 * Source: polytope-labs/hyperbridge: evm/rust/src/host_params.rs, modules/pallets/{host-executive,bandwidth}.
 */
import {
  bytes,
  type Codec,
  Enum,
  fixedBytes,
  list,
  Option,
  Struct,
  u128,
  u32,
  u64,
  unitEnum,
} from "../encoding/scale.ts";
import { type StateMachine, stateMachineCodec } from "./state_machine.ts";

/** Parameters of one EVM host; addresses are 20 bytes. */
export interface EvmHostParam {
  readonly feeToken: Uint8Array;
  readonly admin: Uint8Array;
  readonly handler: Uint8Array;
  readonly hostManager: Uint8Array;
  readonly uniswapV2: Uint8Array;
  readonly unStakingPeriodSec: bigint;
  readonly challengePeriodSec: bigint;
  readonly consensusClient: Uint8Array;
  /** Para ids the host accepts state of. */
  readonly stateMachines: readonly number[];
  /** Text of the hub's state machine as bytes. */
  readonly hyperbridge: Uint8Array;
}

/** Parameters of a host of any kind (EVM is the only one at HEAD). */
export type HostParam = { readonly tag: "EvmHostParam"; readonly value: EvmHostParam };

/** The same fields; undefined leaves a field unchanged. */
export type EvmHostParamUpdate = { readonly [Field in keyof EvmHostParam]: EvmHostParam[Field] | undefined };

/** Change of a host's parameters. */
export type HostParamUpdate = { readonly tag: "EvmHostParam"; readonly value: EvmHostParamUpdate };

/** Bandwidth tiers; their SCALE indexes are 1 to 4. */
export type BandwidthTier = "TierOne" | "TierTwo" | "TierThree" | "TierFour";

/** Bytes an application may still send through the hub. */
export interface BandwidthSubscription {
  readonly tier: BandwidthTier;
  readonly remainingBytes: bigint;
  readonly expiresAtSec: bigint;
  readonly purchasedAtSec: bigint;
}

/** Bandwidth given by an admin. */
export interface ForceCreditParams {
  readonly appChain: StateMachine;
  readonly app: Uint8Array;
  readonly tier: BandwidthTier;
  readonly bytes: bigint;
  readonly durationSec: bigint;
}

/** SCALE `H160`. */
export const hostAddressCodec: Codec<Uint8Array> = fixedBytes(20);

/** SCALE of {@link EvmHostParam}. */
export const evmHostParamCodec: Codec<EvmHostParam> = Struct({
  feeToken: hostAddressCodec,
  admin: hostAddressCodec,
  handler: hostAddressCodec,
  hostManager: hostAddressCodec,
  uniswapV2: hostAddressCodec,
  unStakingPeriodSec: u128,
  challengePeriodSec: u128,
  consensusClient: hostAddressCodec,
  stateMachines: list(u32),
  hyperbridge: bytes,
});

/** SCALE of {@link HostParam}. */
export const hostParamCodec: Codec<HostParam> = Enum({ EvmHostParam: evmHostParamCodec });

/** SCALE of {@link HostParamUpdate}. */
export const hostParamUpdateCodec: Codec<HostParamUpdate> = Enum({
  EvmHostParam: Struct({
    feeToken: Option(hostAddressCodec),
    admin: Option(hostAddressCodec),
    handler: Option(hostAddressCodec),
    hostManager: Option(hostAddressCodec),
    uniswapV2: Option(hostAddressCodec),
    unStakingPeriodSec: Option(u128),
    challengePeriodSec: Option(u128),
    consensusClient: Option(hostAddressCodec),
    stateMachines: Option(list(u32)),
    hyperbridge: Option(bytes),
  }),
});

/** SCALE of {@link BandwidthTier}. */
export const bandwidthTierCodec: Codec<BandwidthTier> = unitEnum(
  ["TierOne", "TierTwo", "TierThree", "TierFour"],
  1,
);

/** SCALE of {@link BandwidthSubscription}. */
export const subscriptionCodec: Codec<BandwidthSubscription> = Struct({
  tier: bandwidthTierCodec,
  remainingBytes: u128,
  expiresAtSec: u64,
  purchasedAtSec: u64,
});

/** SCALE of {@link ForceCreditParams}. */
export const forceCreditParamsCodec: Codec<ForceCreditParams> = Struct({
  appChain: stateMachineCodec,
  app: bytes,
  tier: bandwidthTierCodec,
  bytes: u128,
  durationSec: u64,
});

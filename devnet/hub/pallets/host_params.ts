/**
 * Parameters of hosts as the hub stores them. Source: polytope-labs/hyperbridge: evm/rust/src/host_params.rs,
 * modules/pallets/host-executive.
 */
import {
  bytes,
  type Codec,
  Enum,
  fixedBytes,
  list,
  Struct,
  u128,
  u32,
} from "../../../src/core/encoding/scale.ts";

const addressCodec = fixedBytes(20);

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

/** SCALE of {@link EvmHostParam}. */
export const evmHostParamCodec: Codec<EvmHostParam> = Struct({
  feeToken: addressCodec,
  admin: addressCodec,
  handler: addressCodec,
  hostManager: addressCodec,
  uniswapV2: addressCodec,
  unStakingPeriodSec: u128,
  challengePeriodSec: u128,
  consensusClient: addressCodec,
  stateMachines: list(u32),
  hyperbridge: bytes,
});

/** SCALE of {@link HostParam}. */
export const hostParamCodec: Codec<HostParam> = Enum({ EvmHostParam: evmHostParamCodec });

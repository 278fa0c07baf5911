/**
 * Parameters of hosts as the hub stores them. Source: polytope-labs/hyperbridge: evm/rust/src/host_params.rs,
 * modules/pallets/host-executive.
 */
import type { CodecType } from "scale-ts";
import { bytes, Enum, fixedBytes, list, Struct, u128, u32 } from "../../../src/core/encoding/scale.ts";

const addressCodec = fixedBytes(20);

/** SCALE of {@link EvmHostParam}. */
const evmHostParamCodec = Struct({
  feeToken: addressCodec,
  admin: addressCodec,
  handler: addressCodec,
  hostManager: addressCodec,
  uniswapV2: addressCodec,
  unStakingPeriodSec: u128,
  challengePeriodSec: u128,
  consensusClient: addressCodec,
  /** Para ids the host accepts state of. */
  stateMachines: list(u32),
  /** Text of the hub's state machine as bytes. */
  hyperbridge: bytes,
});

/** Parameters of one EVM host; addresses are 20 bytes. */
export type EvmHostParam = CodecType<typeof evmHostParamCodec>;

/** SCALE of the parameters of a host of any kind (EVM is the only one at HEAD). */
export const hostParamCodec = Enum({ EvmHostParam: evmHostParamCodec });

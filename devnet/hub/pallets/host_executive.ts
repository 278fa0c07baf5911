/**
 * Pallet HostExecutive: addresses and parameters of the ISMP hosts on EVM chains.
 * Source: polytope-labs/hyperbridge: modules/pallets/host-executive/src/lib.rs, evm/rust/src/host_params.rs.
 */
import { stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import type { CodecType } from "scale-ts";
import { bytes, Enum, fixedBytes, list, Struct, u128, u32, u8 } from "../../../src/core/encoding/scale.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";
import { hostAddressCodec } from "../../../src/core/ismp/storage_keys.ts";

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

const byChain = [stateMachineCodec] as const;

/** The pallet. */
export class HostExecutivePallet extends PalletStorage {
  readonly evmHosts = this.item("EvmHosts", byChain, hostAddressCodec);
  readonly hostParams = this.item("HostParams", byChain, hostParamCodec);
  readonly feeTokenDecimals = this.item("FeeTokenDecimals", byChain, u8);

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "HostExecutive");
  }
}

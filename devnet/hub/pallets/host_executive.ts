/**
 * Pallet HostExecutive: addresses and parameters of the ISMP hosts on EVM chains.
 * Source: polytope-labs/hyperbridge: modules/pallets/host-executive/src/lib.rs.
 */
import { stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { u8 } from "../../../src/core/encoding/scale.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";
import { hostParamCodec } from "./host_params.ts";
import { hostAddressCodec } from "../../../src/core/ismp/storage_keys.ts";

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

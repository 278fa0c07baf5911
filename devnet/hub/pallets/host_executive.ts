/**
 * Pallet HostExecutive: addresses and parameters of the ISMP hosts on EVM chains.
 * Source: polytope-labs/hyperbridge: modules/pallets/host-executive/src/lib.rs.
 */
import { type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { u8 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { PalletStorage } from "../storage.ts";
import { type EvmHostParam, type HostParam, hostParamCodec } from "./host_params.ts";
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

  /** Sets the host of one chain, as `update_evm_hosts` does by governance. */
  setEvmHost(execution: Execution, chain: StateMachine, address: Uint8Array): void {
    const previous = this.evmHosts.get(execution.overlay, chain);
    this.evmHosts.put(execution.overlay, address, chain);
    const stateMachine = stateMachineCodec.enc(chain);
    if (previous === undefined) {
      execution.emit("HostExecutive", "HostAddressSet", { state_machine: stateMachine, address });
    } else {
      execution.emit("HostExecutive", "HostAddressUpdated", {
        state_machine: stateMachine,
        old_address: previous,
        new_address: address,
      });
    }
  }

  /** Sets the parameters of one host, as `set_host_params` does by governance: withdrawals need them. */
  setHostParams(execution: Execution, chain: StateMachine, value: EvmHostParam): void {
    const params: HostParam = { tag: "EvmHostParam", value };
    this.hostParams.put(execution.overlay, params, chain);
    execution.emit("HostExecutive", "HostParamsSet", {
      state_machine: stateMachineCodec.enc(chain),
      params: hostParamCodec.enc(params),
    });
  }

  /** Sets the decimals of a Substrate chain's fee token, as `set_fee_token_decimals` does by governance. */
  setFeeTokenDecimals(execution: Execution, chain: StateMachine, decimals: number): void {
    this.feeTokenDecimals.put(execution.overlay, decimals, chain);
    execution.emit("HostExecutive", "FeeTokenDecimalsUpdated", {
      state_machine: stateMachineCodec.enc(chain),
      decimals: u8.enc(decimals),
    });
  }
}

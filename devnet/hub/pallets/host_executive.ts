/**
 * Pallet HostExecutive: addresses and parameters of the ISMP hosts on EVM chains.
 * Source: polytope-labs/hyperbridge: modules/pallets/host-executive/src/lib.rs.
 */
import { type StateMachine, stateMachineCodec } from "../../../src/core/ismp/state_machine.ts";
import { u8 } from "../../../src/core/encoding/scale.ts";
import type { Execution } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { StorageItem } from "../storage.ts";
import { type EvmHostParam, type HostParam, hostParamCodec } from "./host_params.ts";
import { hostAddressCodec } from "../../../src/core/ismp/storage_keys.ts";

/** The pallet. */
export class HostExecutivePallet {
  readonly evmHosts: StorageItem<[StateMachine], Uint8Array>;
  readonly hostParams: StorageItem<[StateMachine], HostParam>;
  readonly feeTokenDecimals: StorageItem<[StateMachine], number>;

  constructor(metadata: RuntimeMetadata) {
    const byChain = [stateMachineCodec] as const;
    this.evmHosts = new StorageItem<[StateMachine], Uint8Array>(
      metadata,
      ["HostExecutive", "EvmHosts"],
      byChain,
      hostAddressCodec,
    );
    this.hostParams = new StorageItem<[StateMachine], HostParam>(
      metadata,
      ["HostExecutive", "HostParams"],
      byChain,
      hostParamCodec,
    );
    this.feeTokenDecimals = new StorageItem<[StateMachine], number>(
      metadata,
      ["HostExecutive", "FeeTokenDecimals"],
      byChain,
      u8,
    );
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

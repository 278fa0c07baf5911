/**
 * Pallet HostExecutive: addresses of the ISMP hosts on EVM chains.
 * Source: polytope-labs/hyperbridge: modules/pallets/host-executive/src/lib.rs.
 */
import { addressCodec } from "../../../../src/core/protocol/ismp/host_params.ts";
import { type StateMachine, stateMachineCodec } from "../../../../src/core/protocol/ismp/state_machine.ts";
import type { Execution } from "../runtime.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { StorageItem } from "../storage.ts";

/** The pallet. */
export class HostExecutivePallet {
  readonly evmHosts: StorageItem<[StateMachine], Uint8Array>;

  constructor(metadata: RuntimeMetadata) {
    this.evmHosts = new StorageItem<[StateMachine], Uint8Array>(
      metadata,
      ["HostExecutive", "EvmHosts"],
      [stateMachineCodec],
      addressCodec,
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
}

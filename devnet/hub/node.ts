/**
 * The parts of the simulated node that its RPC methods see.
 */
import type { ConsensusStateId, StateMachine } from "../../src/core/ismp/state_machine.ts";
import type { HubBlockchain, ServedNode } from "./blocks.ts";
import type { IsmpPallet } from "./pallets/ismp.ts";
import type { MmrPallet } from "./pallets/mmr.ts";
import type { TransactionPool } from "./pool.ts";
import type { RejectionListener, SimulatedRuntime } from "./runtime.ts";

/** Identity of the hub. */
export interface HubIdentity {
  readonly stateMachine: StateMachine;
  /** Consensus state id under which other chains know it. */
  readonly consensusStateId: ConsensusStateId;
  /** `system_chain`. */
  readonly chainName: string;
}

/** The node. */
export interface HubNode extends ServedNode {
  readonly identity: HubIdentity;
  readonly runtime: SimulatedRuntime;
  readonly chain: HubBlockchain;
  readonly pool: TransactionPool;
  readonly ismp: IsmpPallet;
  /** Undefined on chains other than the hub. */
  readonly mmr: MmrPallet | undefined;
  readonly onRejection: RejectionListener;
}

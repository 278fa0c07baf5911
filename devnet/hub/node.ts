/**
 * The parts of the simulated node that its RPC methods see.
 */
import type { ConsensusStateId, StateMachine } from "../../src/core/ismp/state_machine.ts";
import type { SimulatedBlock } from "./block_history.ts";
import type { HubBlockchain } from "./blocks.ts";
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
  readonly tokenSymbol: string;
}

/** A chain without forks, as RPC methods read it. */
export type ServedChain = Pick<
  HubBlockchain,
  "best" | "finalized" | "find" | "findNumber" | "blockAt" | "block" | "stateOf"
>;

/** A node of any Substrate chain, as the methods that all of them have see it. */
export interface ServedNode {
  readonly chain: ServedChain;
  /** Why a block is final, as `chain_getBlock` tells it; left out where the node keeps none. */
  readonly justificationsOf?: (block: SimulatedBlock) => unknown;
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
  readonly slotDurationMs: number;
  readonly onRejection: RejectionListener;
}

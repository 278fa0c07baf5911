/**
 * Dependencies, options and inputs of the rollup provers: `createOpStackProver` and `createArbitrumProver` of
 * `../clients/`.
 */
import type { TargetReads } from "../../core/chains/consensus_target.ts";
import type { Address } from "../../core/evm/address.ts";
import type { ConsensusStateId, StateMachineId } from "../../core/ismp/state_machine.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { EvmReader, TrustedBlock } from "../evm_reader.ts";
import type { RollupClientState } from "./spec/rollup_client.ts";
import type { ProverOptions } from "../prover.ts";

/** Dependencies of a rollup's prover. It closes none of them. */
export interface RollupDeps {
  readonly hub: {
    readonly reads: Pick<
      TargetReads,
      "fetchClient" | "fetchNowSec" | "fetchLatestHeight" | "fetchCommitment" | "fetchStorage"
    >;
  };
  /** Execution chain of the L1; `openEvmReader` of `../evm_reader.ts`. */
  readonly l1: EvmReader;
  /** The rollup itself. */
  readonly l2: EvmReader;
  readonly log: Log;
}

/** Current state of the hub's clients of a rollup and its L1. */
export interface RollupView<State extends RollupClientState> {
  readonly state: State;
  /** Newest L1 block that the hub knows, with its Unix time: claims are proved in its state. */
  readonly l1: TrustedBlock & { readonly timestampSec: bigint };
  /** Newest height of the rollup on the hub; `undefined`: none. */
  readonly hubHeight: bigint | undefined;
}

/** Configured options of any rollup. */
export interface RollupOptions extends ProverOptions {
  /**
   * As configured. Where it is the L1's id or names no rollup client of the hub, the id that is known for the chain is
   * used: read `ConsensusProver.consensusStateId` again after `check`, `next` or `fetchInitialState`.
   */
  readonly consensusStateId: ConsensusStateId;
  /** `l1_state_machine` and `l1_consensus_state_id`. */
  readonly l1: StateMachineId;
}

/** Configured options of an OP stack chain. The hub's own addresses take precedence; these are compared with them. */
export interface OpStackOptions extends RollupOptions {
  /** Contract of the L1 in which games are created. */
  readonly disputeGameFactory: Address | undefined;
  /** Type of games to try first; every type that the hub lists counts. */
  readonly respectedGameType?: number | undefined;
  /** `message_parser`: address of `L2ToL1MessagePasser` on the rollup. */
  readonly messageParser: Address;
  /** `L2OutputOracle` of chains without dispute games. */
  readonly l2Oracle?: Address | undefined;
}

/** Configured options of an Arbitrum chain. */
export interface ArbitrumOptions extends RollupOptions {
  /** Rollup contract on the L1. The hub's own address takes precedence; this one is compared with it. */
  readonly rollupCore: Address | undefined;
}

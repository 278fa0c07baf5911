/** A prover whose findings a test gives, for tests of what happens between provers and their target. */
import type { CheckRow } from "../../src/core/checks/check_row.ts";
import { hash256 } from "../../src/core/encoding/scale.ts";
import type { ConsensusStateId, StateMachine, StateMachineId } from "../../src/core/ismp/state_machine.ts";
import { toConsensusClientId, toConsensusStateId } from "../../src/core/ismp/state_machine.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import type { ConsensusProver, InitialConsensusState, ProverFinding } from "../../src/consensus/prover.ts";
import { idOf, proofOf } from "./memory_target.ts";

/** What clients trust in the beginning. */
export const firstState: Uint8Array = Uint8Array.of(1);

/** An update to `height`. */
export function updateTo(height: bigint, hasMore = false): ProverFinding {
  const proofs = [proofOf(height)];
  return { kind: "updates", proofs, madeOn: firstState, height, summary: `block ${height}`, hasMore };
}

/** A prover whose findings are given by a function. */
export class ScriptedProver implements ConsensusProver {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly commitmentId: StateMachineId;
  readonly l1?: StateMachineId;
  readonly intervalMs: number;
  /** Times of the looks, ms. */
  readonly looks: number[] = [];
  readonly #clock: Clock;
  /** What a look brings; may throw. */
  find: (look: number, signal: AbortSignal) => ProverFinding | Promise<ProverFinding>;
  findings: readonly CheckRow[] = [];
  /** Thrown by `check` while it is set. */
  checkFault: Error | undefined;
  isClosed = false;

  constructor(
    clock: Clock,
    options: {
      readonly id: string;
      readonly storedUnder?: string;
      readonly intervalMs?: number;
      readonly l1?: StateMachineId;
    },
  ) {
    this.#clock = clock;
    const { stateMachine, consensusStateId } = idOf(options.id);
    if (options.l1 !== undefined) this.l1 = options.l1;
    this.chain = stateMachine;
    this.consensusStateId = consensusStateId;
    const under = options.storedUnder === undefined
      ? consensusStateId
      : toConsensusStateId(options.storedUnder);
    this.commitmentId = { stateMachine, consensusStateId: under };
    this.intervalMs = options.intervalMs ?? 300_000;
    this.find = () => ({ kind: "nothing", reason: "nothing is new" });
  }

  check(): Promise<readonly CheckRow[]> {
    return this.checkFault === undefined ? Promise.resolve(this.findings) : Promise.reject(this.checkFault);
  }

  async next(signal: AbortSignal): Promise<ProverFinding> {
    this.looks.push(this.#clock.now());
    return await this.find(this.looks.length, signal);
  }

  fetchInitialState(): Promise<InitialConsensusState> {
    return Promise.resolve({
      clientId: toConsensusClientId("BEAC"),
      state: new Uint8Array([1, 2, 255]),
      unbondingSec: 5_832_000n,
      challengePeriods: new Map([[this.chain, 300n]]),
      commitments: [{
        height: { id: this.commitmentId, height: 12n },
        commitment: {
          timestampSec: 1_700_000_000n,
          overlayRoot: undefined,
          stateRoot: hash256.dec(new Uint8Array(32).fill(0xab)),
        },
      }],
    });
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

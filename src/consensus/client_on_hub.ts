/**
 * A chain's light client on the hub, for provers whose updates build on its newest state only once that is final: an
 * update on a state that a fork may revert would become invalid.
 */
import type { CheckRow } from "../core/checks/check_row.ts";
import type { ConsensusClientView, ConsensusTarget } from "../core/chains/consensus_target.ts";
import { equalBytes } from "../core/encoding/bytes.ts";
import type { ConsensusClientId, ConsensusStateId, StateMachine } from "../core/ismp/state_machine.ts";
import { findUnusableReason, type UnusableReason } from "./client_usability.ts";
import type { ChainIdReport } from "./evm_reader.ts";
import { ProverFault, type ProverFinding } from "./prover.ts";

/** Which client it is. */
export interface ClientOnHubOptions {
  /** The chain that it follows. */
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  /** Its kind, and the name of that for the operator, e.g. `BSC`. */
  readonly clientId: ConsensusClientId;
  readonly kind: string;
}

/** State of the client that an update may build on. */
export interface FinalClientState {
  /** SCALE bytes, as the hub stores them. */
  readonly bytes: Uint8Array;
  /** Time since the client's last update by the hub's clock, milliseconds. */
  readonly ageMs: number;
  /** Clock of the hub, Unix seconds. */
  readonly nowSec: bigint;
}

/** Poll interval while the hub's block with the last update is not final yet. */
const UNTIL_FINAL_MS = 3_000;

/** Result of a poll while {@link ClientOnHub.fetchFinal} has no state. */
export const UNTIL_FINAL: ProverFinding = {
  kind: "nothing",
  reason: "the hub has not finalized its last update of this chain yet",
  againInMs: UNTIL_FINAL_MS,
};

/** See the head of the file. */
export class ClientOnHub {
  readonly #reads: ConsensusTarget["reads"];
  readonly #options: ClientOnHubOptions;

  constructor({ reads }: Pick<ConsensusTarget, "reads">, options: ClientOnHubOptions) {
    this.#reads = reads;
    this.#options = options;
  }

  /**
   * Fetches the client's newest state; `undefined` while it is not final.
   * @throws {ProverFault} `hub_state`, `frozen`, `expired`; {RpcFault}
   */
  async fetchFinal(signal: AbortSignal): Promise<FinalClientState | undefined> {
    const { chain, clientId, consensusStateId, kind } = this.#options;
    const [best, final, nowSec] = await Promise.all([
      this.#reads.fetchClient(consensusStateId, "best", signal),
      this.#reads.fetchClient(consensusStateId, "final", signal),
      this.#reads.fetchNowSec(signal),
    ]);
    if (best === undefined) throw this.fault(`the hub has no client ${consensusStateId}`);
    if (best.clientId !== clientId) {
      throw this.fault(`client ${consensusStateId} of the hub is ${best.clientId}, not of ${kind}`);
    }
    const unusable = this.#findUnusableReason(best, nowSec);
    if (unusable !== undefined) throw new ProverFault(unusable.code, { chain, detail: unusable.detail });
    if (final === undefined || !equalBytes(best.state, final.state)) return undefined;
    return { bytes: best.state, ageMs: Number(nowSec - best.updatedSec) * 1_000, nowSec };
  }

  /** Fault of a client whose state cannot be decoded. */
  unreadable(cause: unknown): ProverFault {
    return this.fault(`the state of client ${this.#options.consensusStateId} is unreadable`, cause);
  }

  /** Fault of what the hub stores: `hub_state`. */
  fault(detail: string, cause?: unknown): ProverFault {
    const options = cause === undefined ? undefined : { cause };
    return new ProverFault("hub_state", { chain: this.#options.chain, detail }, options);
  }

  #findUnusableReason(client: ConsensusClientView, nowSec: bigint): UnusableReason | undefined {
    return findUnusableReason(`client ${this.#options.consensusStateId} of the hub`, client, nowSec);
  }
}

/** Rows about endpoints of a chain that serve another chain id; those that do not answer are left out. */
export function findWrongChains(
  chain: StateMachine,
  chainId: number,
  reports: readonly ChainIdReport[],
): readonly CheckRow[] {
  return reports.flatMap((report): CheckRow[] => {
    if (report.kind === "fault" || report.chainId === BigInt(chainId)) return [];
    const found = `serves chain ${report.chainId}`;
    return [{
      chain,
      endpoint: report.host,
      check: "chain_id",
      result: "failed",
      found,
      advice: "fix rpc_urls",
    }];
  });
}

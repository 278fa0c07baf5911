/**
 * A light client on the chain that stores it, as provers read it, and whether it accepts updates. Source:
 * docs/protocol/hub-consensus.md section 3.4. Start reading at {@link TargetClient}.
 */
import type { ConsensusClientView, TargetReads } from "../core/chains/consensus_target.ts";
import { equalBytes } from "../core/encoding/bytes.ts";
import type { ConsensusClientId, StateMachineId } from "../core/ismp/state_machine.ts";
import { ProverFault, type ProverFinding } from "./prover.ts";
import { ClientError, mapError } from "./spec/client_error.ts";

/** Reason that a light client accepts no updates. */
export interface UnusableReason {
  readonly code: "frozen" | "expired";
  /** Explanation for the operator, with advice. */
  readonly detail: string;
}

/** Unbonding period from which a client never expires, seconds: those of rollups have 2^64 - 1. */
const NEVER_SEC = 100n * 365n * 86_400n;

/** True for a light client that needs no updates to stay usable. */
export function neverExpires({ unbondingSec }: Pick<ConsensusClientView, "unbondingSec">): boolean {
  return unbondingSec >= NEVER_SEC;
}

/**
 * Finds the {@link UnusableReason} of a light client; `undefined`: it is usable. @param where names the client. @param
 * nowSec clock of the chain that stores it, Unix seconds.
 */
export function findUnusableReason(
  where: string,
  client: Pick<ConsensusClientView, "isFrozen" | "updatedSec" | "unbondingSec">,
  nowSec: bigint,
): UnusableReason | undefined {
  if (client.isFrozen) return { code: "frozen", detail: `${where} is frozen: its governance must thaw it` };
  const ageSec = nowSec - client.updatedSec;
  if (ageSec < client.unbondingSec) return undefined;
  const detail =
    `${where} has expired: its last update was ${ageSec} s ago and ${client.unbondingSec} s are ` +
    "allowed; no relayer can update it, its governance must create it again";
  return { code: "expired", detail };
}

/** Requires that a light client accepts updates. @param id of the client. @throws {ProverFault} `frozen`, `expired` */
export function requireUsable(
  { stateMachine: chain, consensusStateId }: StateMachineId,
  owner: string,
  { client, nowSec }: { readonly client: ConsensusClientView; readonly nowSec: bigint },
): void {
  const unusable = findUnusableReason(`client ${consensusStateId} of ${owner}`, client, nowSec);
  if (unusable !== undefined) throw new ProverFault(unusable.code, { chain, detail: unusable.detail });
}

/** How to read a client. */
export interface TargetClientKind<State> {
  readonly clientId: ConsensusClientId;
  /** Name of the chain that stores it. Default "the hub". */
  readonly owner?: string;
  /** Decodes its state. @throws {ClientError} */
  readonly decode: (stored: Uint8Array) => State;
}

/** State of the client that an update may build on. */
export interface ClientState<State> {
  readonly state: State;
  /** SCALE bytes, as they are stored. */
  readonly bytes: Uint8Array;
  /** Time since the client's last update by the clock of the chain that stores it, milliseconds. */
  readonly ageMs: number;
  /** That clock, Unix seconds. */
  readonly nowSec: bigint;
}

/** Result of a poll while {@link TargetClient.fetchFinal} has no state. */
export const UNTIL_FINAL: ProverFinding = {
  kind: "nothing",
  reason: "the hub has not finalized its last update of this chain yet",
  againInMs: 3_000,
};

/** See the head of the file. Methods may throw an `RpcFault`. */
export class TargetClient<State> {
  readonly #reads: Pick<TargetReads, "fetchClient" | "fetchNowSec">;
  readonly #id: StateMachineId;
  readonly #kind: TargetClientKind<State>;

  /** @param id the chain that it follows, which faults name, and the name of the client. */
  constructor(
    { reads }: { readonly reads: Pick<TargetReads, "fetchClient" | "fetchNowSec"> },
    id: StateMachineId,
    kind: TargetClientKind<State>,
  ) {
    this.#reads = reads;
    this.#id = id;
    this.#kind = kind;
  }

  /** Fetches the client's newest state. @throws {ProverFault} `hub_state`, `frozen`, `expired` */
  async fetch(signal: AbortSignal): Promise<ClientState<State>> {
    const [client, nowSec] = await Promise.all([
      this.#reads.fetchClient(this.#id.consensusStateId, "best", signal),
      this.#reads.fetchNowSec(signal),
    ]);
    if (client === undefined) {
      throw this.fault(
        `${this.#owner} has no client ${this.#id.consensusStateId}: its governance creates it (log-consensus-state)`,
      );
    }
    requireUsable(this.#id, this.#owner, { client, nowSec });
    const ageMs = Number(nowSec - client.updatedSec) * 1_000;
    return { state: this.read(client), bytes: client.state, ageMs, nowSec };
  }

  /** Reads the state of the client, whether it is usable or not. @throws {ProverFault} `hub_state` */
  read({ clientId, state }: Pick<ConsensusClientView, "clientId" | "state">): State {
    const { clientId: expected, decode } = this.#kind;
    if (clientId !== expected) throw this.fault(`${this.#where} is ${clientId}, not ${expected}`);
    return mapError(
      ClientError,
      () => decode(state),
      (cause) => this.fault(`the state of ${this.#where} is unreadable`, cause),
    );
  }

  /**
   * Fetches the client's newest state once that is final; `undefined` before: an update on a state that a fork may
   * revert would become invalid. @throws {ProverFault} as {@link fetch}
   */
  async fetchFinal(signal: AbortSignal): Promise<ClientState<State> | undefined> {
    const [best, final] = await Promise.all([
      this.fetch(signal),
      this.#reads.fetchClient(this.#id.consensusStateId, "final", signal),
    ]);
    return final !== undefined && equalBytes(best.bytes, final.state) ? best : undefined;
  }

  get #owner(): string {
    return this.#kind.owner ?? "the hub";
  }

  get #where(): string {
    return `client ${this.#id.consensusStateId} of ${this.#owner}`;
  }

  /** Creates the fault of what the chain stores: `hub_state`. */
  fault(detail: string, cause?: unknown): ProverFault {
    const options = cause === undefined ? undefined : { cause };
    return new ProverFault("hub_state", { chain: this.#id.stateMachine, detail }, options);
  }
}

/**
 * Worker of one light client: poll, submit the updates that were found, wait. Light clients are isolated from each other:
 * faults of endpoints and of the target are waited out here, and a defect restarts this worker only.
 */
import { onError } from "../core/encoding/coded_error.ts";
import { about, type CheckRow } from "../core/checks/check_row.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import { describeUnlisted, findAcceptedChains } from "../core/ismp/consensus_clients.ts";
import { type Backoff, withDeadline } from "../core/runtime/retry.ts";
import { awaitLogged, WaitNotices } from "../core/runtime/waiting.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { Log } from "../core/telemetry/log.ts";
import {
  type Attempt,
  deliver,
  type DeliverDeps,
  type FoundUpdates,
  inExtrinsics,
  type LightClient,
  type NothingFound,
  type SubmitResult,
} from "./deliver_update.ts";
import {
  type Pollable,
  type PollDeps,
  type PollResult,
  proverFaultRow,
  runPollLoop,
  type UpdateRoute,
} from "./poll_loop.ts";
import { type ConsensusProver, ProverFault, type ProverFinding } from "./prover.ts";

/** Dependencies that the workers of all light clients share. */
export interface ClientWorkerDeps extends Omit<PollDeps, "log"> {
  /** Poll interval of the hub, milliseconds. */
  readonly intervalMs: number;
}

/** Maximum duration of one poll: a missed year of committees, or a whole state over a slow line, takes minutes. */
const POLL_TIMEOUT_MS = 30 * 60_000;

/** Creates the worker of a prover's chain. @param deps.hub the chain to prove to. */
export function chainWorker(
  deps: ClientWorkerDeps & DeliverDeps,
  prover: ConsensusProver,
): Worker {
  return clientWorker(deps, new ProvedClient(deps, prover));
}

/** Checks what the hub knows of a chain, without a request to nodes of the chain where that is possible. */
export async function checkHubOfProver(
  prover: ConsensusProver,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  return await prover.checkHub?.(signal) ?? await checkProver(prover, signal);
}

/** Checks a chain. Wrong answers of its endpoints or the hub may be right at the next poll, so they are warnings. */
export async function checkProver(
  prover: ConsensusProver,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  return await prover.check(signal).catch(
    onError(ProverFault, (fault) => [proverFaultRow(prover.chain, fault)]),
  );
}

/**
 * Warns when the hub does not accept messages of a chain whose heights it stores. Updates are submitted anyway, since
 * governance waits for them.
 */
export async function checkAccepted(
  hub: ConsensusTarget,
  { chain, commitmentId: { stateMachine, consensusStateId } }: ConsensusProver,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const client = await hub.reads.fetchClient(consensusStateId, "best", signal);
  const list = client && findAcceptedChains(client.clientId);
  if (list === undefined) return [];
  const [entry] = await hub.reads.fetchStorage([list.entry(stateMachine)], signal);
  if (entry !== undefined) return [];
  const found = `${hub.id.stateMachine} ${
    describeUnlisted(stateMachine, list)
  }; updates are submitted anyway`;
  return [about(chain).warning("chain_not_accepted", found)];
}

/** Pauses between polls of a target that takes nothing until others act. */
const unusableBackoff: Backoff = { firstMs: 60_000, maxMs: 60_000, jitter: 0 };

/** Maximum random delay by which a relayer that came second backs off from the one that was first. */
const MAX_COMPETITOR_BACKOFF_MS = 8_000;

/** Creates the worker of one light client: it polls, and submits what was found. */
export function clientWorker(deps: ClientWorkerDeps, client: LightClient): Worker {
  const { route, log } = client;
  const pollable: Pollable = {
    route,
    get intervalMs(): number {
      return client.intervalMs ?? deps.intervalMs;
    },
    poll: (failures, signal) => pollClient(deps, { client, failures }, signal),
  };
  return {
    name: `${route.chain} -> ${route.target}`,
    run: (signal) => runPollLoop({ ...deps, log }, pollable, signal),
  };
}

/** A light client, and the consecutive failures before its poll. */
interface Polled {
  readonly client: LightClient;
  readonly failures: number;
}

async function pollClient(
  deps: ClientWorkerDeps,
  polled: Polled,
  signal: AbortSignal,
): Promise<PollResult> {
  const { clock, observer, random } = deps;
  const { client } = polled;
  const startMs = clock.now();
  const found = await client.find(signal);
  if (found.kind === "nothing") {
    const { reason, againInMs, lacking } = found;
    return lacking === "target"
      ? { kind: "failed", failure: { text: reason }, backoff: unusableBackoff }
      : { kind: "nothing", againInMs, reason };
  }
  const updates = { updates: found, findMs: clock.now() - startMs };
  const attempt = await deliver({ clock, observer, route: client.route }, updates, signal);
  const { result } = attempt;
  switch (result.kind) {
    case "accepted":
      // Where proofs are sent for messages alone, there may be some in the meantime.
      return { kind: "updated", hasMore: found.hasMore || !client.isFree };
    case "overtaken":
      // The update that came first may leave something to be proved.
      return { kind: "updated", hasMore: result.hubHeight === undefined || found.hasMore };
    case "wasted":
      // Relayers that send at the same moment would keep colliding.
      return { kind: "nothing", againInMs: Math.round(random.fraction() * MAX_COMPETITOR_BACKOFF_MS) };
    case "refused":
    case "lost":
      return reportFailure(polled, found, { ...attempt, result });
  }
}

/** Logs why updates were not taken, and returns the result of the poll. */
function reportFailure(
  { client: { log, failures: events }, failures }: Polled,
  { ifTooLarge }: FoundUpdates,
  { result, summary, bytes }: Attempt<Extract<SubmitResult, { readonly kind: "refused" | "lost" }>>,
): PollResult {
  // The pool or the target may have got a competitor's update in the meantime; a second failure is not a coincidence.
  const level = failures === 0 ? "info" : "warn";
  if (result.kind === "lost") {
    log[level](`${events}.lost`, { summary, reason: result.reason });
    return { kind: "failed", failure: { text: `the update was lost: ${result.reason}` } };
  }
  const { code, detail } = result.refusal;
  if (code === "too_expensive") return { kind: "suspended", failure: { text: detail } }; // reported
  if (code === "too_large" && ifTooLarge !== undefined) {
    const { advice: explanation, result: kind } = ifTooLarge;
    log.error(`${events}.too_large`, { summary, bytes, detail, explanation });
    return { kind, failure: { text: `too large for the target: ${explanation}` } };
  }
  if (code === "insufficient_funds") log.error("balance_insufficient", { detail });
  else log[level](`${events}.rejected`, { summary, code, detail });
  return { kind: "failed", failure: { text: `the target refused the update: ${code}` } };
}

/** Dependencies of a {@link ProvedClient}. */
export interface ProvedClientDeps extends DeliverDeps {
  /**
   * Interval at which the hub is asked for the L1s of rollups, milliseconds: they are proved at L1 blocks that the hub
   * knows, so they are polled as soon as it knows a newer one, from any relayer. Absent: they are polled once.
   */
  readonly intervalMs?: number;
}

/** The light client of a prover's chain on a target. */
export class ProvedClient implements LightClient {
  readonly route: UpdateRoute;
  readonly log: Log;
  readonly isFree = true;
  readonly failures = "update_failed";
  readonly #deps: ProvedClientDeps;
  readonly #prover: ConsensusProver;
  readonly #notices: WaitNotices;
  /** Poll that found nothing to prove of a rollup: it holds for an interval, at this height of its L1. */
  #idle:
    | { readonly result: NothingFound; readonly l1Height: bigint | undefined; readonly untilMs: number }
    | undefined;

  /** @param deps.log gets the name of the chain. */
  constructor(deps: ProvedClientDeps, prover: ConsensusProver) {
    this.log = deps.log.with({ chain: prover.chain });
    this.#deps = { ...deps, log: this.log };
    this.#prover = prover;
    this.#notices = new WaitNotices(this.#deps);
    this.route = { chain: prover.chain, target: deps.hub.id.stateMachine };
  }

  get intervalMs(): number {
    const { l1, intervalMs } = this.#prover;
    return l1 === undefined ? intervalMs : Math.min(intervalMs, this.#deps.intervalMs ?? intervalMs);
  }

  async find(signal: AbortSignal): Promise<NothingFound | FoundUpdates> {
    const { clock, hub } = this.#deps;
    const { l1, intervalMs } = this.#prover;
    const startMs = clock.now();
    const l1Height = l1 && await hub.reads.fetchLatestHeight(l1, signal);
    const idle = this.#idle;
    if (idle !== undefined && startMs < idle.untilMs && l1Height === idle.l1Height) {
      return this.#wait(idle.result);
    }
    const found = await this.#poll(signal);
    this.#idle = undefined;
    if (found.kind === "updates") {
      this.#notices.done("update");
      return inExtrinsics(this.#deps, this.#prover, found);
    }
    if (l1 !== undefined) this.#idle = { result: found, l1Height, untilMs: startMs + intervalMs };
    return this.#wait(found);
  }

  #wait(result: NothingFound): NothingFound {
    const { reason } = result;
    this.log.debug("update_not_needed", { reason });
    this.#notices.waiting("update", { event: "long_wait.update", fields: { reason } });
    return result;
  }

  #poll(signal: AbortSignal): Promise<ProverFinding> {
    const what = `the end of a poll of ${this.#prover.chain}`;
    const poll = (inner: AbortSignal): Promise<ProverFinding> => this.#prover.next(inner);
    return awaitLogged(
      this.#deps,
      { event: "long_wait.poll" },
      () => withDeadline(this.#deps.clock, { what, afterMs: POLL_TIMEOUT_MS, signal }, poll),
    );
  }
}

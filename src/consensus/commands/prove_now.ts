/**
 * `prove`: advances one light client now: builds and verifies an update, says what it contains and what it costs, and
 * submits it. In the running relayer it has the light client's turn, so that its worker and this never work on it at once.
 */
import type { NamedSection } from "../../core/config/chain_names.ts";
import { CommandRefusal, isFault } from "../../core/commands/command.ts";
import { formatDecimal } from "../../core/encoding/bytes.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { ProvedClient } from "../chain_worker.ts";
import {
  deliver,
  type FoundUpdates,
  type LightClient,
  type SubmitResult,
  type TryResult,
} from "../deliver_update.ts";
import type { ProverTurns, UpdateObserver, UpdateRoute } from "../poll_loop.ts";
import type { Connections } from "../session.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** What proves: the connections of a relayer, or of a command's own process. */
export interface Proving extends Pick<Connections, "hub" | "proved" | "receiveOnly" | "hubConsensus"> {
  /** Chains by the names of their sections. */
  readonly sections: readonly NamedSection[];
  readonly clock: Clock;
  readonly log: Log;
  readonly turns: ProverTurns;
  /** Notified of what was submitted; absent: nobody observes. */
  readonly observer?: UpdateObserver | undefined;
}

/** Which light client, by its chains, and whether to submit. */
export interface ProveRequest {
  readonly chain: StateMachine;
  /** The chain that stores the light client; absent: the hub. */
  readonly to?: StateMachine | undefined;
  readonly isDryRun: boolean;
}

/** Result of proving one chain to another: plain data, numbers that may not fit a double as text. */
export interface Proven {
  readonly chain: string;
  /** Chain that stores the light client. */
  readonly target: string;
  readonly outcome: "nothing" | "possible" | "accepted" | "overtaken" | "refused" | "lost";
  /** Sentence for the operator. */
  readonly text: string;
  /** What the updates contain: heights, sets of authorities. */
  readonly summary?: string | undefined;
  readonly updates: number;
  readonly bytes: number;
  /** Height that the target knows afterwards; absent: only a set of validators or authorities changes. */
  readonly height?: string | undefined;
  /** True when another update can follow at once. */
  readonly hasMore: boolean;
  /** Time for reading the chain, building and verifying, ms. */
  readonly buildMs: number;
  /** Transaction on the target; absent: none, or it is no EVM chain. */
  readonly transaction?: string | undefined;
  /**
   * What the transaction costs, or would cost at the price of the moment; no gas: the target charges nothing. Absent:
   * nothing was proved, refused or lost, or the node does not say.
   */
  readonly cost?: {
    readonly gas: string;
    /** Native tokens, data on another chain included. */
    readonly native: string;
    /** False: an estimate, nothing was sent. */
    readonly isPaid: boolean;
  } | undefined;
}

/** The part of it that does not name the chains. */
export type ProofResult = Omit<Proven, "chain" | "target">;

/** Builds, verifies and, unless it is a dry run, submits an update now. @throws {CommandRefusal} */
export async function proveNow(
  proving: Proving,
  request: ProveRequest,
  signal: AbortSignal,
): Promise<Proven> {
  const { isDryRun } = request;
  const { clock, observer, turns } = proving;
  const client = findClient(proving, request);
  const { route } = client;
  return await turns.of(route).run(async () => {
    try {
      return { ...route, ...await proveClient({ clock, observer }, { client, isDryRun }, signal) };
    } catch (error) {
      signal.throwIfAborted();
      throw explain(error, route);
    }
  }, signal);
}

/** Finds the light client. @throws {CommandRefusal} that lists the known ones */
function findClient(proving: Proving, { chain, to }: ProveRequest): LightClient {
  const { hub, proved } = proving;
  const hubName = hub.id.stateMachine;
  if (chain === hubName) return findFollower(proving, to);
  if (to !== undefined && to !== hubName) {
    throw new CommandRefusal(`${chain} is proved to ${hubName} only: leave out --to.`);
  }
  const prover = proved.find((each) => each.chain === chain);
  if (prover !== undefined) return new ProvedClient(proving, prover);
  throw new CommandRefusal(
    proving.receiveOnly.includes(chain)
      ? `${chain} only receives: the hub has no client of it that this program can advance.`
      : `${chain} is not configured. Configured are ${listed(proved.map((each) => each.chain))}.`,
  );
}

/** Finds the hub's light client on a chain. */
function findFollower(proving: Proving, to: StateMachine | undefined): LightClient {
  const { hub: { id: { stateMachine } }, hubConsensus } = proving;
  if (hubConsensus === undefined) {
    throw new CommandRefusal(`${stateMachine} is proved to no chain: enable_hub_consensus is false.`);
  }
  const { followers, skipped, skippedText } = hubConsensus;
  const found = followers.find(({ client }) => client.route.target === to);
  if (found !== undefined) return found.client;
  const known = listed(followers.map(({ client }) => client.route.target));
  if (to === undefined) {
    throw new CommandRefusal(`Name the chain that ${stateMachine} is proved to, with --to: ${known}.`);
  }
  const why = skipped.includes(to) ? `: ${skippedText}` : "";
  throw new CommandRefusal(`${stateMachine} is not proved to ${to}${why}. It is proved to ${known}.`);
}

function listed(chains: readonly string[]): string {
  return chains.join(", ") || "none";
}

/** Faults whose message is for the operator, as a refusal. */
function explain(error: unknown, { chain, target }: UpdateRoute): unknown {
  if (!isFault(error) || error instanceof CommandRefusal) return error;
  return new CommandRefusal(`No update of ${chain} on ${target}: ${error.message}`);
}

/** Finds, and unless it is a dry run submits, what a light client needs next. @throws {CommandRefusal} */
export async function proveClient(
  { clock, observer }: Pick<Proving, "clock" | "observer">,
  { client, isDryRun }: { readonly client: LightClient; readonly isDryRun: boolean },
  signal: AbortSignal,
): Promise<ProofResult> {
  const { route } = client;
  const startMs = clock.now();
  const problems = await client.findProblems?.(signal) ?? [];
  if (problems.length > 0) throw refuse(route, problems.map(({ found }) => found).join("; "));
  const found = await client.find(signal);
  const buildMs = clock.now() - startMs;
  if (found.kind === "nothing") {
    if (found.lacking !== undefined) throw refuse(route, found.reason);
    const text = `Nothing to prove: ${found.reason}.`;
    return { outcome: "nothing", text, updates: 0, bytes: 0, hasMore: false, buildMs };
  }
  const { result, height, ...contents } = isDryRun
    ? await found.tryOut(signal)
    : await deliver({ clock, observer, route }, { updates: found, findMs: buildMs }, signal);
  return {
    ...contents,
    height: height?.toString(),
    hasMore: found.hasMore,
    buildMs,
    ...describeEnd(route.target, result, isDryRun ? undefined : found),
    cost: client.isFree ? FREE : toCost(result),
  };
}

/** Says how an attempt ended. @param sent what was submitted; `undefined`: it was only tried. */
function describeEnd(
  target: string,
  result: TryResult | SubmitResult,
  sent: FoundUpdates | undefined,
): Pick<ProofResult, "outcome" | "text" | "transaction"> {
  switch (result.kind) {
    case "accepted": {
      if (!("block" in result)) return { outcome: "possible", text: `Verified; ${target} would accept it.` };
      const { block, transaction } = result;
      return { outcome: "accepted", text: `${target} accepted it in block ${block}.`, transaction };
    }
    case "wasted": {
      const { block, transaction } = result;
      const text = `Another relayer's came first: it was paid for in block ${block} and changed nothing.`;
      return { outcome: "overtaken", text, transaction };
    }
    case "overtaken":
      return { outcome: "overtaken", text: "Another relayer's update came first." };
    case "refused": {
      const { code, detail } = result.refusal;
      const text = `${target} ${sent === undefined ? "would refuse" : "refused"} it: ${code}: ${detail}`;
      const advice = code === "too_large" ? sent?.ifTooLarge?.advice : undefined;
      return { outcome: "refused", text: advice === undefined ? text : `${text}; ${advice}` };
    }
    case "lost":
      return { outcome: "lost", text: `It was not included: ${result.reason}.` };
  }
}

function refuse({ chain, target }: UpdateRoute, detail: string): CommandRefusal {
  return new CommandRefusal(`No update of ${chain} on ${target}: ${detail}.`);
}

/** The hub and Substrate chains take updates in unsigned extrinsics, which pay no fee. */
const FREE = { gas: "0", native: "0", isPaid: true };

function toCost(result: TryResult | SubmitResult): Proven["cost"] {
  if (!("spent" in result) || result.spent === undefined) return undefined;
  const { gasUsed, gasPriceWei, dataCostWei } = result.spent;
  const native = formatDecimal(gasUsed * gasPriceWei + dataCostWei, 18);
  return { gas: gasUsed.toString(), native, isPaid: "block" in result };
}

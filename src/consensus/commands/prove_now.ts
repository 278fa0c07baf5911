/**
 * `prove`: advances one light client now: builds and verifies an update, says what it contains and what it costs, and
 * submits it. In the running relayer it has the light client's turn, so that its worker and this never work on it at once.
 */
import type { NamedSection } from "../../core/commands/chain_name.ts";
import { CommandRefusal } from "../../core/commands/command.ts";
import { RpcFault } from "../../core/rpc/call.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { DeadlineFault } from "../../core/runtime/retry.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { bytesOf, deliverUpdate, type UpdateToDeliver } from "../deliver_update.ts";
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import { type ConsensusProver, ProverFault } from "../prover.ts";
import type { ProofResult, Proven } from "../proven.ts";
import type { ProverTurns, UpdateObserver, UpdateRoute } from "../poll_loop.ts";
import type { Connections } from "../session.ts";
import type { HubHost } from "../followers/hub_consensus.ts";
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

/** Builds, verifies and, unless it is a dry run, submits an update now. @throws {CommandRefusal} */
export async function proveNow(
  proving: Proving,
  request: ProveRequest,
  signal: AbortSignal,
): Promise<Proven> {
  const { isDryRun } = request;
  const { observer, turns } = proving;
  const found = findRoute(proving, request);
  const target = ("host" in found ? found.host : found.target).id.stateMachine;
  const route = { chain: request.chain, target };
  const prove = (): Promise<ProofResult> =>
    "host" in found
      ? found.host.prove({ isDryRun, observer }, signal)
      : proveByProver({ ...proving, ...found }, isDryRun, signal);
  return await turns.of(route).run(async () => {
    try {
      return { ...route, ...await prove() };
    } catch (error) {
      signal.throwIfAborted();
      throw explain(error, route);
    }
  }, signal);
}

/** What advances a light client by updates in extrinsics: of chains on the hub, and of the hub on Substrate chains. */
interface ProverRoute {
  readonly prover: ConsensusProver;
  readonly target: ConsensusTarget;
}

/** Finds what advances a light client; a host takes proofs of the hub. @throws {CommandRefusal} that lists the known ones. */
function findRoute(proving: Proving, { chain, to }: ProveRequest): ProverRoute | { readonly host: HubHost } {
  const { hub, proved } = proving;
  const hubName = hub.id.stateMachine;
  if (chain === hubName) return findFollower(proving, to);
  if (to !== undefined && to !== hubName) {
    throw new CommandRefusal(`${chain} is proved to ${hubName} only: leave out --to.`);
  }
  const prover = proved.find((each) => each.chain === chain);
  if (prover !== undefined) return { prover, target: hub };
  throw new CommandRefusal(
    proving.receiveOnly.includes(chain)
      ? `${chain} only receives: the hub has no client of it that this program can advance.`
      : `${chain} is not configured. Configured are ${listed(proved.map((each) => each.chain))}.`,
  );
}

/** Finds what proves the hub to a chain. */
function findFollower(
  { hub: { id: { stateMachine } }, hubConsensus }: Proving,
  to: StateMachine | undefined,
): ReturnType<typeof findRoute> {
  if (hubConsensus === undefined) {
    throw new CommandRefusal(`${stateMachine} is proved to no chain: enable_hub_consensus is false.`);
  }
  const { hosts, followers, skipped, skippedText } = hubConsensus;
  const host = hosts.find(({ id }) => id.stateMachine === to);
  if (host !== undefined) return { host };
  const follower = followers.find(({ target }) => target.id.stateMachine === to);
  if (follower !== undefined) return follower;
  const known = listed([...hosts, ...followers.map(({ target }) => target)].map(({ id }) => id.stateMachine));
  if (to === undefined) {
    throw new CommandRefusal(`Name the chain that ${stateMachine} is proved to, with --to: ${known}.`);
  }
  const why = skipped.includes(to) ? `: ${skippedText}` : "";
  throw new CommandRefusal(`${stateMachine} is not proved to ${to}${why}. It is proved to ${known}.`);
}

function listed(chains: readonly StateMachine[]): string {
  return chains.join(", ") || "none";
}

/** Faults whose message is for the operator, as a refusal. */
function explain(error: unknown, { chain, target }: UpdateRoute): unknown {
  const isExpected = error instanceof ProverFault || error instanceof RpcFault ||
    error instanceof DeadlineFault;
  return isExpected ? new CommandRefusal(`No update of ${chain} on ${target}: ${error.message}`) : error;
}

/** The hub and Substrate chains take updates in unsigned extrinsics, which pay no fee. */
const FREE = { gas: "0", native: "0", isPaid: true };

async function proveByProver(
  { prover, ...delivery }: Proving & ProverRoute,
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<ProofResult> {
  const { clock } = delivery;
  const startMs = clock.now();
  const finding = await prover.next(signal);
  const findMs = clock.now() - startMs;
  if (finding.kind === "nothing") {
    const text = `Nothing to prove: ${finding.reason}.`;
    return { outcome: "nothing", text, updates: 0, bytes: 0, hasMore: false, buildMs: findMs };
  }
  const update = { prover, finding, findMs };
  const end = isDryRun
    ? await tryUpdates(delivery.target, update, signal)
    : await submit(delivery, update, signal);
  return {
    summary: finding.summary,
    updates: finding.proofs.length,
    bytes: bytesOf(finding.proofs),
    height: finding.height?.toString(),
    hasMore: finding.hasMore,
    buildMs: findMs,
    cost: FREE,
    ...end,
  };
}

/** Asks the target whether it would take the updates. */
async function tryUpdates(
  target: ConsensusTarget,
  { prover, finding }: UpdateToDeliver,
  signal: AbortSignal,
): Promise<Pick<Proven, "outcome" | "text">> {
  const update = { id: prover.consensusStateId, proofs: finding.proofs };
  const refusal = await target.updates.dryRunUpdates(update, signal);
  const name = target.id.stateMachine;
  if (refusal === undefined) return { outcome: "possible", text: `Verified; ${name} would accept it.` };
  return { outcome: "refused", text: `${name} would refuse it: ${refusal.code}: ${refusal.detail}` };
}

async function submit(
  { clock, log, hub, target, observer }: Proving & Pick<ProverRoute, "target">,
  update: UpdateToDeliver,
  signal: AbortSignal,
): Promise<Pick<Proven, "outcome" | "text">> {
  const name = target.id.stateMachine;
  const fields = { chain: update.prover.chain, ...target === hub ? {} : { to: name } };
  const deps = { clock, log: log.with(fields), hub: target, observer };
  const result = await deliverUpdate(deps, update, signal);
  switch (result.kind) {
    case "accepted":
      return { outcome: "accepted", text: `${name} accepted it in block ${result.block}.` };
    case "overtaken":
      return { outcome: "overtaken", text: "Another relayer's update came first." };
    case "refused": {
      const { code, detail } = result.refusal;
      const advice = code === "too_large" ? update.finding.adviceIfTooLarge : undefined;
      const text = `${name} refused it: ${code}: ${detail}`;
      return { outcome: "refused", text: advice === undefined ? text : `${text}; ${advice}` };
    }
    case "lost":
      return { outcome: "lost", text: `It was not included: ${result.reason}.` };
  }
}

/**
 * `prove`: builds an update of one chain now, verifies it, says what it contains and what it cost, and submits it.
 * In the running relayer it has the chain's turn, so that its worker and this never work on the chain at once.
 */
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import { OperationRefusal } from "../../core/commands/control_operation.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { RpcFault } from "../../core/rpc/fault.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { bytesOf } from "../chain_worker.ts";
import { type ConsensusProver, ProverFault, type ProverFinding } from "../prover.ts";
import { submitUpdates } from "../submit.ts";
import type { ProverTurns } from "./prover_turns.ts";
import { z } from "zod";

/** What proves: the hub and the provers of a relayer, or of a command's own process. */
export interface Proving {
  readonly clock: Clock;
  readonly log: Log;
  readonly hub: ConsensusTarget;
  readonly proved: readonly ConsensusProver[];
  readonly receiveOnly: readonly StateMachine[];
  readonly turns: ProverTurns;
}

/** Result as it travels. */
export const provenShape = z.object({
  chain: z.string(),
  outcome: z.enum(["nothing", "possible", "accepted", "overtaken", "refused", "lost"]),
  /** Sentence for the operator. */
  text: z.string(),
  /** What the updates contain. */
  summary: z.string().optional(),
  updates: z.number(),
  bytes: z.number(),
  /** Height that the hub knows afterwards; absent: only a validator set changes. */
  height: z.string().optional(),
  /** True when another update can follow at once. */
  hasMore: z.boolean(),
  /** Time for reading the chain, building and verifying, ms. */
  buildMs: z.number(),
});

/** Result of {@link proveNow}. */
export type Proven = z.output<typeof provenShape>;

/** Which chain, and whether to submit. */
export interface ProveRequest {
  readonly chain: StateMachine;
  readonly isDryRun: boolean;
}

/** Builds, verifies and, unless it is a dry run, submits an update now. @throws {OperationRefusal} */
export async function proveNow(
  proving: Proving,
  { chain, isDryRun }: ProveRequest,
  signal: AbortSignal,
): Promise<Proven> {
  const prover = proving.proved.find((each) => each.chain === chain);
  if (prover === undefined) {
    throw new OperationRefusal(
      proving.receiveOnly.includes(chain)
        ? `${chain} only receives: the hub has no client of it that this program can advance.`
        : `${chain} is not configured. Configured are ${
          proving.proved.map((each) => each.chain).join(", ")
        }.`,
    );
  }
  return await proving.turns.of(chain).run(async () => {
    try {
      return await proveInTurn(proving, { prover, isDryRun }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ProverFault || error instanceof RpcFault)) throw error;
      throw new OperationRefusal(`No update of ${chain}: ${error.message}`);
    }
  }, signal);
}

async function proveInTurn(
  proving: Proving,
  { prover, isDryRun }: { readonly prover: ConsensusProver; readonly isDryRun: boolean },
  signal: AbortSignal,
): Promise<Proven> {
  const startMs = proving.clock.now();
  const finding = await prover.next(signal);
  const { chain } = prover;
  const buildMs = proving.clock.now() - startMs;
  if (finding.kind === "nothing") {
    const text = `Nothing to prove: ${finding.reason}.`;
    return { chain, outcome: "nothing", text, updates: 0, bytes: 0, hasMore: false, buildMs };
  }
  const built = {
    chain,
    summary: finding.summary,
    updates: finding.proofs.length,
    bytes: bytesOf(finding.proofs),
    height: finding.height?.toString(),
    hasMore: finding.hasMore,
    buildMs,
  };
  const end = isDryRun
    ? await tryUpdates(proving, { prover, finding }, signal)
    : await submit(proving, { prover, finding }, signal);
  return { ...built, ...end };
}

/** An update that was found. */
interface Found {
  readonly prover: ConsensusProver;
  readonly finding: Extract<ProverFinding, { kind: "updates" }>;
}

/** Asks the hub whether it would take the updates. */
async function tryUpdates(
  { hub }: Proving,
  { prover, finding }: Found,
  signal: AbortSignal,
): Promise<Pick<Proven, "outcome" | "text">> {
  const update = { id: prover.consensusStateId, proofs: finding.proofs };
  const refusal = await hub.updates.dryRunUpdates(update, signal);
  if (refusal === undefined) return { outcome: "possible", text: "Verified; the hub would take it." };
  return { outcome: "refused", text: `The hub would refuse it: ${refusal.code}: ${refusal.detail}` };
}

async function submit(
  { hub, clock, log }: Proving,
  { prover, finding }: Found,
  signal: AbortSignal,
): Promise<Pick<Proven, "outcome" | "text">> {
  const { chain, consensusStateId, commitmentId } = prover;
  const { proofs, madeOn, height } = finding;
  const found = { chain, consensusStateId, commitmentId, proofs, madeOn, height };
  const result = await submitUpdates({ clock, log, hub }, found, signal);
  switch (result.kind) {
    case "accepted":
      return { outcome: "accepted", text: `The hub took it in block ${result.block}.` };
    case "overtaken":
      return { outcome: "overtaken", text: "Another relayer's update came first." };
    case "refused":
      return {
        outcome: "refused",
        text: `The hub refused it: ${result.refusal.code}: ${result.refusal.detail}`,
      };
    case "lost":
      return { outcome: "lost", text: `It was not included: ${result.reason}.` };
  }
}

/**
 * Value types specific to the consensus relayer's file: ids as arrays of bytes, and pairs of a chain and a period.
 */
import * as z from "zod";
import { anyStateMachine, consensusStateId } from "../../core/config/chain_values.ts";
import { refusal } from "../../core/config/schema.ts";
import { listOf, wideSeconds } from "../../core/config/values.ts";
import {
  type ConsensusStateId,
  type StateMachineId,
  stateMachineIdKey,
} from "../../core/ismp/state_machine.ts";

/** As {@link consensusStateId}; files of 2025 write it as an array of its four bytes. */
export const byteConsensusStateId: z.ZodType<ConsensusStateId> = z.union(
  [consensusStateId, z.array(z.unknown()).transform(bytesToText).pipe(consensusStateId)],
  `a consensus state id of exactly 4 ASCII characters such as "ETH0", or an array of its 4 bytes`,
);

function bytesToText(bytes: readonly unknown[], context: z.core.$RefinementCtx<unknown>): unknown {
  const isText = bytes.every((byte) => typeof byte === "bigint" && byte >= 0x20n && byte <= 0x7en);
  if (isText && bytes.length === 4) return String.fromCharCode(...bytes.map(Number));
  const found = `an array of ${bytes.length} elements that are not such bytes`;
  context.issues.push(refusal(bytes, "an array of 4 bytes that are ASCII characters", { found }));
  return z.NEVER;
}

/** Maximum time between two updates of a chain before the program ends. */
export interface UpdateLimit {
  /** The chain, and the id under which its heights are stored. */
  readonly id: StateMachineId;
  readonly maxSec: bigint;
}

const PAIR_EXPECTED =
  'a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]';

const limitedId: z.ZodType<StateMachineId> = z.union([
  z.object({ state_id: anyStateMachine, consensus_state_id: byteConsensusStateId }, PAIR_EXPECTED)
    .transform((id) => ({ stateMachine: id.state_id, consensusStateId: id.consensus_state_id })),
  z.tuple(
    [anyStateMachine, byteConsensusStateId],
    'a chain and its consensus state id such as ["EVM-1", "ETH0"]',
  ).transform(([stateMachine, consensusStateId]) => ({ stateMachine, consensusStateId })),
], PAIR_EXPECTED);

const updateLimit: z.ZodType<UpdateLimit> = z.tuple([limitedId, wideSeconds], PAIR_EXPECTED)
  .transform(([id, maxSec]) => ({ id, maxSec }));

/** Pairs of a chain and the maximum time between its updates, each id once. */
export const updateLimits: z.ZodType<readonly UpdateLimit[]> = listOf(updateLimit, {
  expected: "an array of pairs (empty: no chain is watched)",
  identity: ({ id }) => stateMachineIdKey(id),
});

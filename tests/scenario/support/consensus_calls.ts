/** The consensus proofs of the hub that an account carried to an EVM host, and which of them changed nothing. */
import type { Address } from "viem";
import type { Hex } from "../../../src/core/encoding/bytes.ts";
import type { IsmpHost } from "../../../devnet/evm/deploy.ts";
import { readDeliveries } from "./consensus_hosts.ts";

/** A transaction that was mined without a revert and carried at least one consensus proof. */
export interface ConsensusTransaction {
  readonly hash: Hex;
  readonly height: bigint;
  /** Consensus proofs in it. */
  readonly proofs: number;
  /** How many of them were stale: paid for, and the host ignored them. */
  readonly stale: number;
  /** How many of them rotated the authority set, with a new height of the hub or without. */
  readonly rotations: number;
  /** True when messages travelled behind the proofs. */
  readonly hasMessages: boolean;
}

/** All of an account after block `after`, oldest first. */
export async function readConsensusTransactions(
  host: IsmpHost,
  account: Address,
  after: bigint,
): Promise<readonly ConsensusTransaction[]> {
  const found = await readDeliveries({ host }, after);
  return found.filter(({ sender, isReverted }) => sender === account.toLowerCase() && !isReverted)
    .map(({ hash, block, effects, hasMessages }) => ({
      hash,
      height: block,
      proofs: effects.length,
      stale: effects.filter((effect) => effect === "none").length,
      rotations: effects.filter((effect) => effect === "rotation").length,
      hasMessages,
    }));
}

/** The consensus proofs of the hub that an account carried to an EVM host, and which of them changed nothing. */
import type { Address } from "viem";
import type { Hex } from "../../../src/core/encoding/bytes.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import { decodeHandlerCall, type HandlerCall } from "../../../src/core/evm/handler_calls.ts";
import { decodeHostLog } from "../../../src/core/evm/host_events.ts";
import type { IsmpHost } from "../../../devnet/evm/deploy.ts";
import { FIRST_BEEFY_SET } from "../../../devnet/relay/validators.ts";
import { readTransactionsOf } from "./account_history.ts";

/** A transaction that was mined without a revert and carried at least one consensus proof. */
export interface ConsensusTransaction {
  readonly hash: Hex;
  readonly height: bigint;
  /** Consensus proofs in it. */
  readonly proofs: number;
  /** How many of them were stale: paid for, and the host ignored them. */
  readonly stale: number;
  /** How many of them rotated the authority set. */
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
  const mined = await readTransactionsOf(host, account, after);
  const found = await Promise.all(
    mined.filter(({ isReverted }) => !isReverted).map(async ({ hash, height }) => {
      const [{ input }, { logs }] = await Promise.all([
        host.reader.getTransaction({ hash }),
        host.reader.getTransactionReceipt({ hash }),
      ]);
      const calls = flat(decodeHandlerCall(input));
      const proofs = calls.filter(({ tag }) => tag === "handleConsensus").length;
      const events = logs.map((log) => decodeHostLog(log, toAddress(host.addresses.host)));
      const updates = events.filter((log) => log.kind === "event" && log.event.tag === "StateMachineUpdated");
      // Of the set that hosts trust from the start an epoch is told by the first proof of any kind.
      const rotations = events.filter((log) =>
        log.kind === "event" && log.event.tag === "NewEpoch" &&
        log.event.value.authoritySetId > FIRST_BEEFY_SET
      );
      const stale = proofs - updates.length;
      const hasMessages = calls.length > proofs;
      return { hash, height, proofs, stale, rotations: rotations.length, hasMessages };
    }),
  );
  return found.filter(({ proofs }) => proofs > 0);
}

function flat(call: HandlerCall): readonly HandlerCall[] {
  return call.tag === "batchCall" ? call.value.calls.flatMap(flat) : [call];
}

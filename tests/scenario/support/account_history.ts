/** Every transaction of an account on an EVM chain of the devnet, read block by block. */
import { type Address, createPublicClient, type Hex, http } from "viem";
import type { IsmpHost } from "../../../devnet/evm/deploy.ts";

/** A mined transaction. */
export interface MinedTransaction {
  readonly hash: Hex;
  readonly nonce: bigint;
  readonly height: bigint;
  readonly isReverted: boolean;
  /** Gas used times its price. */
  readonly costWei: bigint;
}

/** All mined transactions of `account` after block `after`, oldest first. */
export async function readTransactionsOf(
  host: IsmpHost,
  account: Address,
  after: bigint,
): Promise<readonly MinedTransaction[]> {
  const reader = createPublicClient({ transport: http(host.rpcUrl, { batch: { batchSize: 100 } }) });
  const head = await reader.getBlockNumber();
  const blocks = await Promise.all(
    Array.from(
      { length: Number(head - after) },
      (_, at) => reader.getBlock({ blockNumber: after + 1n + BigInt(at), includeTransactions: true }),
    ),
  );
  const ours = blocks.flatMap(({ transactions }) => transactions)
    .filter(({ from }) => from.toLowerCase() === account.toLowerCase());
  const receipts = await Promise.all(ours.map(({ hash }) => reader.getTransactionReceipt({ hash })));
  return receipts.map((receipt, at) => ({
    hash: receipt.transactionHash,
    nonce: BigInt(ours[at]?.nonce ?? 0),
    height: receipt.blockNumber,
    isReverted: receipt.status === "reverted",
    costWei: receipt.gasUsed * receipt.effectiveGasPrice,
  }));
}

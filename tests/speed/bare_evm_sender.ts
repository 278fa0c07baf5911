/** Sends transactions that a relayer made once more: signs them one after the other and waits for all receipts. */
import type { Hash, Hex } from "viem";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { waitForReceipt } from "../../devnet/evm/deploy.ts";

/** One transaction of the relayer. */
export interface EvmDelivery {
  readonly to: Hex;
  readonly data: Hex;
  readonly gas: bigint;
  readonly gasUsed: bigint;
  readonly block: bigint;
}

const account = DEVNET_ACCOUNTS.relayer;

/** Transactions of the relayer's account after a block, in order. @throws {Error} when one of them failed. */
export async function deliveriesSince(chain: DevnetChain, block: bigint): Promise<readonly EvmDelivery[]> {
  const { reader } = chain.host;
  const found: EvmDelivery[] = [];
  const head = await reader.getBlockNumber();
  for (let number = block + 1n; number <= head; number++) {
    const { transactions } = await reader.getBlock({ blockNumber: number, includeTransactions: true });
    for (const { from, to, input, gas, hash } of transactions) {
      if (from.toLowerCase() !== account.address.toLowerCase() || to === null) continue;
      const { status, gasUsed } = await reader.getTransactionReceipt({ hash });
      if (status !== "success") throw new Error(`The relayer's transaction ${hash} failed`);
      found.push({ to, data: input, gas, gasUsed, block: number });
    }
  }
  return found;
}

/** Sends them and waits until all are mined; returns the time from the first signature, milliseconds. */
export async function sendBare(chain: DevnetChain, deliveries: readonly EvmDelivery[]): Promise<number> {
  const { reader, chainId } = chain.host;
  const startMs = performance.now();
  const first = await reader.getTransactionCount({ address: account.address });
  const gasPrice = await reader.getGasPrice() * 2n;
  const hashes: Hash[] = [];
  for (const [index, { to, data, gas }] of deliveries.entries()) {
    const serializedTransaction = await account.signTransaction({
      type: "legacy",
      chainId,
      nonce: first + index,
      gasPrice,
      gas,
      to,
      data,
    });
    hashes.push(await reader.sendRawTransaction({ serializedTransaction }));
  }
  for (const hash of hashes) await waitForReceipt(reader, hash);
  return performance.now() - startMs;
}

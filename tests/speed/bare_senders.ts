/** Senders that have everything ready and only sign, send and wait: what a relayer's throughput is compared with. */
import type { Hash, Hex } from "viem";
import type { HubChain } from "../../src/core/chains/hub.ts";
import type { SignedSubmission } from "../../src/core/chains/submission.ts";
import { postMessage } from "../../src/core/ismp/message.ts";
import { systemRandomness } from "../../src/core/runtime/clock.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { parseMessagingConfig } from "../../src/messaging/config/read.ts";
import { connectChains } from "../../src/messaging/connect.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { waitForReceipt } from "../../devnet/evm/deploy.ts";
import type { SentMessage } from "../../devnet/traffic/messages.ts";
import { RecordedLog } from "../support/recorded_log.ts";

/** One transaction of the relayer. */
export interface EvmDelivery {
  readonly to: Hex;
  readonly data: Hex;
  readonly gas: bigint;
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
      const { status } = await reader.getTransactionReceipt({ hash });
      if (status !== "success") throw new Error(`The relayer's transaction ${hash} failed`);
      found.push({ to, data: input, gas });
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

/** Deliveries that only have to be submitted. */
export interface PreparedDeliveries extends AsyncDisposable {
  readonly hub: HubChain;
  readonly submissions: readonly SignedSubmission[];
}

/** Proves messages at `height` of their chain, in batches as large as the hub takes. @param config of a relayer */
export async function prepareForHub(
  config: string,
  from: DevnetChain,
  messages: readonly SentMessage[],
  height: bigint,
): Promise<PreparedDeliveries> {
  const { signal } = new AbortController();
  const reading = parseMessagingConfig({ readFile: Deno.readFileSync }, config);
  if (reading.config === undefined) throw new Error(`Bad configuration: ${JSON.stringify(reading.problems)}`);
  const deps = { clock: systemClock, random: systemRandomness, log: new RecordedLog() };
  const { hub, chains } = connectChains(deps, reading.config);
  const source = chains.find(({ chain }) => chain.id.stateMachine === from.stateMachine)?.chain;
  if (source === undefined) throw new Error(`${from.stateMachine} is not in the configuration`);
  const submissions: SignedSubmission[] = [];
  const size = hub.limits.maxMessagesPerStep;
  for (let start = 0; start < messages.length; start += size) {
    const batch = messages.slice(start, start + size).map(({ request }) => postMessage(request));
    const proof = await source.proofs.proveMessages(batch, { height, target: hub }, signal);
    const delivery = { steps: [{ kind: "messages" as const, messages: batch, proof }] };
    const simulation = await hub.simulator.simulate(delivery, signal);
    if (simulation.kind !== "accepted") throw new Error(`Refused: ${simulation.refusal.detail}`);
    const signing = await hub.sender.sign(delivery, { simulation, nonceAtLeast: undefined }, signal);
    if (signing.kind !== "signed") throw new Error(`Not signed: ${signing.kind}`);
    submissions.push(signing.submission);
  }
  return { hub, submissions, [Symbol.asyncDispose]: () => hub.close() };
}

/** Submits them one after the other. */
export async function submitAll({ hub, submissions }: PreparedDeliveries): Promise<void> {
  const { signal } = new AbortController();
  for (const submission of submissions) {
    const { kind } = await hub.sender.broadcast(submission, signal);
    if (kind !== "sent") throw new Error(`The hub did not take a delivery: ${kind}`);
  }
}

/**
 * What reached the EVM hosts of a devnet as proofs of the hub, and what must hold of it whoever sent it: nothing failed,
 * nothing was wasted, nothing went to a host that takes nothing, no set of authorities was left out.
 * Start reading at {@link hostViolations}; the facts are read by {@link readHostFacts}.
 */
import {
  type Address,
  createPublicClient,
  decodeFunctionData,
  type DecodeFunctionDataReturnType,
  type GetBlockReturnType,
  http,
  type PublicClient,
} from "viem";
import { fromHex, type Hex } from "../../../src/core/encoding/bytes.ts";
import { BeefyError } from "../../../src/core/beefy/commitment.ts";
import { checkProof } from "../../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { toAddress } from "../../../src/core/evm/address.ts";
import { type BeefyClientState, decodeBeefyClientState } from "../../../src/core/evm/beefy_client_state.ts";
import { handlerV2Abi } from "../../../src/core/evm/host_abi.ts";
import { decodeHostLog } from "../../../src/core/evm/host_events.ts";
import type { DevnetChain } from "../../../devnet/devnet.ts";
import { HOST_ABI } from "../../../devnet/evm/abi.ts";
import type { IsmpHost } from "../../../devnet/evm/deploy.ts";
import { runAtOnce } from "../../../devnet/relay/run_at_once.ts";

/** What a proof did to a host. `none`: it was paid for, and the host knew of it already. */
export type ProofEffect = "rotation" | "height" | "none" | "refused";

/** A mined transaction with proofs of the hub. */
export interface HostDelivery {
  readonly hash: Hex;
  readonly block: bigint;
  readonly sender: string;
  readonly isReverted: boolean;
  /** Of the host before it. */
  readonly host: "open" | "frozen" | "expired";
  /** In the order of the calls; of a reverted transaction what they would have done. */
  readonly effects: readonly ProofEffect[];
  /** True when messages travelled behind the proofs. */
  readonly hasMessages: boolean;
}

/** A host since a block. */
export interface HostFacts {
  readonly chain: string;
  /** In the order of the chain. */
  readonly deliveries: readonly HostDelivery[];
  /** Heights of the hub that were stored, in order. */
  readonly heights: readonly bigint[];
  /** Sets of authorities that were told as new, in order. */
  readonly epochs: readonly bigint[];
  /** Set that was trusted at that block, and the one that is trusted now. */
  readonly sets: readonly [first: bigint, last: bigint];
}

/** More consensus proofs than that are never put into one transaction. */
const MAX_PROOFS = 3;

/** Everything that is wrong, as sentences. */
export function hostViolations(facts: HostFacts): string[] {
  return [
    ...facts.deliveries.flatMap((delivery) => [...deliveryViolations(facts.chain, delivery)]),
    ...vainDeliveries(facts),
    ...missingSets(facts),
    ...fallingHeights(`${facts.chain}: the hub's height`, facts.heights),
  ];
}

function* deliveryViolations(
  chain: string,
  { hash, isReverted, host, effects }: HostDelivery,
): Iterable<string> {
  if (host !== "open") yield `${chain}: proofs of the hub went to the ${host} host in ${hash}`;
  else if (isReverted) yield `${chain}: transaction ${hash} with proofs of the hub failed`;
  if (effects.length > MAX_PROOFS) yield `${chain}: ${effects.length} proofs of the hub in ${hash}`;
}

/** No part of a transaction's proofs may change nothing. */
function* vainDeliveries({ chain, deliveries }: HostFacts): Iterable<string> {
  const mined = deliveries.filter(({ isReverted }) => !isReverted);
  const vain = mined.filter(({ effects }) => effects.includes("none"));
  if (vain.length > 0) {
    yield `${chain}: ${vain.length} of ${mined.length} transactions with proofs of the hub were wasted`;
  }
}

/** The host tells of every set once, in order; the first that it tells may be the one that it trusted already. */
function* missingSets({ chain, epochs, sets: [first, last] }: HostFacts): Iterable<string> {
  const told = epochs[0] === first ? epochs : [first, ...epochs];
  for (const [at, set] of told.entries()) {
    const before = told[at - 1];
    if (before !== undefined && set !== before + 1n) yield `${chain}: set ${set} follows set ${before}`;
  }
  if (told.at(-1) !== last) yield `${chain}: the newest set is ${last}, and ${told.at(-1)} was reported`;
}

/** Heights that `who` has stored, in order, have to grow. */
export function* fallingHeights(who: string, heights: readonly bigint[]): Iterable<string> {
  for (const [at, height] of heights.entries()) {
    const before = heights[at - 1];
    if (before !== undefined && height <= before) yield `${who} went from ${before} to ${height}`;
  }
}

/** Number of the newest block of every chain, by state machine. */
export async function readHeads(chains: readonly DevnetChain[]): Promise<ReadonlyMap<string, bigint>> {
  return new Map(
    await Promise.all(
      chains.map(async ({ stateMachine, host }) =>
        [stateMachine, await host.reader.getBlockNumber({ cacheTime: 0 })] as const
      ),
    ),
  );
}

/** Everything that reached a host after block `after`. */
export async function readHostFacts({ stateMachine, host }: DevnetChain, after: bigint): Promise<HostFacts> {
  const reader = readerOf(host);
  const head = await reader.getBlockNumber();
  const [first, last, logs, deliveries] = await Promise.all([
    readTrusted(reader, host, after),
    readTrusted(reader, host, head),
    reader.getLogs({ address: host.addresses.host, fromBlock: after + 1n, toBlock: head }),
    deliveriesIn(reader, host, { after, head }),
  ]);
  const events = logs.flatMap((log) => {
    const decoded = decodeHostLog(log, toAddress(host.addresses.host));
    return decoded.kind === "event" ? [decoded.event] : [];
  });
  return {
    chain: stateMachine,
    deliveries,
    heights: events.flatMap((event) => event.kind === "updated" ? [event.height] : []),
    epochs: events.flatMap((event) => event.kind === "newEpoch" ? [event.setId] : []),
    sets: [first.current.id, last.current.id],
  };
}

/** Transactions with proofs of the hub after block `after`, oldest first. */
export async function readDeliveries(
  { host }: Pick<DevnetChain, "host">,
  after: bigint,
): Promise<readonly HostDelivery[]> {
  const reader = readerOf(host);
  return await deliveriesIn(reader, host, { after, head: await reader.getBlockNumber() });
}

/** Blocks after the first up to the second. */
interface BlockRange {
  readonly after: bigint;
  readonly head: bigint;
}

/** Blocks with their transactions, oldest first. */
function readBlocks(
  reader: PublicClient,
  { after, head }: BlockRange,
): Promise<readonly GetBlockReturnType<undefined, true>[]> {
  const numbers = Array.from({ length: Number(head - after) }, (_, at) => after + 1n + BigInt(at));
  return Promise.all(
    numbers.map((blockNumber) => reader.getBlock({ blockNumber, includeTransactions: true })),
  );
}

/** Many questions in one request. */
function readerOf({ rpcUrl }: IsmpHost): PublicClient {
  return createPublicClient({ transport: http(rpcUrl, { batch: { batchSize: 100 } }) });
}

async function deliveriesIn(
  reader: PublicClient,
  host: IsmpHost,
  range: BlockRange,
): Promise<readonly HostDelivery[]> {
  const handler = host.addresses.handler.toLowerCase();
  const deliveries: HostDelivery[] = [];
  for (const { number, timestamp, transactions } of await readBlocks(reader, range)) {
    let known: HostState | undefined;
    for (const { hash, to, from, input } of transactions) {
      const calls = to?.toLowerCase() === handler ? handlerCallsIn(input) : [];
      const proofs = calls.flatMap((call) =>
        call.functionName === "handleConsensus" ? [fromHex(call.args[1])] : []
      );
      if (proofs.length === 0) continue;
      known ??= await readState(reader, host, number - 1n);
      const { status } = await reader.getTransactionReceipt({ hash });
      const { effects, trusted } = replay(known.trusted, proofs);
      const isReverted = status === "reverted";
      deliveries.push({
        hash,
        block: number,
        sender: from.toLowerCase(),
        isReverted,
        host: conditionOf(known, timestamp),
        effects,
        hasMessages: calls.length > proofs.length,
      });
      if (!isReverted) known = { ...known, trusted };
    }
  }
  return deliveries;
}

/** What a host was at the end of a block. */
interface HostState {
  readonly trusted: BeefyClientState;
  readonly isFrozen: boolean;
  readonly updatedSec: bigint;
  readonly unstakingSec: bigint;
}

function conditionOf(
  { isFrozen, updatedSec, unstakingSec }: HostState,
  nowSec: bigint,
): HostDelivery["host"] {
  if (isFrozen) return "frozen";
  return nowSec - updatedSec >= unstakingSec ? "expired" : "open";
}

async function readState(reader: PublicClient, host: IsmpHost, blockNumber: bigint): Promise<HostState> {
  const at = { address: host.addresses.host, abi: HOST_ABI, blockNumber } as const;
  const [trusted, frozen, updatedSec, params] = await Promise.all([
    readTrusted(reader, host, blockNumber),
    reader.readContract({ ...at, functionName: "frozen" }),
    reader.readContract({ ...at, functionName: "consensusUpdateTime" }),
    reader.readContract({ ...at, functionName: "hostParams" }),
  ]);
  // 1: nothing comes in, 3: nothing goes either way.
  return {
    trusted,
    isFrozen: frozen === 1 || frozen === 3,
    updatedSec,
    unstakingSec: params.unStakingPeriod,
  };
}

async function readTrusted(
  reader: PublicClient,
  host: IsmpHost,
  blockNumber: bigint,
): Promise<BeefyClientState> {
  const at = { address: host.addresses.host, abi: HOST_ABI, blockNumber } as const;
  const state = decodeBeefyClientState(
    fromHex(await reader.readContract({ ...at, functionName: "consensusState" })),
  );
  if (state === undefined) throw new Error(`${host.stateMachine} has no BEEFY client`);
  return state;
}

/** What proofs do to a client, one after the other. */
function replay(
  before: BeefyClientState,
  proofs: readonly Uint8Array[],
): { readonly effects: readonly ProofEffect[]; readonly trusted: BeefyClientState } {
  let trusted = before;
  const effects = proofs.map((proof): ProofEffect => {
    try {
      const checked = runAtOnce(checkProof(trusted, proof));
      if (checked.isStale) return "none";
      trusted = checked.state;
      return checked.rotates ? "rotation" : "height";
    } catch (error) {
      if (!(error instanceof BeefyError)) throw error;
      return "refused";
    }
  });
  return { effects, trusted };
}

/** The handler's calls in a transaction, those in a batch one by one. */
function handlerCallsIn(data: Hex): readonly DecodeFunctionDataReturnType<typeof handlerV2Abi>[] {
  const call = decodeFunctionData({ abi: handlerV2Abi, data });
  return call.functionName === "batchCall" ? call.args[0].flatMap(handlerCallsIn) : [call];
}

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
  const reader = readerOf(host);
  const blocks = await readBlocks(reader, { after, head: await reader.getBlockNumber() });
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

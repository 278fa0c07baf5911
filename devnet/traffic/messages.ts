/**
 * Messages over a devnet: sends them through the ping applications, sees on the destination whether they arrived.
 * Start reading at {@link sendPing}.
 */
import { fromHex, type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { decodeHostLog } from "../../src/core/evm/host_events.ts";
import type { PostRequest } from "../../src/core/ismp/message.ts";
import { parseStateMachine, type StateMachine } from "../../src/core/ismp/state_machine.ts";

import {
  concatHex,
  createPublicClient,
  type Hex,
  http,
  numberToHex,
  stringToHex,
  type TransactionReceipt,
} from "viem";
import { findDeliverer, sendPings, sendPost } from "../evm/host_admin.ts";
import type { IsmpHost } from "../evm/deploy.ts";
import type { Devnet } from "../devnet.ts";
import { demoModuleId } from "../hub/hub.ts";
import { type DevnetSubstrateChain, named, substrateUser } from "../chains/substrate_chains.ts";
import { DEADLINE_MS, Patience, pause } from "../waiting.ts";

export { waitUntil } from "../waiting.ts";

/** What the receiving application shall do. Modules of the hub accept whatever comes. */
export type PingBehaviour =
  | "accept"
  /** Its callback reverts: the message is mined, but not delivered. */
  | "fail"
  /** Its callback uses about this much gas, then succeeds. */
  | { readonly burnGas: number };

/** What to send. */
export interface PingOptions {
  /** Name (`A`) or state machine of the sending chain. */
  readonly from: string;
  /** Name or state machine of the receiving chain, `hub`, or a state machine that is not on the devnet. */
  readonly to: string;
  /** Default 1. */
  readonly count?: number;
  /** Units of the sending chain's fee token (18 decimals on EVM chains) for each message. Default 0. */
  readonly fee?: bigint;
  /** Seconds from now. Default 0 = never. */
  readonly timeoutSec?: bigint;
  /** Default `accept`, which is all that Substrate chains know. */
  readonly behaviour?: PingBehaviour;
  /** Receiving module. Default: the ping application of the chain, the demo module of the hub. */
  readonly module?: Hex;
}

/** A message on its way. */
export interface SentMessage {
  readonly commitment: Hash256;
  readonly request: PostRequest;
  /** Block of the source that holds it. */
  readonly height: bigint;
  /** When its transaction was known to be mined, milliseconds since 1970. */
  readonly sentAtMs: number;
}

/** Messages did not arrive in time. */
export class DeliveryFault extends Error {
  override readonly name = "DeliveryFault";
  readonly code = "not_delivered";
  constructor(readonly missing: readonly SentMessage[], deadlineMs: number) {
    const shown = missing.slice(0, 5).map(({ commitment, request }) =>
      `${commitment} (${request.source} -> ${request.dest}, nonce ${request.nonce})`
    );
    super(
      `${missing.length} messages not delivered, and none arrived for ${deadlineMs / 1000} s, e.g. ${
        shown.join(", ")
      }`,
    );
  }
}

/** Maximum of messages of one transaction: 100 of them use about 13 million gas. */
const MAX_PER_TRANSACTION = 50;

/** Sends messages from the user account and waits until they are mined. */
export async function sendPing(devnet: Devnet, options: PingOptions): Promise<readonly SentMessage[]> {
  const { dest, module } = resolveTarget(devnet, options);
  const post = { dest, to: module, fee: options.fee ?? 0n, timeoutSec: options.timeoutSec ?? 0n };
  const count = options.count ?? 1;
  const substrate = named(devnet.substrateChains, options.from);
  if (substrate !== undefined) {
    const { fee, timeoutSec } = post;
    const one = { dest: parseStateMachine(dest), to: fromHex(module), fee, timeoutSec };
    return await sendFromSubstrate(substrate, repeat(count, () => one));
  }
  const chain = devnet.chain(options.from);
  const body = bodyOf(options.behaviour ?? "accept");
  const receipts: TransactionReceipt[] = [];
  if (body === undefined) {
    for (let left = count; left > 0; left -= MAX_PER_TRANSACTION) {
      const some = Math.min(left, MAX_PER_TRANSACTION);
      receipts.push(await sendPings(chain.host, { ...post, count: some }));
    }
  } else {
    receipts.push(...await Promise.all(repeat(count, () => sendPost(chain.host, { ...post, body }))));
  }
  const sentAtMs = Date.now();
  return receipts.flatMap((receipt) => sentIn(chain.host, receipt, sentAtMs));
}

/** Messages that a transaction sent, in order. */
export function sentIn(
  host: IsmpHost,
  receipt: TransactionReceipt,
  sentAtMs: number,
): readonly SentMessage[] {
  const address = toAddress(host.addresses.host);
  return receipt.logs.flatMap((log) => {
    const decoded = decodeHostLog(log, address);
    const message = decoded.kind === "event" && decoded.event.kind === "message" && decoded.event.message;
    if (!message || message.kind !== "post") return [];
    const { commitment, request } = message;
    return [{ commitment, request, height: receipt.blockNumber, sentAtMs }];
  });
}

/** Per message the relayer that delivered it (lower-case hex), `undefined` if nobody did: receipts of the destination. */
export async function readDeliverers(
  devnet: Devnet,
  dest: string,
  commitments: readonly Hash256[],
): Promise<readonly (Hex | undefined)[]> {
  const { hub } = devnet;
  const node = dest === hub.identity.stateMachine ? hub : named(devnet.substrateChains, dest)?.node;
  if (node !== undefined) {
    return commitments.map((commitment) => {
      const relayer = node.findReceipt(commitment);
      return relayer && toHex(relayer);
    });
  }
  const { host } = devnet.chain(dest);
  // One HTTP request for many receipts.
  const reader = createPublicClient({ transport: http(host.rpcUrl, { batch: { batchSize: 200 } }) });
  return await Promise.all(commitments.map(async (commitment) => {
    const relayer = await findDeliverer({ ...host, reader }, commitment);
    return relayer && toAddress(relayer);
  }));
}

/** The messages among these that their destinations accepted. */
export async function delivered(
  devnet: Devnet,
  messages: readonly SentMessage[],
): Promise<readonly SentMessage[]> {
  const byDest = Map.groupBy(messages, ({ request }) => request.dest);
  const found = await Promise.all(
    [...byDest].map(async ([dest, some]) => {
      const receipts = await readDeliverers(devnet, dest, some.map(({ commitment }) => commitment));
      return some.filter((_, at) => receipts[at] !== undefined);
    }),
  );
  return found.flat();
}

/** How to wait. */
export interface WaitOptions {
  /** Without a delivery. Default 240,000. */
  readonly deadlineMs?: number;
  /** Default 250. */
  readonly everyMs?: number;
  /** Called with messages when they are seen delivered for the first time. */
  readonly onDelivered?: (messages: readonly SentMessage[]) => void;
  readonly signal?: AbortSignal;
}

/**
 * Waits until all messages are delivered.
 * @returns when each was seen delivered, milliseconds since 1970, by commitment.
 * @throws {DeliveryFault} when none arrives before the deadline, and the signal's reason when it is aborted.
 */
export async function waitForDelivery(
  devnet: Devnet,
  messages: readonly SentMessage[],
  options: WaitOptions = {},
): Promise<ReadonlyMap<Hash256, number>> {
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  const patience = new Patience(deadlineMs);
  const seen = new Map<Hash256, number>();
  for (let open = messages; open.length > 0;) {
    options.signal?.throwIfAborted();
    const now = await delivered(devnet, open);
    if (now.length > 0) {
      for (const { commitment } of now) seen.set(commitment, Date.now());
      open = open.filter(({ commitment }) => !seen.has(commitment));
      options.onDelivered?.(now);
      patience.renew();
    }
    if (open.length === 0) break;
    if (patience.isOver) throw new DeliveryFault(open, deadlineMs);
    await pause(options.everyMs ?? 250, options.signal);
  }
  return seen;
}

function resolveTarget(
  devnet: Devnet,
  options: PingOptions,
): { readonly dest: string; readonly module: Hex } {
  const hub = devnet.hub.identity.stateMachine;
  if (options.to === "hub" || options.to === hub) {
    return { dest: hub, module: options.module ?? toHex(demoModuleId) };
  }
  const substrate = named(devnet.substrateChains, options.to);
  if (substrate !== undefined) {
    return { dest: substrate.stateMachine, module: options.module ?? toHex(demoModuleId) };
  }
  const known = named(devnet.chains, options.to);
  // Where nobody is, a module must be named anyway.
  const { addresses } = (known ?? devnet.chain(options.from)).host;
  return { dest: known?.stateMachine ?? options.to, module: options.module ?? addresses.ping };
}

/** `undefined`: the application numbers the bodies itself. */
function bodyOf(behaviour: PingBehaviour): Hex | undefined {
  if (behaviour === "accept") return undefined;
  if (behaviour === "fail") return stringToHex("fail");
  return concatHex([stringToHex("burn"), numberToHex(behaviour.burnGas, { size: 4 })]);
}

function repeat<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

/** A post from a Substrate chain. */
export interface SubstratePost {
  readonly dest: StateMachine;
  /** Receiving module. */
  readonly to: Uint8Array;
  /** Native units, which the user pays. Default 0. */
  readonly fee?: bigint;
  /** Seconds from now. Default 0 = never. */
  readonly timeoutSec?: bigint;
}

/** Sends posts of the demo module and waits until they are in a block. */
export async function sendFromSubstrate(
  { node }: DevnetSubstrateChain,
  posts: readonly SubstratePost[],
): Promise<readonly SentMessage[]> {
  const sent = await Promise.all(posts.map(({ fee = 0n, timeoutSec = 0n, ...post }) =>
    node.dispatchPost({
      ...post,
      timeoutSec,
      from: demoModuleId,
      body: Uint8Array.of(1),
      fee: { payer: substrateUser, fee },
    })
  ));
  const sentAtMs = Date.now();
  return sent.map(({ request, commitment, block }) => ({
    commitment,
    request,
    height: BigInt(block.number),
    sentAtMs,
  }));
}

/** How long one message of the hub takes to an EVM chain, beside everything else that a relayer has to do. */
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { countReceived } from "../../devnet/evm/host_admin.ts";
import { pause, waitUntil } from "../../devnet/waiting.ts";
import type { ProxiedRequest } from "../scenario/support/rpc_proxy.ts";
import type { Proxies } from "./crossing.ts";
import { instantly, sendFromHub } from "./stage.ts";

/** Times of one message until the request that sends its transaction. */
export interface MessageLatency {
  /** From the block of the chain that holds the update: what an operator sees, a part of the poll interval included. */
  readonly sinceUpdateMs: number;
  /** From the answer that told the relayer of the update: its own work and the trips of it. */
  readonly sinceSeenMs: number;
}

const LOOK_EVERY_MS = 10;
/** Until the relayer has settled; then any moment between two polls is as likely as another. */
const REST_MS = 300;
const SPREAD_MS = 1_000;
/** Final with two blocks on top. */
const BLOCKS = 3;

/** Sends a message and waits until it has arrived and the relayer is at rest. Proxies of the chain must keep answers. */
export async function timeMessage(
  devnet: Devnet,
  chain: DevnetChain,
  proxies: Proxies,
): Promise<MessageLatency> {
  const received = await countReceived(chain.host);
  await sendFromHub(devnet, chain, 1);
  const own = proxies.chains.get(chain.stateMachine) ?? [];
  for (const proxy of own) proxy.clear();
  const direction = { from: devnet.hub.identity.stateMachine, to: chain.stateMachine };
  const height = await instantly(chain, () => devnet.oracle.step(direction));
  const updatedMs = performance.timeOrigin + performance.now();
  const requests = (): readonly ProxiedRequest[] =>
    own.flatMap((proxy) => proxy.requests).sort((a, b) => a.atMs - b.atMs);
  await waitUntil("the transaction", () => requests().some(isSending), { everyMs: LOOK_EVERY_MS });
  const sentMs = requests().find(isSending)?.atMs ?? NaN;
  const seenMs = requests().find(({ answer }) => answer?.includes(wordOf(height)))?.endedAtMs ?? NaN;
  await waitUntil("the message", async () => await countReceived(chain.host) > received, {
    everyMs: LOOK_EVERY_MS,
  });
  await devnet.mine(chain, BLOCKS);
  await pause(REST_MS + Math.random() * SPREAD_MS);
  return { sinceUpdateMs: Math.max(0, sentMs - updatedMs), sinceSeenMs: sentMs - seenMs };
}

function isSending({ calls }: ProxiedRequest): boolean {
  return calls.some(({ method }) => method === "eth_sendRawTransaction");
}

/** A number as contracts return it, alone or among other values. */
function wordOf(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}

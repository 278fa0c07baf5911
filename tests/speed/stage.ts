/** Preparing a devnet: faster than its blocks allow, and with messages of the hub itself. */
import type { Hex } from "viem";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";

/** Does some work while the chain makes a block per transaction at once, then returns to a block a second. */
export async function instantly<T>(chain: DevnetChain, work: () => Promise<T>): Promise<T> {
  await chain.host.node.setAutomine(true);
  try {
    return await work();
  } finally {
    await chain.host.node.setAutomine(false);
    await chain.host.node.setIntervalMining({ interval: 1 });
  }
}

/** Tells every side the newest final state of the other. */
export async function updateAll(devnet: Devnet): Promise<void> {
  const hub = devnet.hub.identity.stateMachine;
  for (const chain of devnet.chains) {
    await devnet.mine(chain, 3);
    await devnet.oracle.step({ from: chain.stateMachine, to: hub });
    await instantly(chain, () => devnet.oracle.step({ from: hub, to: chain.stateMachine }));
  }
}

const moduleBytes = new TextEncoder().encode("bench-module");

/** The module of the hub that sends {@link sendFromHub}'s messages, as a module filter names it. */
export const HUB_MODULE: Hex = toHex(moduleBytes);

/** Messages of one block of the hub. */
const MAX_PER_BLOCK = 1_000;

/** Has the hub send `count` posts to the ping application of a chain; they are final when it returns. */
export async function sendFromHub(devnet: Devnet, to: DevnetChain, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += MAX_PER_BLOCK) {
    const some = Math.min(MAX_PER_BLOCK, count - sent);
    const posts = await Promise.all(Array.from({ length: some }, (_, at) =>
      devnet.hub.dispatchPost({
        dest: to.stateMachine,
        from: moduleBytes,
        to: fromHex(to.host.addresses.ping),
        body: new TextEncoder().encode(`ping ${sent + at}`.padEnd(37)),
        timeoutSec: 0n,
      })));
    const last = Math.max(...posts.map(({ block }) => block.number));
    await waitUntil("the messages of the hub to be final", () => devnet.hub.finalized.number >= last);
  }
}

/**
 * What the network does while relayers tell EVM hosts of the hub: sessions begin, the hub accepts proofs of itself, it
 * posts messages. Start reading at {@link beginSessions} and {@link untilHostsKnow}.
 */
import type { BeefyAuthoritySet } from "../../../src/core/evm/beefy_client_state.ts";
import type { Devnet, DevnetChain } from "../../../devnet/devnet.ts";
import { readHubConsensus, readHubHeight } from "../../../devnet/evm/host_admin.ts";
import { demoModuleId } from "../../../devnet/hub/hub.ts";
import { fromHex, type Hash256 } from "../../../src/core/encoding/bytes.ts";
import { waitUntil } from "../../../devnet/traffic/messages.ts";
import { type HostDelivery, readDeliveries, readHeads } from "./consensus_hosts.ts";
import type { ConsensusScene, SceneChanges } from "./consensus_scene.ts";
import type { RelayerProcess } from "./relayer_process.ts";

/** A relayer that tells EVM hosts of the hub. */
export const TELLING: SceneChanges = { hubType: "beefy", enablesHubConsensus: true };

/** Lets the relay chain begin so many sessions. @param isAccepted the hub accepts a proof of each of them. */
export async function beginSessions(devnet: Devnet, count: number, isAccepted: boolean): Promise<void> {
  // The hub accepts no proof of a relay chain block without a head of it.
  await waitUntil("the hub has a final block that can be proved", () => devnet.hub.finalized.number > 1);
  devnet.coverHub();
  for (let begun = 0; begun < count; begun++) devnet.relay.rotate();
  devnet.coverHub();
  if (isAccepted) await proveHub(devnet);
}

/** The hub accepts proofs of all that is in it now. @returns the newest height that was proved. */
export async function proveHub({ hub, prover }: Devnet): Promise<bigint> {
  if (prover === undefined) throw new RangeError("Nobody proves this devnet's hub to itself");
  const newest = hub.best.number;
  await waitUntil(`block ${newest} of the hub is final`, () => hub.finalized.number >= newest);
  return await prover.prove(0n, true);
}

/** A message from the hub to an application on a chain; the hub's block with it is final then. */
export async function postTo(
  { hub }: Devnet,
  { stateMachine, host }: DevnetChain,
): Promise<{ readonly height: bigint; readonly commitment: Hash256 }> {
  const { block, commitment } = await hub.dispatchPost({
    dest: stateMachine,
    from: demoModuleId,
    to: fromHex(host.addresses.ping),
    body: new Uint8Array(),
    timeoutSec: 0n,
  });
  await waitUntil("the hub's block with the message is final", () => hub.finalized.number >= block.number);
  return { height: BigInt(block.number), commitment };
}

/** Waits until hosts trust the relay chain's newest set of authorities. @returns it. */
export async function untilHostsKnow(
  { relay }: Devnet,
  chains: readonly DevnetChain[],
): Promise<BeefyAuthoritySet> {
  const newest = relay.beefyState().current;
  await waitUntil(`hosts know set ${newest.id}`, async () => {
    const states = await Promise.all(chains.map(({ host }) => readHubConsensus(host)));
    return states.every(({ current }) => current.id === newest.id && current.root === newest.root);
  });
  return newest;
}

/** What reaches hosts while `play` is running, in the order of the chains. */
export async function deliveredDuring(
  chains: readonly DevnetChain[],
  play: () => Promise<void>,
): Promise<readonly (readonly HostDelivery[])[]> {
  const before = await readHeads(chains);
  await play();
  return await Promise.all(
    chains.map((chain) => readDeliveries(chain, before.get(chain.stateMachine) ?? 0n)),
  );
}

/**
 * Waits until a relayer has looked at each of these hosts and found nothing to deliver, from now on.
 * @param reason part of why it says so; default any.
 */
export async function untilIdle(
  scene: Pick<ConsensusScene, "now">,
  process: RelayerProcess,
  chains: readonly DevnetChain[],
  reason = "",
): Promise<void> {
  const since = scene.now(process);
  for (const { stateMachine } of chains) {
    await process.waitForLine(
      ({ record }) =>
        record?.event === "proofs_not_needed" && record.chain === stateMachine &&
        String(record.reason).includes(reason),
      { since },
    );
  }
}

/** Waits until a host knows a height of the hub. */
export async function untilHostHas(chain: DevnetChain, height: bigint): Promise<void> {
  await waitUntil(
    `${chain.stateMachine} knows height ${height} of the hub`,
    async () => await readHubHeight(chain.host) >= height,
  );
}

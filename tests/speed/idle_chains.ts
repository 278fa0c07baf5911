/**
 * EVM chains on which nothing happens: real nodes with a real host each, which the hub has accepted once. As many as a
 * test of scale needs beside the chains of a devnet. Start reading at {@link startIdleChains}.
 */
import { fromHex, type Hex, toHash256 } from "../../src/core/encoding/bytes.ts";
import {
  type StateMachine,
  toConsensusClientId,
  toConsensusStateId,
  toParaId,
} from "../../src/core/ismp/state_machine.ts";
import { startAnvil } from "../../devnet/evm/anvil.ts";
import { deployIsmpHost, type IsmpHost } from "../../devnet/evm/deploy.ts";
import { advanceHub } from "../../devnet/evm/host_admin.ts";
import type { Hub } from "../../devnet/hub/hub.ts";
import type { DevnetEndpoints } from "../../devnet/programs/relayer_config.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { spareChains } from "./large_ledger.ts";

/** What a configuration names of a chain. */
export type ChainEndpoint = DevnetEndpoints["chains"][number];

/** The client that proves rollups, which has a list of its chains. */
const CLIENT = toConsensusClientId("BEAC");
/** Chains that are started at the same time. */
const AT_ONCE = 8;
/** A node needs little: 25 MB and next to no processor time. */
const SMALL = ["--accounts", "5", "--threads", "1"];
const NO_ROOT: Hex = `0x${"00".repeat(32)}`;

/** Starts chains with a block a second; the hub knows the host and a height of each when it returns. */
export async function startIdleChains(
  hub: Hub,
  count: number,
  stack: AsyncDisposableStack,
): Promise<readonly ChainEndpoint[]> {
  // Hosts know the first height already.
  await waitUntil("a further block of the hub", () => hub.finalized.number > 1);
  const started: ChainEndpoint[] = [];
  const names = spareChains(count);
  for (let first = 0; first < count; first += AT_ONCE) {
    const some = names.slice(first, first + AT_ONCE).map((name, at) =>
      startIdleChain(hub, { name, number: first + at }, stack)
    );
    started.push(...await Promise.all(some));
  }
  return started;
}

async function startIdleChain(
  hub: Hub,
  { name, number }: { readonly name: StateMachine; readonly number: number },
  stack: AsyncDisposableStack,
): Promise<ChainEndpoint> {
  const { stateMachine } = hub.identity;
  const chainId = Number(name.slice("EVM-".length));
  const node = stack.use(await startAnvil({ chainId, slotsInAnEpoch: 1, extraArguments: SMALL }));
  const host = await deployIsmpHost({
    rpcUrl: node.rpcUrl,
    chainId,
    hub: { stateMachine, paraId: BigInt(toParaId(stateMachine)) },
  });
  // Nothing is ever proved under this state: no message is on its way.
  await advanceHub(host, {
    height: BigInt(hub.finalized.number),
    timestampSec: BigInt(Math.floor(Date.now() / 1000)),
    mmrRoot: NO_ROOT,
    childTrieRoot: NO_ROOT,
  });
  await host.node.setIntervalMining({ interval: 1 });
  const consensusStateId = `S${number.toString().padStart(3, "0")}`;
  await acceptOnce(hub, host, { name, consensusStateId });
  return { stateMachine: name, consensusStateId, rpcUrl: node.rpcUrl, ismpHost: host.addresses.host };
}

/** Has the hub know the newest block of a chain, as if a light client had proved it. */
async function acceptOnce(
  hub: Hub,
  host: IsmpHost,
  { name, consensusStateId }: { readonly name: StateMachine; readonly consensusStateId: string },
): Promise<void> {
  const block = await host.reader.getBlock();
  const stateId = toConsensusStateId(consensusStateId);
  await Promise.all([
    hub.createConsensusClient({
      stateId,
      clientId: CLIENT,
      unbondingPeriodSec: 1_814_400n,
      challengePeriodsSec: new Map([[name, 0n]]),
      commitments: [{
        id: { stateMachine: name, consensusStateId: stateId },
        at: {
          height: block.number,
          commitment: {
            timestampSec: block.timestamp,
            overlayRoot: undefined,
            stateRoot: toHash256(block.stateRoot),
          },
        },
      }],
    }),
    hub.acceptMessages(CLIENT, name),
    hub.setHost(name, fromHex(host.addresses.host)),
  ]);
}

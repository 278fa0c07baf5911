/** EVM hosts with the live BEEFY client, and relayers that bring the proofs of a {@link ProvenHub} to them. */
import { AcceptedSource } from "../../../../src/core/hub_proofs/accepted_source.ts";
import { type HostChain, HostDelivery } from "../../../../src/consensus/clients/beefy/host_delivery.ts";
import { DailyLoss } from "../../../../src/consensus/clients/beefy/daily_loss.ts";
import { memoryText } from "../../../../src/consensus/persisted_text.ts";
import { oneDollar } from "../../../../src/core/pricing/price_quote.ts";
import { createPriceSource } from "../../../../src/core/pricing/price_source.ts";
import { clientWorker } from "../../../../src/consensus/chain_worker.ts";
import { HubWork } from "../../../../src/core/hub_proofs/hub_work.ts";
import type { HostProofSource, ProofTarget } from "../../../../src/core/hub_proofs/accepted_source.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { RelaySource } from "../../../../src/consensus/clients/beefy/relay_source.ts";
import { RelayChain } from "../../../../src/consensus/relay_chain/relay_chain.ts";
import { EndpointUrl, Secret } from "../../../../src/core/config/redact.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import type { HostConsensusView } from "../../../../src/core/chains/hub_client.ts";
import type { BeefyClientState } from "../../../../src/core/evm/beefy_client_state.ts";
import { evmStateMachine, type StateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { platformFetch } from "../../../../src/core/rpc/http.ts";
import { platformSocket } from "../../../../src/core/rpc/socket.ts";
import { ShutdownRequested } from "../../../../src/core/runtime/app.ts";
import type { Clock } from "../../../../src/core/runtime/clock.ts";
import { systemClock } from "../../../../src/core/runtime/system_clock.ts";
import { chainUnderTest, hub as hubId } from "../../../core/chains/evm/chain_fixture.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../../../devnet/evm/accounts.ts";
import { startAnvil } from "../../../../devnet/evm/anvil.ts";
import { deployIsmpHost, type DeployOptions, type IsmpHost } from "../../../../devnet/evm/deploy.ts";
import { readHubConsensus, readHubHeight } from "../../../../devnet/evm/host_admin.ts";
import { DEADLINE_MS } from "../../../../devnet/waiting.ts";
import { fastClock } from "../../../support/fast_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";
import { fixedRandomness } from "../../../support/seeded_randomness.ts";
import { withMethods } from "../../../support/with_methods.ts";
import { PARA_ID, ProvenHub } from "./proven_hub.ts";

/** A host that follows the hub, with a relayer's view of it. */
export interface FollowingHost extends AsyncDisposable {
  readonly host: IsmpHost;
  readonly stateMachine: StateMachine;
  /** What the host trusts. */
  state(): Promise<BeefyClientState>;
  /** Newest height of the hub on the host. */
  hubHeight(): Promise<bigint>;
  /** Transactions of a relayer. */
  sent(relayer?: "relayer" | "relayer2"): Promise<number>;
  /** An adapter of its own. */
  connect(relayer?: "relayer" | "relayer2"): { readonly chain: HostChain; readonly log: RecordedLog };
}

/** Deploys a host that trusts what the hub trusts now. */
export async function startHost(
  hub: ProvenHub,
  options: Partial<DeployOptions> & { readonly chainId?: number; readonly blockTimeSec?: number } = {},
): Promise<FollowingHost> {
  const chainId = options.chainId ?? 31337;
  const anvil = await startAnvil({
    chainId,
    slotsInAnEpoch: 1,
    ...options.blockTimeSec === undefined ? {} : { blockTimeSec: options.blockTimeSec },
  });
  const identity = { stateMachine: hubId.stateMachine, paraId: BigInt(PARA_ID) };
  const host = await deployIsmpHost({
    beefyState: hub.state,
    ...options,
    rpcUrl: anvil.rpcUrl,
    chainId,
    hub: identity,
  });
  return {
    host,
    stateMachine: evmStateMachine(chainId),
    state: () => readHubConsensus(host),
    hubHeight: () => readHubHeight(host),
    sent: (relayer = "relayer") =>
      host.reader.getTransactionCount({ address: DEVNET_ACCOUNTS[relayer].address }),
    connect: (relayer = "relayer") =>
      chainUnderTest(
        [host.rpcUrl],
        {
          ismpHost: host.addresses.host,
          stateMachine: evmStateMachine(chainId),
          signer: new Secret(DEVNET_KEYS[relayer]),
        },
        fastClock(REQUEST_HASTE),
        platformFetch,
      ),
    [Symbol.asyncDispose]: () => anvil[Symbol.asyncDispose](),
  };
}

/** A host with that state, which knows no height of the hub beside this one. */
export function hostView(state: BeefyClientState, hubHeight: bigint): ProofTarget["view"] {
  return {
    state,
    stateBytes: 256,
    consensusClient: toAddress(`0x${"11".repeat(20)}`),
    hubHeight,
    acceptsHub: true,
    nowSec: 1_000n,
    updatedSec: 900n,
    unstakingSec: 200n,
    challengePeriodSec: 0n,
    isFrozen: false,
    pendingHeight: state.latestHeight,
    pendingSetId: state.current.id,
  };
}

const root = toHash256(new Uint8Array(32));

/** A host that takes proofs: of block 100 of the relay chain, it knows height 10 of the hub. */
export const usableHost = hostView({
  latestHeight: 100n,
  beefyActivationBlock: 3n,
  current: { id: 1n, length: 4, root },
  next: { id: 2n, length: 4, root },
}, 10n);

/** Work of a test with a hub and a host that follows it. */
export function onFixture(
  work: (scene: { readonly hub: ProvenHub; readonly target: FollowingHost }) => Promise<void>,
): () => Promise<void> {
  return async () => {
    await using hub = await ProvenHub.start();
    await using target = await startHost(hub);
    await work({ hub, target });
  };
}

/** Proofs made from the hub's relay chain, over its RPC. */
export function relaySource(
  hub: ProvenHub,
  paraIds: readonly number[] = [PARA_ID],
): HostProofSource & AsyncDisposable {
  const deps = {
    clock: systemClock,
    randomness: fixedRandomness(0),
    openSocket: platformSocket,
    fetch: platformFetch,
  };
  const relay = new RelayChain(deps, "Paseo devnet", { rpcWs: new EndpointUrl(hub.relay.wsUrl) });
  const work = new HubWork(hub);
  const options = { hub: hubId.stateMachine, hubParaId: PARA_ID, paraIds, batchSize: 200 };
  const source = new RelaySource({ relay, work, log: new RecordedLog() }, options);
  return Object.assign(source, { [Symbol.asyncDispose]: () => source.close() });
}

/** Time of the relayers in these tests passes this many times as fast as ours. */
const HASTE = 20;

/** And that of their requests: an answer may take two seconds of ours on a busy machine. */
const REQUEST_HASTE = 5;

/** A relayer at work. */
export interface RunningRelayer extends AsyncDisposable {
  readonly log: RecordedLog;
  /** Waits until `isSo`, looking every few milliseconds. */
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** Waits until this is the current authority set on the host. */
  untilSet(id: bigint): Promise<void>;
  /** Waits until the host knows the hub's authority set. */
  untilNewestSet(): Promise<void>;
  /** Waits until it has looked `count` more times. */
  looks(count: number): Promise<void>;
}

/** What a relayer is made of. */
export interface RelayerOptions {
  readonly account?: "relayer" | "relayer2";
  readonly sources?: (accepted: HostProofSource) => readonly HostProofSource[];
  readonly chain?: (chain: HostChain) => HostChain;
  /** `maximum_daily_loss`, millionths of a dollar; a native token costs a dollar. */
  readonly maxLossMicroUsd?: bigint;
}

/** Deliveries of a relayer to a host, with its log and its clock. */
export function deliveryTo(
  hub: ProvenHub,
  target: FollowingHost,
  options: RelayerOptions = {},
): { readonly delivery: HostDelivery; readonly log: RecordedLog; readonly clock: Clock } {
  const log = new RecordedLog();
  const clock = fastClock(HASTE);
  const { chain } = target.connect(options.account);
  const work = new HubWork(hub);
  const accepted = new AcceptedSource({ hub, work, clock, log, endpoint: "hub.example.org" });
  const delivery = new HostDelivery({
    clock,
    log: log.with({ chain: target.stateMachine }),
    hub: hubId,
    sources: options.sources?.(accepted) ?? [accepted],
    chain: options.chain?.(chain) ?? chain,
    loss: options.maxLossMicroUsd === undefined ? undefined : new DailyLoss(
      { clock, log, price: createPriceSource({ clock }, { quotes: [oneDollar] }), text: memoryText() },
      options.maxLossMicroUsd,
    ),
  });
  return { delivery, log, clock };
}

/** A chain whose host is seen with these changes. */
export function seenWith(
  change: (view: HostConsensusView) => Partial<HostConsensusView>,
): (chain: HostChain) => HostChain {
  return (chain) =>
    withMethods(chain, {
      hubClient: withMethods(chain.hubClient, {
        fetchConsensusView: async (...asked) => {
          const view = await chain.hubClient.fetchConsensusView(...asked);
          return { ...view, ...change(view) };
        },
      }),
    });
}

/** Lets a relayer bring the hub's proofs to hosts. */
export function relay(
  hub: ProvenHub,
  target: FollowingHost,
  options: RelayerOptions = {},
): RunningRelayer {
  const { delivery, log, clock } = deliveryTo(hub, target, options);
  const stop = new AbortController();
  const worker = clientWorker({ clock, random: fixedRandomness(0), intervalMs: 2_000 }, delivery);
  let fault: unknown;
  const running = worker.run(stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) fault = error;
  });
  const until: RunningRelayer["until"] = async (what, isSo) => {
    const untilMs = systemClock.now() + DEADLINE_MS;
    while (!await isSo()) {
      if (fault !== undefined) throw fault;
      if (systemClock.now() > untilMs) {
        throw new Error(`Not in time: ${what}; ${JSON.stringify(log.lines, jsonValue).slice(-3_000)}`);
      }
      await systemClock.sleep(15, stop.signal);
    }
  };
  const untilSet = (id: bigint): Promise<void> =>
    until(`set ${id}`, async () => (await target.state()).current.id === id);
  const looked = (): number => log.events("debug").filter((message) => message === "poll_finished").length;
  return {
    log,
    until,
    untilSet,
    untilNewestSet: () => untilSet(hub.state.current.id),
    looks: async (count) => {
      const before = looked();
      await until(`${count} more looks`, () => looked() >= before + count);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort(new ShutdownRequested("SIGTERM"));
      await running;
    },
  };
}

function jsonValue(_key: string, value: unknown): unknown {
  if (value instanceof Error) return String(value);
  return typeof value === "bigint" ? String(value) : value;
}

/**
 * What the compiled consensus relayer asks, reads and computes for every proof of the hub that it brings to an EVM host:
 * proofs that the hub has accepted, and proofs that it makes itself. Proxies in front of every endpoint count.
 */
import { stringifyToml } from "../support/toml_text.ts";
import { encodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { evmStateMachine, type StateMachine, toParaId } from "../../src/core/ismp/state_machine.ts";
import { HUB_SEED } from "../../devnet/programs/consensus_config.ts";
import { DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { type Hub, startHub } from "../../devnet/hub/hub.ts";
import { encodeHeader } from "../../devnet/hub/digest.ts";
import { HubProver } from "../../devnet/updates/hub_prover.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { Prover } from "../../devnet/updates/prover_program.ts";
import { type RelayChainNode, startRelayChain } from "../../devnet/relay/relay_chain.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import { type RpcProxy, startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { type GasHost, startGasHost } from "./hub_gas.ts";
import { readCpuMs } from "./process_usage.ts";

/** Where the proofs come from. */
export type ProofRoute = "accepted" | "made";

/** Per proof that a host took, on average; looks that found nothing are in it. */
export interface DeliveryCost {
  readonly hub: EndpointCost;
  readonly relayChain: EndpointCost;
  readonly host: EndpointCost;
  readonly cpuMs: number;
}

/** One endpoint's part. */
export interface EndpointCost {
  readonly requests: number;
  /** Of the answers. */
  readonly bytes: number;
}

/** Proofs before the counted ones: compiling and caches are theirs. */
const WARM_UP = 1;
const COUNTED = 3;
const FINALITY_LAG = 1;
const HUB_BLOCK_MS = 250;
const CHAIN_ID = 31337;

/** One run. */
export interface DeliveryCase {
  readonly route: ProofRoute;
  readonly validators: number;
  readonly parachains: readonly number[];
  /** The compiled consensus relayer. */
  readonly executable: string;
  /** Of its files. */
  readonly folder: string;
}

/** Measures one case. @throws {Error} when the host does not take a proof in time. */
export async function measureDeliveries(work: DeliveryCase): Promise<DeliveryCost> {
  await using stack = new AsyncDisposableStack();
  const { hub, relay, prover } = await startChains(work, stack);
  const paraId = toParaId(hub.identity.stateMachine);
  const host = stack.use(
    await startGasHost(
      { stateMachine: hub.identity.stateMachine, paraId: BigInt(paraId) },
      relay.beefyState(),
    ),
  );
  const open = async (upstream: string): Promise<RpcProxy> =>
    stack.use(await startRpcProxy({ upstream, keepsAnswers: true }));
  const proxies = {
    hub: await open(hub.httpUrl),
    relayChain: await open(relay.httpUrl),
    host: await open(host.host.rpcUrl),
  };
  const relayer = stack.use(
    await startRelayer({
      program: "causeway-consensus",
      executable: work.executable,
      folder: work.folder,
      logLevel: "info",
      config: configOf(work.route, hub, proxies, host),
    }),
  );
  await relayer.waitForLine("program_started", { deadlineMs: DEADLINE_MS });
  const untilDelivered = deliveriesOf(relayer);
  const update = async (): Promise<void> => {
    await bringNews(hub, evmStateMachine(CHAIN_ID));
    if (work.route === "accepted") await prover.prove(0n, true);
    else relay.produceBlocks(4 + FINALITY_LAG);
    await untilDelivered();
  };
  for (let each = 0; each < WARM_UP; each++) await update();
  for (const proxy of Object.values(proxies)) proxy.clear();
  const cpuMs = readCpuMs(relayer.pid);
  for (let each = 0; each < COUNTED; each++) await update();
  const usedMs = readCpuMs(relayer.pid) - cpuMs;
  await relayer.terminate();
  return {
    hub: costOf(proxies.hub),
    relayChain: costOf(proxies.relayChain),
    host: costOf(proxies.host),
    cpuMs: usedMs / COUNTED,
  };
}

interface Chains {
  readonly hub: Hub;
  readonly relay: RelayChainNode;
  /** Proves the hub to the hub. */
  readonly prover: Prover;
}

async function startChains(
  { validators, parachains }: DeliveryCase,
  stack: AsyncDisposableStack,
): Promise<Chains> {
  const made: { hub?: Hub } = {};
  const relay = stack.use(
    await startRelayChain({
      blockTimeMs: "manual",
      validators,
      finalityLag: FINALITY_LAG,
      dummyParachains: parachains,
      heads: () =>
        made.hub === undefined ? new Map() : new Map([
          [toParaId(made.hub.identity.stateMachine), encodeHeader(made.hub.finalizedHeader)],
        ]),
    }),
  );
  const hub = stack.use(
    await startHub({
      blockTimeMs: HUB_BLOCK_MS,
      trustedState: encodeBeefyClientState(relay.beefyState()),
    }),
  );
  made.hub = hub;
  const paraId = toParaId(hub.identity.stateMachine);
  const proofs = stack.use(new HubProver({ relay, finalityLag: FINALITY_LAG, paraId }));
  return { hub, relay, prover: new Prover({ hub, relay, proofs }) };
}

/** The hub sends a message to the chain, and it is final. */
async function bringNews(hub: Hub, chain: StateMachine): Promise<void> {
  const { block } = await hub.dispatchPost({
    dest: chain,
    from: new Uint8Array(4),
    to: new Uint8Array(20),
    body: new Uint8Array(32),
    timeoutSec: 0n,
  });
  await waitUntil("the hub's message to be final", () => hub.finalized.number >= block.number, {
    everyMs: 20,
  });
}

/** Waits for one more proof on the host each time. */
function deliveriesOf(relayer: RelayerProcess): () => Promise<void> {
  const count = (): number =>
    relayer.lines.filter(({ record }) => record?.event === "proofs_delivered").length;
  let seen = 0;
  return async () => {
    await waitUntil("a proof on the host", () => {
      if (!relayer.isRunning) throw new Error(`The consensus relayer ended:\n${relayer.tail()}`);
      return count() > seen;
    }, { deadlineMs: DEADLINE_MS, everyMs: 50 });
    seen = count();
  };
}

function configOf(
  route: ProofRoute,
  { identity }: Hub,
  proxies: Readonly<Record<"hub" | "relayChain" | "host", RpcProxy>>,
  { host }: GasHost,
): string {
  const prover = {
    relay_rpc_ws: proxies.relayChain.wsUrl,
    para_rpc_ws: proxies.hub.wsUrl,
    para_ids: [toParaId(identity.stateMachine)],
  };
  return stringifyToml({
    hub: {
      type: "beefy",
      substrate: {
        rpc_ws: proxies.hub.wsUrl,
        state_machine: identity.stateMachine,
        signer: HUB_SEED,
        poll_interval: 1,
      },
      ...route === "made" ? { prover } : {},
    },
    relayer: { enable_hub_consensus: true },
    [`evm_${CHAIN_ID}`]: {
      type: "evm",
      state_machine: evmStateMachine(CHAIN_ID),
      rpc_urls: [proxies.host.httpUrl],
      consensus_state_id: "ETH0",
      etherscan_api_key: "",
      ismp_host: host.addresses.host,
      signer: DEVNET_KEYS.relayer,
    },
  });
}

function costOf({ requests }: RpcProxy): EndpointCost {
  return {
    requests: requests.length / COUNTED,
    bytes: requests.reduce((sum, { answer }) => sum + (answer?.length ?? 0), 0) / COUNTED,
  };
}

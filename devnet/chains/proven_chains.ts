/**
 * EVM chains of a devnet whose finality is proved to the hub: an L1 with a beacon chain, rollups of both kinds on it,
 * a BSC-type chain, a Polygon chain with its Heimdall, and Polkadot Hub with its Substrate node. Everybody but the validators is real: nodes are anvils, claims are made in contracts.
 * Start reading at {@link startProvenChain}.
 */
import type { WritableTable } from "../../tests/support/toml_text.ts";
import {
  type ConsensusStateId,
  parseStateMachine,
  type StateMachine,
  toConsensusStateId,
} from "../../src/core/ismp/state_machine.ts";
import { findBscNetwork } from "../../src/consensus/clients/bsc/spec/extra_data.ts";
import { beaconNetworkOf } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { type Beacon, startBeacon } from "../beacon/beacon.ts";
import { type HeaderRewriter, startHeaderRewriter } from "../evm/header_rewriter.ts";
import { type BscChainOptions, bscHeaderRule } from "../evm/bsc_validators.ts";
import { type Anvil, type AnvilOptions, startAnvil } from "../evm/anvil.ts";
import { type ArbitrumL1, deployArbitrumL1, withSendRoots } from "../evm/rollup_assertions.ts";
import {
  deployOpStackL1,
  gameTypes,
  MESSAGE_PASSER,
  type OpStackL1,
  prepareOpStackL2,
} from "../evm/rollup_games.ts";
import {
  connectRollupL1,
  fetchRollupBlock,
  type NodePlace,
  type RollupL1,
  startProposer,
} from "../evm/rollup_l1.ts";
import { installArbGasInfo, installOpStackOracle, withLayer1Gas } from "../evm/rollup_prices.ts";
import { type Heimdall, type HeimdallOptions, startHeimdall } from "../heimdall/heimdall.ts";
import { type HubOptions, identities } from "../hub/hub_options.ts";
import { consensusSettings } from "../hub/pallets/consensus_verifiers.ts";
import { POLKADOT_HUB_PARA_ID } from "../../src/core/ismp/polkadot_hub.ts";
import { type ReviveNode, startReviveNode } from "../revive/revive_node.ts";

/** How a chain becomes final. */
export type ChainKind =
  | "beacon"
  | OpStackKind
  | "arbitrum"
  | "bsc"
  | "polygon"
  | "polkadot_hub";

/** OP stack chains, by what their proposers create. */
export type OpStackKind = "op_stack" | "op_stack_super" | "op_stack_permissioned";

/** True for OP stack chains. */
export function isOpStack(kind: ChainKind): kind is OpStackKind {
  return "gameType" in chainKinds[kind];
}

/** True for chains whose claims are made on an L1. */
export function isRollup(kind: ChainKind): boolean {
  return isOpStack(kind) || kind === "arbitrum";
}

/** The hub's two runtimes, each of which follows other networks. */
export type HubRuntime = "gargantua" | "nexus";

/** What sets a kind apart. */
interface KindFacts extends Readonly<Record<HubRuntime, number>> {
  /** Name of its client on the hub; absent: the hub's own client of parachains, which is there from the start. */
  readonly client: string | undefined;
  /** Implementation of the client that reads proofs of messages: rollups have that of their L1. */
  readonly reader: string | undefined;
  /** Of OP stack chains: type of the games that their proposer creates. */
  readonly gameType?: number;
}

/** By kind, with the ids of the networks whose rules the simulated hub has compiled in. */
export const chainKinds = {
  beacon: { gargantua: 11155111, nexus: 1, client: "ETH0", reader: "BEAC" },
  op_stack: { gargantua: 11155420, nexus: 10, client: "OPT0", reader: "BEAC", gameType: gameTypes.fault },
  op_stack_super: {
    gargantua: 1301,
    nexus: 130,
    client: "UNI0",
    reader: "BEAC",
    gameType: gameTypes.superFault,
  },
  op_stack_permissioned: {
    gargantua: 1946,
    nexus: 1868,
    client: "SON0",
    reader: "BEAC",
    gameType: gameTypes.superPermissioned,
  },
  arbitrum: { gargantua: 421614, nexus: 42161, client: "ARB0", reader: "BEAC" },
  bsc: { gargantua: 97, nexus: 56, client: "BSC0", reader: "BSCP" },
  polygon: { gargantua: 80002, nexus: 137, client: "POLY", reader: "PLGN" },
  polkadot_hub: { gargantua: 420420417, nexus: 420420419, client: undefined, reader: undefined },
} as const satisfies Record<ChainKind, KindFacts>;

/** What each kind is, for a person. */
export const kindTexts = {
  beacon: "L1, final by its beacon chain",
  op_stack: "OP stack L2, final by dispute games",
  op_stack_super: "OP stack L2, final by games about super roots",
  op_stack_permissioned: "OP stack L2, final by permissioned games about super roots",
  arbitrum: "Arbitrum L2, final by assertions",
  bsc: "BSC, final by votes in headers",
  polygon: "Polygon, final by milestones of Heimdall",
  polkadot_hub: "Polkadot Hub, final by its heads on the relay chain",
} as const satisfies Record<
  ChainKind,
  string
>;

/** Methods that Ethereum's RPC of Polkadot Hub lacks, some always and some at many providers. */
const LACKED_BY_POLKADOT_HUB: ReadonlySet<string> = new Set([
  "eth_getProof",
  "debug_traceCall",
  "eth_simulateV1",
]);

/** Blocks of an epoch of the beacon chain: two epochs pass before a block is final. */
const BEACON_BLOCKS_PER_EPOCH = 2;

/** Blocks of an epoch of the BSC-type chain unless chosen. */
const BSC_EPOCH = 40n;

/** Milliseconds between claims about rollups. */
const CLAIM_EVERY_MS = 2_000;

/** What can be chosen about the chains. */
export interface ProvenChainOptions {
  /** Seconds between blocks, or a block per transaction. */
  readonly blockTimeSec: number | "automine";
  /** The hub that shall follow the chain. Default `gargantua`, which follows test networks. */
  readonly hub?: HubRuntime;
  readonly bsc?: Partial<Omit<BscChainOptions, "network">>;
  readonly heimdall?: Omit<HeimdallOptions, "borChainId" | "executionUrl">;
  /** WebSocket URL of the relay chain that hub and Polkadot Hub build on; needed for that kind alone. */
  readonly relayUrl?: string;
  /** Of what relayers see; unset: one that is free. */
  readonly port?: number;
  /** Starts the node of a chain. Default: an anvil. */
  readonly startNode?: (options: AnvilOptions) => Promise<Anvil>;
  /** False: nobody makes claims about rollups unless told. Default true. */
  readonly proposes?: boolean;
  /** False: the word of its node is all there is about what is final: no validators, no claims. Default true. */
  readonly isProven?: boolean;
}

/** A chain that runs. */
export interface ProvenChain extends AsyncDisposable {
  readonly kind: ChainKind;
  readonly stateMachine: StateMachine;
  /** Under which the hub stores its heights. */
  readonly consensusStateId: ConsensusStateId;
  /** Name of its own client on the hub. */
  readonly clientStateId: ConsensusStateId;
  readonly node: Anvil;
  /** Where everybody but the devnet itself reads it: with the headers of its own. */
  readonly rpcUrl: string;
  /** What the hub's governance must know of it. */
  readonly settings: NonNullable<HubOptions["consensus"]>;
  /** Type and host section of the consensus relayer's configuration. */
  readonly section: { readonly type: string; readonly host: WritableTable };
  readonly beacon: Beacon | undefined;
  /** Of a Polygon chain: the chain that makes it final. */
  readonly heimdall: Heimdall | undefined;
  /** Of Polkadot Hub: its Substrate node. */
  readonly parachain: ReviveNode | undefined;
  /** Of an L1: where claims about its rollups are made, one after the other. */
  readonly claims: RollupL1 | undefined;
  readonly opStack: OpStackL1 | undefined;
  readonly arbitrum: ArbitrumL1 | undefined;
}

/** The L1 that rollups stand on. */
type L1 = Pick<ProvenChain, "claims" | "rpcUrl" | "stateMachine" | "clientStateId">;

/** Starts a chain. Rollups need an L1, which is a `beacon` chain. */
export async function startProvenChain(
  kind: ChainKind,
  options: ProvenChainOptions,
  l1?: L1,
): Promise<ProvenChain> {
  await using started = new AsyncDisposableStack();
  const { hub: runtime = "gargantua" } = options;
  const { [runtime]: chainId, client } = chainKinds[kind];
  const node = started.use(
    await (options.startNode ?? startAnvil)({
      chainId,
      slotsInAnEpoch: 1,
      ...options.blockTimeSec === "automine" ? {} : { blockTimeSec: options.blockTimeSec },
      ...hasOwnHeaders(kind, options) ? {} : shownPort(options),
    }),
  );
  const common = {
    kind,
    stateMachine: parseStateMachine(`EVM-${chainId}`),
    clientStateId: client === undefined ? identities[runtime].consensusStateId : toConsensusStateId(client),
    node,
    beacon: undefined,
    heimdall: undefined,
    parachain: undefined,
    claims: undefined,
    opStack: undefined,
    arbitrum: undefined,
  };
  const parts = await startParts(kind, { node, common, options, l1 }, started);
  const owned = started.move();
  return { ...common, ...parts, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Chains whose headers are made again, behind another port than the node's. */
function hasOwnHeaders(kind: ChainKind, { isProven }: ProvenChainOptions): boolean {
  return kind === "arbitrum" || kind === "polkadot_hub" || kind === "bsc" && isProven !== false;
}

function shownPort({ port }: ProvenChainOptions): { readonly port?: number } {
  return port === undefined ? {} : { port };
}

interface Surroundings {
  readonly node: Anvil;
  readonly common: Pick<ProvenChain, "stateMachine" | "clientStateId">;
  readonly options: ProvenChainOptions;
  readonly l1: L1 | undefined;
}

type Parts =
  & Pick<ProvenChain, "rpcUrl" | "settings" | "section" | "consensusStateId">
  & Partial<Pick<ProvenChain, "beacon" | "heimdall" | "parachain" | "claims" | "opStack" | "arbitrum">>;

function startParts(
  kind: ChainKind,
  surroundings: Surroundings,
  started: AsyncDisposableStack,
): Promise<Parts> {
  // What is proved of its state starts from headers of its own, whoever proves these.
  if (kind === "polkadot_hub") return startPolkadotHub(surroundings, started);
  if (surroundings.options.isProven === false) return startUnproven(kind, surroundings, started);
  switch (kind) {
    case "beacon":
      return startL1(surroundings, started);
    case "bsc":
      return startBsc(surroundings, started);
    case "polygon":
      return startPolygon(surroundings, started);
    case "op_stack":
    case "op_stack_super":
    case "op_stack_permissioned":
      return startOpStack(kind, surroundings, started);
    case "arbitrum":
      return startArbitrum(surroundings, started);
  }
}

async function startPolkadotHub(
  { node, common, options }: Surroundings,
  started: AsyncDisposableStack,
): Promise<Parts> {
  if (options.relayUrl === undefined) throw new RangeError("Polkadot Hub needs a relay chain");
  const parachain = started.use(await startReviveNode({ rpcUrl: node.rpcUrl }));
  const rewriter = started.use(
    await startHeaderRewriter({
      upstream: node.rpcUrl,
      // Headers of the chain's Ethereum RPC have no root of the state.
      rule: (header) => ({ ...header, stateRoot: header.transactionsRoot }),
      lacks: LACKED_BY_POLKADOT_HUB,
      ...shownPort(options),
    }),
  );
  return {
    parachain,
    rpcUrl: rewriter.rpcUrl,
    consensusStateId: common.clientStateId,
    settings: [
      consensusSettings.followedParachain.to(undefined, POLKADOT_HUB_PARA_ID),
      consensusSettings.slotDuration.to(parachain.slotMs, POLKADOT_HUB_PARA_ID),
    ],
    section: {
      type: "substrate_evm",
      host: { relay_rpc_ws: options.relayUrl, consensus_update_frequency: 1 },
    },
  };
}

/** What relayers of messages see of a chain: its node, and on rollups what layer 1 costs. */
async function startUnproven(
  kind: ChainKind,
  { node, common, options, l1 }: Surroundings,
  started: AsyncDisposableStack,
): Promise<Parts> {
  const parts = { settings: [], section: { type: "evm", host: {} } };
  const consensusStateId = isRollup(kind) && l1 !== undefined ? l1.clientStateId : common.clientStateId;
  if (isOpStack(kind)) {
    await prepareOpStackL2(node);
    await installOpStackOracle(node);
  }
  if (kind !== "arbitrum") return { ...parts, consensusStateId, rpcUrl: node.rpcUrl };
  const rewriter = await startArbitrumNode(node, options);
  return { ...parts, consensusStateId, rpcUrl: started.use(rewriter).rpcUrl };
}

async function startL1({ node, common }: Surroundings, started: AsyncDisposableStack): Promise<Parts> {
  const network = beaconNetworkOf(node.chainId);
  if (network === undefined) throw new Error(`No beacon chain is known for chain ${node.chainId}`);
  const { rpcUrl } = node;
  const beacon = started.use(
    await startBeacon({ executionUrl: rpcUrl, network, blocksPerEpoch: BEACON_BLOCKS_PER_EPOCH }),
  );
  return {
    beacon,
    claims: connectRollupL1(node),
    rpcUrl,
    consensusStateId: common.clientStateId,
    settings: [],
    section: { type: "evm", host: { beacon_http_urls: [beacon.url], consensus_update_frequency: 1 } },
  };
}

async function startBsc(
  { node, common, options }: Surroundings,
  started: AsyncDisposableStack,
): Promise<Parts> {
  const network = findBscNetwork(node.chainId);
  if (network === undefined) throw new Error(`The rules of BSC do not know chain ${node.chainId}`);
  const epochLength = options.bsc?.epochLength ?? BSC_EPOCH;
  const rewriter = started.use(
    await startHeaderRewriter({
      upstream: node.rpcUrl,
      ...shownPort(options),
      rule: bscHeaderRule({ setOf: changingSet, ...options.bsc, network, epochLength }),
    }),
  );
  return {
    rpcUrl: rewriter.rpcUrl,
    consensusStateId: common.clientStateId,
    settings: [consensusSettings.bscEpochLength.to(epochLength)],
    section: { type: "bsc", host: { consensus_update_frequency: 1, epoch_length: Number(epochLength) } },
  };
}

async function startPolygon(
  { node, common, options }: Surroundings,
  started: AsyncDisposableStack,
): Promise<Parts> {
  const heimdall = started.use(
    await startHeimdall({ ...options.heimdall, borChainId: node.chainId, executionUrl: node.rpcUrl }),
  );
  return {
    heimdall,
    rpcUrl: node.rpcUrl,
    consensusStateId: common.clientStateId,
    settings: [],
    section: {
      type: "polygon",
      host: { heimdall_rpc_url: heimdall.url, consensus_update_frequency: 1 },
    },
  };
}

/** Five validators, one of whom changes each epoch. */
function changingSet(epoch: bigint): readonly number[] {
  return [1, 2, 3, 4, 5 + Number(epoch % 16n)];
}

function l1Of({ l1 }: Surroundings): L1 & { readonly claims: RollupL1 } {
  if (l1?.claims === undefined) throw new RangeError("A rollup needs an L1");
  return { ...l1, claims: l1.claims };
}

function l1Keys(l1: L1): WritableTable {
  return {
    beacon_rpc_url: [l1.rpcUrl],
    l1_state_machine: l1.stateMachine,
    l1_consensus_state_id: l1.clientStateId,
    consensus_update_frequency: 2,
  };
}

async function startOpStack(
  kind: OpStackKind,
  surroundings: Surroundings,
  started: AsyncDisposableStack,
): Promise<Parts> {
  const { node, common, options } = surroundings;
  const l1 = l1Of(surroundings);
  await prepareOpStackL2(node);
  await installOpStackOracle(node);
  const opStack = await deployOpStackL1(l1.claims);
  const { gameType } = chainKinds[kind];
  if (options.proposes !== false) {
    const propose = async (l2: NodePlace): Promise<{ readonly l2Height: bigint }> => {
      // A super root is about an earlier block than the newest, which calls for no second claim.
      const { header } = await fetchRollupBlock(l2);
      await opStack.proposeOutput(l2, { gameType });
      return { l2Height: header.number };
    };
    started.use(startProposer({ l2: node, everyMs: CLAIM_EVERY_MS, propose }));
  }
  const id = { stateMachine: common.stateMachine, consensusStateId: common.clientStateId };
  return {
    opStack,
    rpcUrl: node.rpcUrl,
    consensusStateId: l1.clientStateId,
    settings: [
      consensusSettings.disputeGames.to(
        { factory: toAddress(opStack.factory), gameTypes: opStack.configs },
        id,
      ),
    ],
    section: {
      type: "op_stack",
      host: {
        ...l1Keys(l1),
        // Of the other kinds the address comes from the hub.
        ...kind === "op_stack" && { dispute_game_factory: opStack.factory },
        respected_game_type: gameType,
        message_parser: MESSAGE_PASSER,
      },
    },
  };
}

async function startArbitrum(surroundings: Surroundings, started: AsyncDisposableStack): Promise<Parts> {
  const { node, common, options } = surroundings;
  const l1 = l1Of(surroundings);
  const rewriter = started.use(await startArbitrumNode(node, options));
  const arbitrum = await deployArbitrumL1(l1.claims);
  const shown = { rpcUrl: rewriter.rpcUrl, chainId: node.chainId };
  if (options.proposes !== false) {
    started.use(
      startProposer({ l2: shown, everyMs: CLAIM_EVERY_MS, propose: (l2) => arbitrum.createAssertion(l2) }),
    );
  }
  const id = { stateMachine: common.stateMachine, consensusStateId: common.clientStateId };
  return {
    arbitrum,
    rpcUrl: rewriter.rpcUrl,
    consensusStateId: l1.clientStateId,
    settings: [consensusSettings.rollupCore.to(toAddress(arbitrum.rollup), id)],
    section: { type: "arbitrum_orbit", host: { ...l1Keys(l1), rollup_core: arbitrum.rollup } },
  };
}

/** A node whose headers have send roots, and which counts the gas of layer 1. */
async function startArbitrumNode(node: Anvil, options: ProvenChainOptions): Promise<HeaderRewriter> {
  await installArbGasInfo(node);
  return await startHeaderRewriter({
    upstream: node.rpcUrl,
    rule: withSendRoots,
    answers: withLayer1Gas(node),
    ...shownPort(options),
  });
}

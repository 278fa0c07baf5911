/**
 * The L1 side of an OP stack chain of the devnet: games and outputs about the blocks of an L2 node.
 * Start reading at {@link deployOpStackL1}.
 */
import { type Abi, type Address, concatHex, keccak256, numberToHex, parseAbi, parseEventLogs } from "viem";
import { type Hash256, type Hex, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { GameTypeConfig } from "../../src/consensus/clients/op_stack/spec/update.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { compileContracts } from "./compile.ts";
import { nodeAt, readerFor } from "./deploy.ts";
import { fetchRollupBlock, type NodePlace, type RollupL1 } from "./rollup_l1.ts";

/** `L2ToL1MessagePasser`, on every OP stack chain (ethereum-optimism/specs: specs/protocol/predeploys.md). */
export const MESSAGE_PASSER: Address = "0x4200000000000000000000000000000000000016";

/** Root of a trie without entries: headers of chains before Isthmus have it as their withdrawals root. */
const EMPTY_TRIE_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

const FACTORY_EVENTS = parseAbi([
  "event DisputeGameCreated(address indexed disputeProxy, uint32 indexed gameType, bytes32 indexed rootClaim)",
]);

/** Types of games that the factory makes: the numbers of the live networks. */
export const gameTypes = {
  fault: 8,
  succinct: 6,
  aggregate: 621,
  superFault: 9,
  superPermissioned: 5,
} as const;

/** Types whose games claim super roots. */
const superTypes: ReadonlySet<number> = new Set([gameTypes.superFault, gameTypes.superPermissioned]);

/** What to claim instead of the truth about the newest block. */
export interface ClaimOptions {
  /** Default 8, a fault dispute game. */
  readonly gameType?: number;
  /** Block that the claim is said to be about. Default: the newest. */
  readonly l2Height?: bigint;
  /** Output root instead of the true one. */
  readonly claim?: Hash256;
  /** Of super roots: the claim is about the newest block, said to be that of this second. Default: a settled second. */
  readonly timestampSec?: bigint;
  /** Of super roots: outputs by chain id. Default: the claim, between those of two other chains. */
  readonly outputs?: ReadonlyMap<bigint, Hash256>;
}

/** A claim that was made. */
export interface ProposedGame {
  readonly proxy: Address;
  readonly l2Height: bigint;
  readonly rootClaim: Hash256;
}

/** The contracts of one OP stack chain on an L1. */
export interface OpStackL1 {
  readonly l1: RollupL1;
  readonly factory: Address;
  readonly oracle: Address;
  /** What the hub must hold to take the games. */
  readonly configs: readonly GameTypeConfig[];
  /** Creates a game for the newest block of the L2. */
  proposeOutput(l2: NodePlace, options?: ClaimOptions): Promise<ProposedGame>;
  /** Somebody contests a game. */
  challengeGame(proxy: Address): Promise<void>;
  /** Writes an output for the newest block of the L2 to the oracle. */
  proposeToOracle(l2: NodePlace, options?: Omit<ClaimOptions, "gameType">): Promise<void>;
  /** Makes the factory clone another contract for a type of games. */
  replaceImplementation(gameType: number, implementation: Address): Promise<void>;
}

/** Deploys factory, oracle and the implementations of all kinds of games; about 0.3 s. */
export async function deployOpStackL1(l1: RollupL1): Promise<OpStackL1> {
  const artifacts = await compileContracts();
  const factory = await l1.deploy("DisputeGameFactory");
  const oracle = await l1.deploy("L2OutputOracle");
  const registry = await l1.deploy("AnchorStateRegistry");
  const implementation = async (...[name, args]: Parameters<RollupL1["deploy"]>) =>
    toAddress(await l1.deploy(name, args));
  const configs: readonly GameTypeConfig[] = [
    {
      gameType: gameTypes.fault,
      expectedImplementation: await implementation("FaultDisputeGame"),
      kind: { tag: "FaultDisputeGame", value: undefined },
    },
    {
      gameType: gameTypes.aggregate,
      expectedImplementation: await implementation("AggregateVerifier"),
      kind: { tag: "AggregateVerifier", value: undefined },
    },
    {
      gameType: gameTypes.succinct,
      expectedImplementation: await implementation("SuccinctDisputeGame"),
      kind: { tag: "OPSuccinct", value: undefined },
    },
    {
      gameType: gameTypes.superFault,
      expectedImplementation: await implementation("SuperFaultDisputeGame"),
      kind: { tag: "SuperFaultDisputeGame", value: undefined },
    },
    {
      gameType: gameTypes.superPermissioned,
      expectedImplementation: await implementation("SuperPermissionedDisputeGame", [registry]),
      kind: { tag: "SuperPermissionedDisputeGame", value: { anchorStateRegistry: toAddress(registry) } },
    },
  ];
  const factoryAbi = artifacts.DisputeGameFactory.abi;
  const replaceImplementation = async (gameType: number, implementation: Address): Promise<void> => {
    await l1.call(factory, factoryAbi, "setImplementation", [gameType, implementation]);
  };
  for (const { gameType, expectedImplementation } of configs) {
    await replaceImplementation(gameType, expectedImplementation);
  }
  return {
    l1,
    factory: toAddress(factory),
    oracle: toAddress(oracle),
    configs,
    proposeOutput: (l2, options = {}) =>
      proposeOutput(l1, { address: factory, abi: factoryAbi }, l2, options),
    challengeGame: async (proxy) => {
      await l1.call(proxy, artifacts.FaultDisputeGame.abi, "challenge");
    },
    proposeToOracle: async (l2, options = {}) => {
      const { height, claim } = await claimAbout(l2, options);
      await l1.call(oracle, artifacts.L2OutputOracle.abi, "proposeL2Output", [claim, height]);
    },
    replaceImplementation,
  };
}

/** Gives an L2 node the message passer, with something in its storage, and makes a block that has it. */
export async function prepareOpStackL2(l2: NodePlace): Promise<void> {
  const node = nodeAt(l2);
  await node.setCode({ address: MESSAGE_PASSER, bytecode: "0x00" });
  await node.setStorageAt({ address: MESSAGE_PASSER, index: 0, value: numberToHex(1, { size: 32 }) });
  await node.mine({ blocks: 1 });
}

/**
 * The newest second whose block no later block can change, with that block: several may be of the same second. Of a chain
 * that has but one second, the newest block.
 */
async function settledSecond(
  l2: NodePlace,
): Promise<{ readonly timestampSec: bigint; readonly height: bigint }> {
  const { header: newest } = await fetchRollupBlock(l2);
  for (let height = newest.number - 1n; height >= 0n; height--) {
    const { header: { timestampSec } } = await fetchRollupBlock(l2, height);
    if (timestampSec < newest.timestampSec) return { timestampSec: newest.timestampSec - 1n, height };
  }
  return { timestampSec: newest.timestampSec, height: newest.number };
}

/** What the rollup's own state says about a block, the newest unless named. */
async function claimAbout(
  l2: NodePlace,
  options: Pick<ClaimOptions, "l2Height" | "claim">,
  about?: bigint,
): Promise<{ readonly height: bigint; readonly timestampSec: bigint; readonly claim: Hash256 }> {
  if (options.claim !== undefined && options.l2Height !== undefined) {
    return { height: options.l2Height, timestampSec: 0n, claim: options.claim };
  }
  const { header, hash } = await fetchRollupBlock(l2, about);
  const { stateRoot, withdrawalsRoot, timestampSec } = header;
  const passerRoot = withdrawalsRoot === undefined || withdrawalsRoot === EMPTY_TRIE_ROOT
    ? await fetchPasserRoot(l2, header.number)
    : withdrawalsRoot;
  const claim = toHash256(keccak256(concatHex([numberToHex(0, { size: 32 }), stateRoot, passerRoot, hash])));
  return { height: options.l2Height ?? header.number, timestampSec, claim: options.claim ?? claim };
}

/** The claim of several chains at one second. */
function superRootOf(timestampSec: bigint, outputs: ReadonlyMap<bigint, Hash256>): Hex {
  const entries = [...outputs].sort(([a], [b]) => a < b ? -1 : 1);
  return concatHex([
    "0x01",
    numberToHex(timestampSec, { size: 8 }),
    ...entries.flatMap(([chainId, output]) => [numberToHex(chainId, { size: 32 }), output]),
  ]);
}

/** Claim and extra data of a new game. */
function gameAbout(
  l2: NodePlace,
  about: Awaited<ReturnType<typeof claimAbout>>,
  { gameType = gameTypes.fault, ...options }: ClaimOptions,
): { readonly rootClaim: Hash256; readonly extraData: Hex } {
  if (!superTypes.has(gameType)) {
    return { rootClaim: about.claim, extraData: numberToHex(about.height, { size: 32 }) };
  }
  const chainId = BigInt(l2.chainId);
  const outputs = options.outputs ?? new Map<bigint, Hash256>([
    // Different each time: two games about one second would be the same game, which the factory refuses.
    [chainId - 1n, toHash256(crypto.getRandomValues(new Uint8Array(32)))],
    [chainId, about.claim],
    [chainId + 1n, `0x${"b2".repeat(32)}`],
  ]);
  const extraData = superRootOf(options.timestampSec ?? about.timestampSec, outputs);
  return { rootClaim: toHash256(keccak256(extraData)), extraData };
}

async function fetchPasserRoot(l2: NodePlace, blockNumber: bigint): Promise<Hash256> {
  const proof = await readerFor(l2).getProof({ address: MESSAGE_PASSER, storageKeys: [], blockNumber });
  return toHash256(proof.storageHash);
}

async function proposeOutput(
  l1: RollupL1,
  factory: { readonly address: Address; readonly abi: Abi },
  l2: NodePlace,
  options: ClaimOptions,
): Promise<ProposedGame> {
  const { gameType = gameTypes.fault } = options;
  const isFree = options.timestampSec === undefined && options.l2Height === undefined;
  const second = superTypes.has(gameType) && isFree ? await settledSecond(l2) : undefined;
  const found = await claimAbout(l2, options, second?.height);
  const about = { ...found, ...second };
  const { rootClaim, extraData } = gameAbout(l2, about, options);
  const receipt = await l1.call(factory.address, factory.abi, "create", [gameType, rootClaim, extraData]);
  const [created] = parseEventLogs({ abi: FACTORY_EVENTS, logs: receipt.logs });
  if (created === undefined) throw new Error("The factory created no game");
  return {
    proxy: toAddress(created.args.disputeProxy),
    l2Height: about.height,
    rootClaim,
  };
}

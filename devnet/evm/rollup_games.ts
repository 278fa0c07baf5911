/**
 * The L1 side of an OP stack chain of the devnet: games and outputs about the blocks of an L2 node.
 * Start reading at {@link deployOpStackL1}.
 */
import { type Abi, type Address, createTestClient, http, numberToHex, parseAbi, parseEventLogs } from "viem";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { GameTypeConfig } from "../../src/consensus/clients/op_stack/spec/consensus_state.ts";
import { OUTPUT_ROOT_VERSION, outputRoot } from "../../src/consensus/clients/op_stack/spec/output_root.ts";
import { toAddress } from "../../src/core/evm/address.ts";
import { compileContracts } from "./compile.ts";
import { readerFor } from "./deploy.ts";
import { fetchRollupBlock, type NodePlace, type RollupL1 } from "./rollup_l1.ts";

/** `L2ToL1MessagePasser`, on every OP stack chain (ethereum-optimism/specs: specs/protocol/predeploys.md). */
export const MESSAGE_PASSER: Address = "0x4200000000000000000000000000000000000016";

/** Root of a trie without entries: headers of chains before Isthmus have it as their withdrawals root. */
const EMPTY_TRIE_ROOT = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

const FACTORY_EVENTS = parseAbi([
  "event DisputeGameCreated(address indexed disputeProxy, uint32 indexed gameType, bytes32 indexed rootClaim)",
]);

/** Types of games that the factory makes. */
export const gameTypes = { fault: 0, succinct: 6, aggregate: 621 } as const;

/** What to claim instead of the truth about the newest block. */
export interface ClaimOptions {
  /** Default 0, a fault dispute game. */
  readonly gameType?: number;
  /** Block that the claim is said to be about. Default: the newest. */
  readonly l2Height?: bigint;
  /** Output root instead of the true one. */
  readonly claim?: Hash256;
}

/** A claim that was made. */
export interface ProposedGame {
  readonly proxy: Address;
  readonly l2Height: bigint;
  readonly rootClaim: Hash256;
  /** L1 block of its creation. */
  readonly l1Height: bigint;
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
  const configs: readonly GameTypeConfig[] = [
    {
      gameType: gameTypes.fault,
      expectedImplementation: toAddress(await l1.deploy("FaultDisputeGame")),
      kind: "FaultDisputeGame",
    },
    {
      gameType: gameTypes.aggregate,
      expectedImplementation: toAddress(await l1.deploy("AggregateVerifier")),
      kind: "AggregateVerifier",
    },
    {
      gameType: gameTypes.succinct,
      expectedImplementation: toAddress(await l1.deploy("SuccinctDisputeGame")),
      kind: "OPSuccinct",
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
  const { chain } = readerFor(l2);
  const node = createTestClient({ mode: "anvil", chain, transport: http(l2.rpcUrl) });
  await node.setCode({ address: MESSAGE_PASSER, bytecode: "0x00" });
  await node.setStorageAt({ address: MESSAGE_PASSER, index: 0, value: numberToHex(1, { size: 32 }) });
  await node.mine({ blocks: 1 });
}

/** What the rollup's own state says about a block. */
async function claimAbout(
  l2: NodePlace,
  options: Pick<ClaimOptions, "l2Height" | "claim">,
): Promise<{ readonly height: bigint; readonly claim: Hash256 }> {
  if (options.claim !== undefined && options.l2Height !== undefined) {
    return { height: options.l2Height, claim: options.claim };
  }
  const { header, hash } = await fetchRollupBlock(l2);
  const { stateRoot, withdrawalsRoot } = header;
  const claim = outputRoot({
    version: OUTPUT_ROOT_VERSION,
    stateRoot,
    withdrawalStorageRoot: withdrawalsRoot === undefined || withdrawalsRoot === EMPTY_TRIE_ROOT
      ? await fetchPasserRoot(l2, header.number)
      : withdrawalsRoot,
    blockHash: hash,
  });
  return { height: options.l2Height ?? header.number, claim: options.claim ?? claim };
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
  const { height, claim } = await claimAbout(l2, options);
  const gameType = options.gameType ?? gameTypes.fault;
  const extraData = numberToHex(height, { size: 32 });
  const receipt = await l1.call(factory.address, factory.abi, "create", [gameType, claim, extraData]);
  const [created] = parseEventLogs({ abi: FACTORY_EVENTS, logs: receipt.logs });
  if (created === undefined) throw new Error("The factory created no game");
  return {
    proxy: toAddress(created.args.disputeProxy),
    l2Height: height,
    rootClaim: claim,
    l1Height: receipt.blockNumber,
  };
}

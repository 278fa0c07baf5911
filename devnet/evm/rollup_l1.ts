/**
 * The account that makes claims about rollups on an L1 of the devnet, and the rollup's blocks as it sees them.
 */
import { pause } from "../waiting.ts";
import { type Abi, type Address, encodeFunctionData, type PublicClient, type TransactionReceipt } from "viem";
import { type EvmBlockHeader, parseHashedBlock } from "../../src/core/evm/block_header.ts";
import type { Hash256, Hex } from "../../src/core/encoding/bytes.ts";
import { DEVNET_ACCOUNTS } from "./accounts.ts";
import { compileContracts, type ContractName } from "./compile.ts";
import { createContract, readerFor, transactor } from "./deploy.ts";

/** A node. */
export interface NodePlace {
  readonly rpcUrl: string;
  readonly chainId: number;
}

/** An L1 with the means to act on it as the proposer. */
export interface RollupL1 {
  readonly reader: PublicClient;
  /** Creates a contract. */
  deploy(name: ContractName, args?: readonly unknown[]): Promise<Address>;
  /** Calls a contract and waits for the receipt. Reverts throw. */
  call(to: Address, abi: Abi, functionName: string, args?: readonly unknown[]): Promise<TransactionReceipt>;
}

/**
 * Connects to an L1. Nothing is sent. All rollups on one L1 share one of these, since they share the account.
 */
export function connectRollupL1(place: NodePlace): RollupL1 {
  const reader = readerFor(place);
  const transact = transactor(reader);
  const { proposer } = DEVNET_ACCOUNTS;
  return {
    reader,
    deploy: async (name, args) =>
      await createContract(transact, proposer, (await compileContracts())[name], args),
    call: (to, abi, functionName, args = []) =>
      transact(proposer, { to, data: encodeFunctionData({ abi, functionName, args }) }),
  };
}

/** A block of a rollup. */
export interface RollupBlock {
  readonly header: EvmBlockHeader;
  readonly hash: Hash256;
}

/** The newest block of a rollup's node, or the one of that number. */
export async function fetchRollupBlock(l2: NodePlace, height?: bigint): Promise<RollupBlock> {
  const name: Hex | "latest" = height === undefined ? "latest" : `0x${height.toString(16)}`;
  const block = await readerFor(l2).request({ method: "eth_getBlockByNumber", params: [name, false] });
  return parseHashedBlock(block);
}

/** A proposer at work. */
export interface Proposer extends AsyncDisposable {
  /** Ends after the claim that is under way. Throws what went wrong with the last one, if anything did. */
  stop(): Promise<void>;
}

/** How a proposer works. */
export interface ProposerOptions {
  /** The rollup's node. */
  readonly l2: NodePlace;
  /** Pause between two polls, milliseconds. */
  readonly everyMs: number;
  /** Makes a claim about the newest block: `proposeOutput`, `createAssertion` or `createNode`. */
  readonly propose: (l2: NodePlace) => Promise<{ readonly l2Height: bigint }>;
}

/** Makes a claim whenever it sees a block that no claim of it is about, until it is stopped. What fails is tried again. */
export function startProposer({ l2, everyMs, propose }: ProposerOptions): Proposer {
  const end = new AbortController();
  const reader = readerFor(l2);
  let claimed = -1n;
  const claimNewest = async (): Promise<void> => {
    if (await reader.getBlockNumber() <= claimed) return;
    claimed = (await propose(l2)).l2Height;
  };
  const work = (async () => {
    let last: Promise<void>;
    do {
      last = claimNewest();
      await last.catch(() => undefined);
      await pause(everyMs, end.signal);
    } while (!end.signal.aborted);
    return { last };
  })();
  const stop = async (): Promise<void> => {
    end.abort();
    await (await work).last;
  };
  return { stop, [Symbol.asyncDispose]: stop };
}

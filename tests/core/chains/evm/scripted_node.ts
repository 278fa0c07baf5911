/** A scripted node of chain 1 with a host on it, and deliveries to it. */
import { encodeAbiParameters, pad, toRlp } from "viem";
import type { Chain } from "../../../../src/core/chains/port.ts";
import type {
  AcceptedSimulation,
  Delivery,
  SignedSubmission,
  SigningInput,
  SigningResult,
} from "../../../../src/core/chains/submission.ts";
import type { EvmChainOptions } from "../../../../src/core/chains/evm/evm_chain.ts";
import { fromHex, type Hex, keccak256, toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { hostEventTopics } from "../../../../src/core/evm/host_abi.ts";
import { hostReads } from "../../../../src/core/evm/host_reads.ts";
import { postMessage } from "../../../../src/core/ismp/message.ts";
import { evmStateMachine, parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { EMPTY_NODE, EMPTY_ROOT } from "../../../../src/core/merkle/patricia.ts";
import hostVector from "../../../vectors/evm-host-reads.json" with { type: "json" };
import { FakeClock } from "../../../support/fake_clock.ts";
import { type Answerer, ScriptedRpc } from "../../../support/scripted_rpc.ts";
import { type ChainUnderTest, chainUnderTest, deliveryOf, hub, never } from "./chain_fixture.ts";

/** The host of the recorded answers. */
export const host: Hex = "0x2279b7a0a67db372996a5fab50d91eaa73d2ebe6";

/** Hash of every block. */
export const blockHash = toHash256(new Uint8Array(32).fill(7));

/** The newest block of a node, with a base fee. */
export function blockOf(baseFeePerGas: string): unknown {
  return { number: "0x100", hash: blockHash, timestamp: "0x10", baseFeePerGas };
}

/** ABI words that are zero. */
export const zeros = (words: number): Hex => `0x${"00".repeat(32 * words)}`;

/** Answers calls of the host: its parameters as recorded, and everything else as `other` does. */
export function hostAnswers(other: Answerer): Answerer {
  return (params, rpc) =>
    JSON.stringify(params[0]).includes(hostReads.hostParams.encode())
      ? hostVector.reads.hostParams.result
      : other(params, rpc);
}

/** Answers calls of the host: its parameters as recorded, and zeros for everything else. */
export const readHost: Answerer = hostAnswers(() => zeros(2));

/** Answers of a node at height 0x100 on which everything works but tracing and simulating. */
export const nodeAnswers: Readonly<Record<string, Answerer>> = {
  eth_chainId: () => "0x1",
  eth_blockNumber: () => "0x100",
  eth_gasPrice: () => "0x64",
  eth_getCode: () => "0x",
  eth_getBalance: () => "0xffffffffffffffff",
  eth_getTransactionCount: () => "0x5",
  eth_getLogs: () => [],
  eth_estimateGas: () => "0x30000",
  eth_getBlockByNumber: ([tag]) => ({
    number: tag === "finalized" ? "0xf0" : "0x100",
    hash: blockHash,
    timestamp: "0x10",
  }),
  eth_call: readHost,
};

/** A node that gives {@link nodeAnswers}; tests replace what they are about. */
export function node(methods: Readonly<Record<string, Answerer>> = {}): ScriptedRpc {
  return new ScriptedRpc({ ...nodeAnswers, ...methods });
}

/** An adapter for these nodes, with a clock that stands still. */
export function chainAt(
  rpcs: readonly ScriptedRpc[],
  options: Partial<EvmChainOptions> = {},
  clock = new FakeClock(),
): ChainUnderTest & { readonly clock: FakeClock } {
  const urls = rpcs.map(({ url }) => url);
  const place = { ismpHost: host, stateMachine: evmStateMachine(1) };
  return { ...chainUnderTest(urls, { ...place, ...options }, clock), clock };
}

/** An adapter for one node, or for one that differs in these methods, and the node. */
export function chainOn(
  of: ScriptedRpc | Readonly<Record<string, Answerer>> = {},
  options: Partial<EvmChainOptions> = {},
): ReturnType<typeof chainAt> & { readonly rpc: ScriptedRpc } {
  const rpc = of instanceof ScriptedRpc ? of : node(of);
  return { ...chainAt([rpc], options), rpc };
}

/** The log of a request of the host, as a node tells it; one in each block, unless `logIndex` is named. */
export function requestLog(nonce: number, block: number, logIndex = 0): Readonly<Record<string, unknown>> {
  const types = ["string", "string", "bytes", "uint256", "uint256", "bytes", "uint256"];
  const values = ["EVM-1", "EVM-2", "0xbb", BigInt(nonce), 0n, "0x", 0n];
  return {
    address: host,
    topics: [hostEventTopics.PostRequestEvent, pad("0xaa", { size: 32 })],
    data: encodeAbiParameters(types.map((type) => ({ type })), values),
    blockNumber: `0x${block.toString(16)}`,
    transactionHash: blockHash,
    logIndex: `0x${logIndex.toString(16)}`,
  };
}

/** The only account of a state: the host, whose storage is empty. */
const hostLeaf = toRlp([
  `0x20${toHex(keccak256(fromHex(host))).slice(2)}`,
  toRlp(["0x01", "0x", toHex(EMPTY_ROOT), blockHash]),
]);

/** Root of that state. */
export const hostStateRoot = toHash256(keccak256(fromHex(hostLeaf)));

/** Answers `eth_getProof` of that state. */
export const proveEmpty: Answerer = ([address, slots]) => ({
  address,
  accountProof: [hostLeaf],
  storageHash: toHex(EMPTY_ROOT),
  storageProof: [slots].flat().map((key) => ({ key, value: "0x0", proof: [toHex(EMPTY_NODE)] })),
});

/** A post to a module of chain 1. */
export function post(nonce: bigint): ReturnType<typeof postMessage> {
  return postMessage({
    source: parseStateMachine("POLKADOT-2000"),
    dest: evmStateMachine(1),
    nonce,
    from: Uint8Array.of(1),
    to: new Uint8Array(20),
    timeoutTimestampSec: 0n,
    body: new Uint8Array(),
  });
}

/** A delivery of the posts 0 to `count` - 1. */
export function deliveryOfPosts(count: number): Delivery {
  const messages = Array.from({ length: count }, (_, index) => post(BigInt(index)));
  return deliveryOf(messages, {
    kind: "mmr",
    height: { id: hub, height: 100n },
    leafCount: BigInt(count),
    items: [],
    leafIndices: messages.map((_, index) => BigInt(index)),
  });
}

/** The simulation of a delivery of one post that the chain takes, 100,000 gas at 100 wei. */
export const simulated: AcceptedSimulation = {
  kind: "accepted",
  handled: [true],
  gasUsed: 100_000n,
  gasLimit: 200_000n,
  messageGas: [100_000n],
  gasPriceWei: 100n,
  dataCostWei: 0n,
};

/** Signs a delivery after such a simulation. */
export function trySign(
  { sender }: Pick<Chain, "sender">,
  hints: Partial<SigningInput> = {},
  delivery: Delivery = deliveryOfPosts(1),
): Promise<SigningResult> {
  return sender.sign(delivery, { simulation: simulated, nonceAtLeast: undefined, ...hints }, never);
}

/** The same, for a delivery that is signed. */
export async function sign(...asked: Parameters<typeof trySign>): Promise<SignedSubmission> {
  const result = await trySign(...asked);
  if (result.kind === "signed") return result.submission;
  throw new Error(`Not signed: ${result.kind === "refused" ? result.refusal.detail : result.kind}`);
}

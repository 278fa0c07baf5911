/**
 * JSON-RPC of an EVM node over a chain in memory: what the answers mean comes from the {@link MemoryNode}, how they look
 * from the contracts' ABI. Start reading at {@link MemoryRpc.answer}.
 */
import { encodeErrorResult, parseTransaction, toFunctionSelector } from "viem";
import { collectMessages, type Delivery, type RefusalCode } from "../../src/core/chains/submission.ts";
import {
  fromHex,
  type Hash256,
  type Hex,
  keccak256,
  toHash256,
  toHex,
} from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import { opStackOracle } from "../../src/core/evm/fee_oracles.ts";
import { evmHostAbi, handlerV2Abi, hostManagerAbi } from "../../src/core/evm/host_abi.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import type { StateMachineId } from "../../src/core/ismp/state_machine.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { bundleResult, readsOf } from "./bundle_runner.ts";
import type { MemoryBlock, MemoryTransaction } from "./memory_block.ts";
import { readContract, type ReadPlace } from "./memory_contracts.ts";
import type { CallTerms, GasRun } from "./memory_gas.ts";
import { deliveryIn } from "./memory_deliveries.ts";
import { dataGas, MAX_TRANSACTION_GAS } from "./memory_gas.ts";
import { handledLog, logsOf, quantity } from "./memory_logs.ts";
import type { MemoryNode } from "./memory_node.ts";
import { proveSlots } from "./memory_slots.ts";

/** An error of the node. */
export class NodeRpcError extends Error {
  constructor(readonly code: number, message: string, readonly data?: Hex) {
    super(message);
  }
}

/** What the node is about. */
export interface RpcPlace {
  readonly node: MemoryNode;
  readonly host: Address;
  readonly hub: StateMachineId;
  /** Account whose transactions it takes. */
  readonly relayer: Uint8Array;
  readonly feeTokenDecimals: number;
  /** Dollars of a native token x 10^27; `undefined`: its router has no pool. */
  readonly price27: () => bigint | undefined;
}

/** How a node sees its chain. */
export interface View {
  /** Blocks by which it is behind. */
  readonly behind: bigint;
  /** False: what it proves does not verify. */
  readonly provesWell: boolean;
  /** Changes what it says of the state, and results; absent: it is honest. */
  readonly lie?: Lie | undefined;
}

/** What a node says that is not so. */
export interface Lie {
  readonly ofReads?: (at: ReadPlace) => ReadPlace;
  readonly ofResult?: (method: string, result: unknown) => unknown;
}

/** A call as nodes take it. */
interface CallObject {
  readonly from?: Address;
  readonly to?: Address;
  readonly data?: Hex;
  readonly gas?: Hex;
  readonly gasPrice?: Hex;
  readonly maxFeePerGas?: Hex;
  readonly maxPriorityFeePerGas?: Hex;
}

const selector = (
  abi: typeof handlerV2Abi | typeof evmHostAbi | typeof hostManagerAbi,
  name: string,
): Hex => {
  const found = abi.find((item) => item.type === "function" && item.name === name);
  if (found?.type !== "function") throw new Error(`No function ${name}`);
  return toFunctionSelector(found);
};
const BATCH = selector(handlerV2Abi, "batchCall");
const STEP = selector(handlerV2Abi, "handlePostRequests");
const DISPATCH = selector(evmHostAbi, "dispatchIncoming");
const CALLBACK = selector(hostManagerAbi, "onAccept");
const SUPPORTS = selector(handlerV2Abi, "supportsInterface");
const YES: Hex = `0x${"1".padStart(64, "0")}`;

/** Name of the contracts' error for a refusal. */
const errorNames = {
  duplicate: "DuplicateMessage",
  timed_out: "MessageTimedOut",
  bad_proof: "InvalidProof",
  not_ready: "StateCommitmentNotFound",
  host_frozen: "HostFrozen",
  bad_destination: "InvalidMessageDestination",
} as const;

/** Deliveries that were decoded last: a node sees the same call data several times. */
const MAX_DECODED = 32;

/** The node. */
export class MemoryRpc {
  readonly #at: RpcPlace;
  readonly #decoded = new Map<Hex, Delivery | undefined>();

  constructor(at: RpcPlace) {
    this.#at = at;
  }

  /** Answers a call as a node with that view does. @throws {NodeRpcError} */
  answer(method: string, params: readonly unknown[], { behind, provesWell, lie = {} }: View): unknown {
    const { node } = this.#at;
    const head = node.block(node.head.height > behind ? node.head.height - behind : 1n) ?? node.head;
    const result = this.#answer({ method, params }, head, lie);
    if (method === "eth_getProof" && !provesWell) return { ...Object(result), storageHash: "0x00" };
    return lie.ofResult === undefined ? result : lie.ofResult(method, result);
  }

  #answer(
    { method, params }: { readonly method: string; readonly params: readonly unknown[] },
    head: MemoryBlock,
    lie: Lie,
  ): unknown {
    const { node } = this.#at;
    const [first, second, third] = params;
    switch (method) {
      case "eth_chainId":
        return quantity(BigInt(node.id.stateMachine.slice(4)));
      case "eth_blockNumber":
        return quantity(head.height);
      case "eth_getBlockByNumber":
      case "eth_getBlockByHash": {
        const block = this.#blockAt(String(first), head);
        return block === undefined ? null : this.#header(block);
      }
      case "eth_gasPrice":
        return quantity(node.priceWei);
      case "eth_feeHistory": {
        const tip = quantity(node.priceWei - node.baseFeeWei);
        return { baseFeePerGas: [quantity(node.baseFeeWei)], reward: [[tip]] };
      }
      case "eth_getBalance":
        return quantity(node.balanceOf(String(first), head.state));
      case "eth_getTransactionCount":
        return quantity(
          second === "pending"
            ? node.pendingNonceOf(String(first))
            : head.state.nonces.get(String(first)) ?? 0n,
        );
      case "eth_getCode":
        return first === opStackOracle && node.dataWeiPerByte === 0n ? "0x" : "0x6001";
      case "eth_getLogs":
        return this.#logs(Object(first), head);
      case "eth_call":
        return this.#call(Object(first), { tag: String(second), lie }, head);
      case "eth_estimateGas":
        return quantity(this.#estimate(Object(first), head));
      case "debug_traceCall":
        return this.#trace(Object(first), Object(third), head);
      case "eth_simulateV1":
        return this.#simulate(Object(first), head);
      case "eth_getProof":
        return proveSlots(
          this.#requireBlock(String(third), head),
          { host: this.#at.host, to: String(first) },
          second,
        );
      case "eth_sendRawTransaction":
        return this.#send(fromHex(String(first)));
      case "eth_getTransactionByHash":
        return this.#find(toHash256(String(first)), head);
      case "eth_getTransactionReceipt":
        return this.#receipt(toHash256(String(first)), head);
    }
    throw new NodeRpcError(-32601, `the method ${method} does not exist/is not available`);
  }

  #blockAt(tag: string, head: MemoryBlock): MemoryBlock | undefined {
    const { node } = this.#at;
    if (tag === "latest" || tag === "pending") return head;
    if (tag === "finalized") {
      return node.block(node.finalHeight < head.height ? node.finalHeight : head.height);
    }
    if (tag.length === 66) return node.blockOf(tag);
    const height = BigInt(tag);
    // The block before the first one is as empty.
    return height > head.height ? undefined : node.block(height === 0n ? 1n : height);
  }

  #requireBlock(tag: string, head: MemoryBlock): MemoryBlock {
    const block = this.#blockAt(tag, head);
    if (block === undefined) throw new NodeRpcError(-32000, "header not found");
    return block;
  }

  #header({ height, hash, timeSec }: MemoryBlock): unknown {
    const baseFeePerGas = quantity(this.#at.node.baseFeeWei);
    return { number: quantity(height), hash, timestamp: quantity(timeSec), baseFeePerGas, stateRoot: hash };
  }

  #logs({ fromBlock, toBlock, topics }: {
    readonly fromBlock: Hex;
    readonly toBlock: Hex;
    readonly topics: readonly (readonly Hex[])[];
  }, head: MemoryBlock): unknown {
    const wanted = new Set(topics[0]);
    const to = BigInt(toBlock) < head.height ? BigInt(toBlock) : head.height;
    const found: unknown[] = [];
    for (let height = BigInt(fromBlock); height <= to; height++) {
      const block = this.#at.node.block(height);
      if (block === undefined || block.events.length === 0) continue;
      found.push(...logsOf(block, this.#at.host).filter(({ topics: [topic] }) => wanted.has(topic ?? "0x")));
    }
    return found;
  }

  #call(call: CallObject, { tag, lie }: { readonly tag: string; readonly lie: Lie }, head: MemoryBlock): Hex {
    const block = this.#requireBlock(tag, head);
    const state = tag === "pending" ? this.#at.node.pendingState : block.state;
    const real = { ...this.#at, block, state };
    const at = lie.ofReads === undefined ? real : lie.ofReads(real);
    const reads = readsOf(call);
    if (reads === undefined) return this.#callOne(call, at);
    return bundleResult(reads.map((read) => {
      try {
        return this.#callOne(read, at);
      } catch (error) {
        if (error instanceof NodeRpcError) return undefined;
        throw error;
      }
    }));
  }

  #callOne(call: CallObject, at: ReadPlace): Hex {
    const { to = "0x", data = "0x" } = call;
    if (data.startsWith(SUPPORTS)) return YES;
    const delivery = this.#decode(data);
    if (delivery !== undefined) {
      const run = this.#run(call, delivery, at.block, at.state);
      if (run.execution.kind === "refused") throw reverted(run, delivery);
      return "0x";
    }
    const result = readContract(at, { to, data });
    if (result === undefined) throw new NodeRpcError(3, "execution reverted", "0x");
    return result;
  }

  /** Runs a delivery as a contract sees it on top of a block: of the block itself, as Geth's `latest` is. */
  #run(
    call: CallObject,
    delivery: Delivery,
    block: MemoryBlock,
    state = block.state,
    changes: Partial<CallTerms> = {},
  ): GasRun {
    const { node } = this.#at;
    if (call.to !== state.handler) {
      const refusal = { code: "handler_replaced", detail: "UnauthorizedAction" } as const;
      return { execution: { kind: "refused", refusal }, gasUsed: 60_000n, steps: [], isOutOfGas: false };
    }
    const maximum = BigInt(call.maxFeePerGas ?? call.gasPrice ?? "0x0");
    const withTip = node.baseFeeWei + BigInt(call.maxPriorityFeePerGas ?? call.gasPrice ?? "0x0");
    return node.runCall(
      delivery,
      {
        data: call.data ?? "0x",
        gasLimit: BigInt(call.gas ?? quantity(MAX_TRANSACTION_GAS)),
        gasPriceWei: withTip < maximum ? withTip : maximum,
        balanceWei: node.balanceOf(call.from ?? "", state),
        number: block.height,
        nowSec: block.timeSec,
        isBlock: false,
        ...changes,
      },
      block,
      state,
    );
  }

  #estimate(call: CallObject, head: MemoryBlock): bigint {
    const delivery = this.#decode(call.data ?? "0x");
    if (delivery === undefined) return dataGas(call.data ?? "0x").intrinsic;
    const run = this.#run(call, delivery, head);
    if (run.execution.kind === "refused") throw reverted(run, delivery);
    return run.gasUsed;
  }

  #trace(call: CallObject, options: object, head: MemoryBlock): unknown {
    const delivery = this.#decode(call.data ?? "0x");
    if (delivery === undefined) {
      return { type: "CALL", gasUsed: quantity(dataGas(call.data ?? "0x").intrinsic) };
    }
    this.#requireTraceable(delivery);
    const run = this.#run(call, delivery, head, head.state, balanceIn(options, call.from));
    return this.#frames(run, delivery);
  }

  #requireTraceable(delivery: Delivery): void {
    if (!collectMessages(delivery).some(({ commitment }) => this.#at.node.untraceable.has(commitment))) {
      return;
    }
    throw new NodeRpcError(-32000, "response is too big");
  }

  #frames(run: GasRun, delivery: Delivery): unknown {
    const { host } = this.#at;
    const steps = run.steps.map(({ gasUsed, dispatches }) => ({
      type: "DELEGATECALL",
      gasUsed: quantity(gasUsed),
      input: STEP,
      calls: dispatches.map(({ gasUsed, isDone, message }) => ({
        type: "CALL",
        to: host,
        gasUsed: quantity(gasUsed),
        input: DISPATCH,
        calls: [{
          type: "CALL",
          gasUsed: "0x1",
          input: CALLBACK,
          ...isDone ? {} : { error: "execution reverted" },
        }],
        logs: isDone ? [{ address: host, ...this.#handled(message) }] : [],
      })),
    }));
    const gasUsed = quantity(run.gasUsed);
    if (run.execution.kind === "refused") {
      const output = run.isOutOfGas ? undefined : revertDataOf(run, delivery);
      return {
        type: "CALL",
        gasUsed,
        input: STEP,
        output,
        error: run.isOutOfGas ? "out of gas" : "execution reverted",
      };
    }
    const [only] = steps;
    return steps.length === 1 && only !== undefined
      ? { ...only, type: "CALL", gasUsed }
      : { type: "CALL", gasUsed, input: BATCH, calls: steps };
  }

  #handled(message: Message): ReturnType<typeof handledLog> {
    const of = message.kind === "post" ? "post" : "get";
    return handledLog({ of, commitment: toReceiptKey(message), relayer: this.#at.relayer });
  }

  #simulate(
    blocks: { readonly blockStateCalls?: readonly { readonly calls?: readonly CallObject[] }[] },
    head: MemoryBlock,
  ): unknown {
    const [block] = blocks.blockStateCalls ?? [];
    const call = block?.calls?.[0];
    const delivery = this.#decode(call?.data ?? "0x");
    if (call === undefined || delivery === undefined) {
      const gasUsed = quantity(dataGas(call?.data ?? "0x").intrinsic);
      return [{ calls: [{ status: "0x1", gasUsed, returnData: "0x", logs: [] }] }];
    }
    this.#requireTraceable(delivery);
    // Unlike a trace it makes a block of its own.
    const run = this.#run(call, delivery, head, head.state, {
      number: head.height + 1n,
      nowSec: head.timeSec + 1n,
      ...balanceIn(block ?? {}, call.from),
    });
    const gasUsed = quantity(run.gasUsed);
    if (run.execution.kind === "refused") {
      const returnData = run.isOutOfGas ? "0x" : revertDataOf(run, delivery);
      return [{ calls: [{ status: "0x0", gasUsed, returnData, error: { message: "execution reverted" } }] }];
    }
    const done = run.steps.flatMap(({ dispatches }) => dispatches).filter(({ isDone }) => isDone);
    const logs = done.map(({ message }) => ({ address: this.#at.host, ...this.#handled(message) }));
    return [{ calls: [{ status: "0x1", gasUsed, returnData: "0x", logs }] }];
  }

  /** The delivery in call data; `undefined`: it is no call of the handler. */
  #decode(data: Hex): Delivery | undefined {
    if (data.length < 300) return undefined;
    if (this.#decoded.has(data)) return this.#decoded.get(data);
    const delivery = deliveryIn(data, this.#at.hub);
    this.#decoded.set(data, delivery);
    const [oldest] = this.#decoded.keys();
    if (this.#decoded.size > MAX_DECODED && oldest !== undefined) this.#decoded.delete(oldest);
    return delivery;
  }

  #send(raw: Uint8Array): Hex {
    const { node, relayer } = this.#at;
    const hash = toHash256(keccak256(raw));
    const { to, data = "0x", gas = 0n, nonce = 0, ...price } = parseTransaction(toHex(raw));
    const delivery = this.#decode(data);
    const maximum = price.maxFeePerGas ?? price.gasPrice ?? 0n;
    const transaction: MemoryTransaction = {
      hash,
      delivery: delivery ?? { steps: [] },
      relayer,
      account: toHex(relayer),
      nonce: BigInt(nonce),
      priceWei: maximum,
      handler: delivery === undefined || to === null || to === undefined
        ? undefined
        : to.toLowerCase() as Address,
      evm: { data, gasLimit: gas, tipWei: price.maxPriorityFeePerGas ?? maximum, bytes: raw.length },
    };
    node.register(transaction);
    const result = node.submit(hash);
    switch (result.kind) {
      case "sent":
        return hash;
      case "alreadyKnown":
        throw new NodeRpcError(-32000, "already known");
      case "nonceUsed":
        throw new NodeRpcError(-32000, "nonce too low");
      case "underpriced":
        throw new NodeRpcError(-32000, "replacement transaction underpriced");
      case "refused":
        throw new NodeRpcError(-32000, result.refusal.detail);
    }
  }

  #find(hash: Hash256, head: MemoryBlock): unknown {
    const found = this.#at.node.find(hash);
    if (found === undefined) return null;
    if (found === "mempool" || found.block.height > head.height) return { hash, blockNumber: null };
    return { hash, blockNumber: quantity(found.block.height) };
  }

  #receipt(hash: Hash256, head: MemoryBlock): unknown {
    const found = this.#at.node.find(hash);
    if (found === undefined || found === "mempool" || found.block.height > head.height) return null;
    const { block, mined: { execution, spent } } = found;
    return {
      blockNumber: quantity(block.height),
      blockHash: block.hash,
      status: execution.kind === "done" ? "0x1" : "0x0",
      gasUsed: quantity(spent?.gasUsed ?? 0n),
      effectiveGasPrice: quantity(spent?.gasPriceWei ?? 0n),
      ...this.#at.node.dataWeiPerByte === 0n ? {} : { l1Fee: quantity(spent?.dataCostWei ?? 0n) },
      logs: logsOf(block, this.#at.host).filter(({ transactionHash }) => transactionHash === hash),
    };
  }
}

/** The balance that a state override sets. */
function balanceIn(options: object, from: Address | undefined): Partial<CallTerms> {
  const { stateOverrides }: {
    readonly stateOverrides?: Readonly<Record<string, { readonly balance?: Hex }>>;
  } = options;
  const balance = from === undefined ? undefined : stateOverrides?.[from]?.balance;
  return balance === undefined ? {} : { balanceWei: BigInt(balance) };
}

function reverted(run: GasRun, delivery: Delivery): NodeRpcError {
  return run.isOutOfGas
    ? new NodeRpcError(-32000, "out of gas")
    : new NodeRpcError(3, "execution reverted", revertDataOf(run, delivery));
}

/** What the contracts revert with. */
function revertDataOf({ execution }: GasRun, { steps }: Delivery): Hex {
  if (execution.kind === "done") return "0x";
  const { code, step = 0 } = execution.refusal;
  const reason = errorOf(code);
  return steps.length === 1
    ? reason
    : encodeErrorResult({ abi: handlerV2Abi, errorName: "BatchCallFailed", args: [BigInt(step), reason] });
}

function errorOf(code: RefusalCode): Hex {
  if (code === "handler_replaced") {
    return encodeErrorResult({ abi: evmHostAbi, errorName: "UnauthorizedAction" });
  }
  if (code === "unknown_authority_set") return toFunctionSelector("function UnknownAuthoritySet()");
  const found = Object.entries(errorNames).find(([name]) => name === code)?.[1];
  return found === undefined ? "0x" : encodeErrorResult({ abi: handlerV2Abi, errorName: found });
}

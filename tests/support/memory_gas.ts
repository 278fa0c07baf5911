/**
 * Gas of handler calls on an EVM chain in memory: call data with its floor, what the handler and the host take, modules
 * with behaviour, and what running out of gas does. Sources: ethereum/EIPs: EIPS/eip-7623.md, EIPS/eip-150.md;
 * polytope-labs/hyperbridge: evm/src/core/{HandlerV2,EvmHost}.sol; docs/protocol/evm-host.md section 9 (measured).
 */
import type { Delivery, RefusalCode } from "../../src/core/chains/submission.ts";
import type { Hash256, Hex } from "../../src/core/encoding/bytes.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { type Execution, type HostRules, type HostState, tryDelivery } from "./memory_host.ts";

/** What a receiving module does. */
export interface Module {
  /** Gas of its callback; `all`: whatever it gets, `most`: all but what the host needs to continue. */
  readonly gas: bigint | "all" | "most";
  /** Its callback fails, or leaves the host so little that the whole transaction fails. */
  readonly act: "ok" | "fail" | "starve";
  /** By what it knows a simulation, where it takes little gas and does not fail. */
  readonly knows?: "everything" | "number" | "time" | "price" | "balance" | "gas";
}

/** Where a call runs: in a block, or in a node's simulation as far as contracts can tell. */
export interface CallTerms {
  readonly data: Hex;
  readonly gasLimit: bigint;
  /** What contracts see of price, balance, block number and time. */
  readonly gasPriceWei: bigint;
  readonly balanceWei: bigint;
  readonly number: bigint;
  readonly nowSec: bigint;
  readonly isBlock: boolean;
}

/** The newest block before the call, which a module may have noted. */
export interface NotedBlock {
  readonly height: bigint;
  readonly timeSec: bigint;
}

/** One call of the host for one message. */
export interface DispatchRun {
  readonly message: Message;
  readonly gasUsed: bigint;
  readonly isDone: boolean;
}

/** One step of a call. */
export interface StepRun {
  readonly gasUsed: bigint;
  readonly dispatches: readonly DispatchRun[];
}

/** What a call did. */
export interface GasRun {
  readonly execution: Execution;
  /** What is paid for. */
  readonly gasUsed: bigint;
  readonly steps: readonly StepRun[];
  /** It ran out of gas as a whole. */
  readonly isOutOfGas: boolean;
}

/** Largest gas limit of a transaction (EIP-7825). */
export const MAX_TRANSACTION_GAS = 1n << 24n;

const TRANSACTION_GAS = 21_000n;
const ZERO_BYTE_GAS = 4n;
const BYTE_GAS = 16n;
const FLOOR_TOKEN_GAS = 10n;
/** What the handler takes for a step, for an item of its proof, and for each step of a batch. */
const STEP_GAS = 38_000n;
const BATCH_STEP_GAS = 4_000n;
/** What the host takes before and after the module's callback, and for each byte that it hands on. */
const BEFORE_MODULE_GAS = 62_000n;
const AFTER_MODULE_GAS = 8_000n;
const BODY_BYTE_GAS = 6n;
/** Gas of a verified consensus proof, beside its bytes. */
const PROOF_GAS = 300_000n;
/** A module that behaves takes this. */
export const PLAIN_MODULE_GAS = 12_000n;
/** A balance and a gas limit that no transaction has. */
const RICH_WEI = 10n ** 21n;
const WIDE_GAS = 15_000_000n;

/** Gas that call data costs: by the byte, and at least the floor. */
export function dataGas(data: Hex): { readonly intrinsic: bigint; readonly floor: bigint } {
  let zeros = 0;
  for (let at = 2; at < data.length; at += 2) {
    if (data.charCodeAt(at) === 48 && data.charCodeAt(at + 1) === 48) zeros++;
  }
  const others = BigInt((data.length - 2) / 2 - zeros);
  const tokens = BigInt(zeros) + 4n * others;
  return {
    intrinsic: TRANSACTION_GAS + ZERO_BYTE_GAS * BigInt(zeros) + BYTE_GAS * others,
    floor: TRANSACTION_GAS + FLOOR_TOKEN_GAS * tokens,
  };
}

/** What a call of the handler does in that state, and what it costs. Nothing is written. */
export function runCall(
  rules: HostRules & { readonly moduleOf: (message: Message) => Module },
  { state, noted }: { readonly state: HostState; readonly noted: NotedBlock },
  { delivery, terms }: { readonly delivery: Delivery; readonly terms: CallTerms },
): GasRun {
  const { intrinsic, floor } = dataGas(terms.data);
  const paid = (gas: bigint): bigint => gas > floor ? gas : floor;
  const execution = tryDelivery({ ...rules, failing: new Set() }, state, delivery, terms.nowSec);
  const refusal = execution.kind === "refused" ? execution.refusal : undefined;
  // The floor has to be within the limit, and is not taken from what the call may use.
  const machine = new Machine(terms.gasLimit < floor ? 0n : terms.gasLimit - intrinsic);
  const steps: StepRun[] = [];
  const isBatch = delivery.steps.length > 1;
  const seen = new Set<Hash256>();
  const stop = (isOutOfGas: boolean): GasRun => {
    const detail = isOutOfGas ? "out of gas" : refusal?.detail ?? "reverted";
    const code: RefusalCode = isOutOfGas ? "unspecified" : refusal?.code ?? "unspecified";
    return {
      execution: { kind: "refused", refusal: { code, detail, step: steps.length } },
      gasUsed: isOutOfGas ? terms.gasLimit : paid(intrinsic + machine.used),
      steps,
      isOutOfGas,
    };
  };
  for (const [index, step] of delivery.steps.entries()) {
    const before = machine.used;
    const dispatches: DispatchRun[] = [];
    if (!machine.take((isBatch ? BATCH_STEP_GAS : 0n) + STEP_GAS)) return stop(true);
    const isRefused = refusal !== undefined && refusal.step === index;
    if (step.kind === "consensus") {
      if (!machine.take(isRefused ? PROOF_GAS / 2n : PROOF_GAS)) return stop(true);
      if (isRefused) return stop(false);
    } else {
      // Everything but a receipt is looked at before the first message is handed on.
      if (isRefused && refusal.code !== "duplicate") return stop(false);
      for (const message of step.messages) {
        const key = toReceiptKey(message);
        if (state.receipts.has(key) || seen.has(key)) return stop(false);
        seen.add(key);
        const dispatched = dispatch(machine, message, { module: rules.moduleOf(message), terms, noted });
        if (dispatched === undefined) return stop(true);
        dispatches.push(dispatched);
      }
    }
    steps.push({ gasUsed: machine.used - before, dispatches });
  }
  const handled = steps.flatMap(({ dispatches }) => dispatches.map(({ isDone }) => isDone));
  return {
    execution: { kind: "done", handled },
    gasUsed: paid(intrinsic + machine.used),
    steps,
    isOutOfGas: false,
  };
}

/** Gas of a running transaction. */
class Machine {
  used = 0n;
  constructor(readonly limit: bigint) {}

  get left(): bigint {
    return this.limit - this.used;
  }

  take(gas: bigint): boolean {
    if (gas > this.left) return false;
    this.used += gas;
    return true;
  }
}

/** All but a 64th, which a caller keeps. */
function handedOn(gas: bigint): bigint {
  return gas - gas / 64n;
}

/** Hands a message to its module; `undefined`: the whole transaction runs out of gas. */
function dispatch(
  machine: Machine,
  message: Message,
  { module, terms, noted }: {
    readonly module: Module;
    readonly terms: CallTerms;
    readonly noted: NotedBlock;
  },
): DispatchRun | undefined {
  const before = machine.used;
  const host = handedOn(machine.left);
  const ownGas = BEFORE_MODULE_GAS + BODY_BYTE_GAS * BigInt(bytesOf(message));
  if (host < ownGas) return undefined;
  const given = handedOn(host - ownGas);
  const isPlain = module.knows !== undefined && knowsSimulation(module.knows, terms, noted);
  const { gas, act }: Module = isPlain ? { gas: PLAIN_MODULE_GAS, act: "ok" } : module;
  if (act === "starve") return undefined;
  const wanted = gas === "all" ? given : gas === "most" ? given - lowest(given, 200_000n) : gas;
  const used = wanted < given ? wanted : given;
  const isDone = act === "ok" && wanted <= given && gas !== "all";
  if (host - ownGas - used < AFTER_MODULE_GAS) return undefined;
  machine.used += ownGas + used + AFTER_MODULE_GAS;
  return { message, gasUsed: machine.used - before, isDone };
}

function lowest(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** True where a module takes itself to be in a simulation. */
function knowsSimulation(
  by: NonNullable<Module["knows"]>,
  { isBlock, number, nowSec, gasPriceWei, balanceWei, gasLimit }: CallTerms,
  noted: NotedBlock,
): boolean {
  switch (by) {
    case "everything":
      return !isBlock;
    case "number":
      return number <= noted.height;
    case "time":
      return nowSec <= noted.timeSec;
    case "price":
      return gasPriceWei === 0n;
    case "balance":
      return balanceWei >= RICH_WEI;
    case "gas":
      return gasLimit >= WIDE_GAS;
  }
}

/** Bytes that a message hands to its module. */
export function bytesOf(message: Message): number {
  if (message.kind === "post") return message.request.body.length;
  if (message.kind === "get") return 0;
  return message.response.values.reduce((sum, { value }) => sum + (value?.length ?? 0) + 64, 0);
}

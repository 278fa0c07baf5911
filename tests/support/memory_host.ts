/**
 * The rules of an ISMP host in memory: what it stores, what it takes, and why it refuses.
 * Sources: polytope-labs/hyperbridge: evm/src/core/HandlerV2.sol, modules/ismp/core/src/handlers.rs.
 */
import type { ChainEvent, EventPosition } from "../../src/core/chains/reads.ts";
import type { MessageProof } from "../../src/core/chains/proofs.ts";
import type { Delivery, Refusal, RefusalCode } from "../../src/core/chains/submission.ts";
import { fromHex, type Hash256, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { type Address, toAddress } from "../../src/core/evm/address.ts";
import { abiEncodePost, type Message } from "../../src/core/ismp/message.ts";
import { type StateMachineId, stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import { findDestination, toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { type AcceptedProofs, takeProof } from "./memory_consensus.ts";

/** A commitment of a counterparty that the host stores. */
export interface StoredCommitment {
  readonly root: Hash256;
  readonly updatedAtSec: bigint;
}

/** What the host knows of one counterparty. */
export interface Counterparty {
  readonly latest: bigint;
  readonly heights: ReadonlyMap<bigint, StoredCommitment>;
}

/** Everything that a block may change. Maps are copied before a block writes to them. */
export interface HostState {
  /** Messages that left here, with their place in the order of leaves. */
  readonly sent: Map<Hash256, bigint>;
  /** Who delivered which request. */
  readonly receipts: Map<Hash256, Uint8Array>;
  readonly counterparties: Map<string, Counterparty>;
  readonly nonces: Map<string, bigint>;
  /** What accounts have spent for gas, wei; known where transactions have call data. */
  readonly spentWei: Map<string, bigint>;
  /** Fee of each request that left here, units of the fee token. */
  readonly fees: Map<Hash256, bigint>;
  /** Authority set of the client of the hub; `undefined`: the host has another client. */
  setId: bigint | undefined;
  /** On the hub: the consensus proofs that it accepted. */
  readonly proofs: AcceptedProofs;
  /** On the hub: accounts of relayers. */
  readonly accounts: RelayerAccounts;
  /** On the hub: bytes that senders may still send, by lower-case hex; the others are not limited. */
  readonly bandwidth: Map<string, bigint>;
  /** On EVM chains: the one contract from which the host takes messages. */
  handler: Address;
  isFrozen: boolean;
}

/** The handler of every host until governance replaces it. */
const FIRST_HANDLER = toAddress(`0x${"a1".repeat(20)}`);

/** The handler that governance puts in the place of another one. */
export function handlerAfter(handler: Address): Address {
  return toAddress(toHex(keccak256(fromHex(handler)).slice(0, 20)));
}

/** What the hub keeps for relayers. */
export interface RelayerAccounts {
  /** `Relayer.Fees` and `Relayer.Nonce`, by chain and address. */
  readonly balances: Map<string, bigint>;
  readonly nonces: Map<string, bigint>;
  /** Requests whose fee was claimed. */
  readonly claimed: Set<Hash256>;
  /** Rewards that were paid, by name. */
  readonly rewarded: Set<string>;
  /** Payments made so far, which number them. */
  payments: bigint;
}

/** What makes one host differ from another. */
export interface HostRules {
  readonly id: StateMachineId;
  readonly family: "evm" | "substrate";
  /** True for the hub, which sends on what it takes for others. */
  readonly isHub: boolean;
  readonly challengePeriodSec: bigint;
  /** Receiving modules that fail. */
  readonly failing: ReadonlySet<Hash256>;
  /** Pairs of messages whose modules fail only when both are in one delivery. */
  readonly quarrels: readonly (readonly [Hash256, Hash256])[];
}

/** What a delivery would do. */
export type Execution =
  | { readonly kind: "done"; readonly handled: readonly boolean[] }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** A host without any memory. */
export function emptyState(): HostState {
  return {
    sent: new Map(),
    receipts: new Map(),
    counterparties: new Map(),
    nonces: new Map(),
    spentWei: new Map(),
    fees: new Map(),
    setId: undefined,
    proofs: { list: [], rotations: new Map(), setId: 0n },
    accounts: {
      balances: new Map(),
      nonces: new Map(),
      claimed: new Set(),
      rewarded: new Set(),
      payments: 0n,
    },
    bandwidth: new Map(),
    handler: FIRST_HANDLER,
    isFrozen: false,
  };
}

/** A copy that may be written to. */
export function copyState(state: HostState): HostState {
  return {
    sent: new Map(state.sent),
    receipts: new Map(state.receipts),
    counterparties: new Map(state.counterparties),
    nonces: new Map(state.nonces),
    spentWei: new Map(state.spentWei),
    fees: new Map(state.fees),
    setId: state.setId,
    proofs: {
      list: [...state.proofs.list],
      rotations: new Map(state.proofs.rotations),
      setId: state.proofs.setId,
    },
    accounts: {
      balances: new Map(state.accounts.balances),
      nonces: new Map(state.accounts.nonces),
      claimed: new Set(state.accounts.claimed),
      rewarded: new Set(state.accounts.rewarded),
      payments: state.accounts.payments,
    },
    bandwidth: new Map(state.bandwidth),
    handler: state.handler,
    isFrozen: state.isFrozen,
  };
}

/** Seal of a proof: it names the block of the source and exactly these messages, in any order. */
export function sealOf(root: Hash256, messages: readonly Pick<Message, "commitment">[]): Hash256 {
  const text = [root, ...messages.map(({ commitment }) => commitment).toSorted()].join();
  return toHash256(keccak256(new TextEncoder().encode(text)));
}

/** The same proof with a broken seal. */
export function forge(proof: MessageProof): MessageProof {
  const wrong = toHash256(new Uint8Array(32).fill(0xee));
  return proof.kind === "state" ? { ...proof, proof: fromHex(wrong) } : { ...proof, items: [wrong] };
}

function sealIn(proof: MessageProof): string | undefined {
  return proof.kind === "state" ? toHex(proof.proof) : proof.items[0];
}

function refused(code: RefusalCode, step: number, detail: string = code): Execution {
  return { kind: "refused", refusal: { code, detail, step } };
}

/** What the delivery would do at the host's time `nowSec`; nothing is written. */
export function tryDelivery(
  rules: HostRules,
  state: HostState,
  delivery: Delivery,
  nowSec: bigint,
): Execution {
  const handled: boolean[] = [];
  const seen = new Set<Hash256>();
  // Consensus steps move the client for the steps behind them.
  const moved: HostState = { ...state, counterparties: new Map(state.counterparties) };
  for (const [step, part] of delivery.steps.entries()) {
    if (part.kind === "consensus") {
      const effect = takeProof(moved, part.proof, nowSec);
      if (effect.kind === "refused") return refused(effect.code, step);
      continue;
    }
    const refusal = refusalOf(rules, moved, part, nowSec, seen);
    if (refusal !== undefined) return refused(refusal, step);
    handled.push(...part.messages.map(({ commitment }) => !rules.failing.has(commitment)));
  }
  return { kind: "done", handled };
}

function refusalOf(
  rules: HostRules,
  state: HostState,
  step: Extract<Delivery["steps"][number], { kind: "messages" }>,
  nowSec: bigint,
  seen: Set<Hash256>,
): RefusalCode | undefined {
  if (state.isFrozen) return "host_frozen";
  const { height } = step.proof;
  const stored = state.counterparties.get(stateMachineIdKey(height.id))?.heights.get(height.height);
  if (stored === undefined) return "not_ready";
  const age = nowSec - stored.updatedAtSec;
  const isMatured = rules.family === "evm" ? age >= rules.challengePeriodSec : age > rules.challengePeriodSec;
  if (rules.challengePeriodSec > 0n && !isMatured) return "not_ready";
  for (const message of step.messages) {
    const request = message.kind === "getResponse" ? message.response.get : message.request;
    if (!rules.isHub && findDestination(message) !== rules.id.stateMachine) return "bad_destination";
    if (rules.isHub && request.source !== height.id.stateMachine) return "bad_destination";
    const isLate = request.timeoutTimestampSec !== 0n && nowSec >= request.timeoutTimestampSec;
    if (isLate && message.kind !== "getResponse") return "timed_out";
  }
  if (sealIn(step.proof) !== sealOf(stored.root, step.messages)) return "bad_proof";
  for (const message of step.messages) {
    const key = toReceiptKey(message);
    if (state.receipts.has(key) || seen.has(key)) return "duplicate";
    seen.add(key);
  }
  if (!isBandwidthEnough(state, step.messages)) return "unspecified";
  const here = new Set(step.messages.map(({ commitment }) => commitment));
  if (rules.quarrels.some(([one, other]) => here.has(one) && here.has(other))) return "module_failed";
  // An EVM host swallows the failure of a module; a Substrate host refuses the whole batch.
  if (
    rules.family === "substrate" && step.messages.some((message) => rules.failing.has(message.commitment))
  ) {
    return "module_failed";
  }
  return undefined;
}

/** True when every sender has bought what its messages of the step take together. */
function isBandwidthEnough(state: HostState, messages: readonly Message[]): boolean {
  const left = new Map(state.bandwidth);
  return messages.every((message) => spend(left, message));
}

function spend(left: Map<string, bigint>, message: Message): boolean {
  if (message.kind !== "post") return true;
  const sender = toHex(message.request.from);
  const bytes = left.get(sender);
  if (bytes === undefined) return true;
  const rest = bytes - BigInt(abiEncodePost(message.request).length);
  left.set(sender, rest);
  return rest >= 0n;
}

/** Writes what a delivery that {@link tryDelivery} takes does; returns the events. */
export function applyDelivery(
  rules: HostRules,
  state: HostState,
  delivery: Delivery,
  by: { readonly relayer: Uint8Array; readonly at: EventPosition; readonly nowSec: bigint },
): readonly ChainEvent[] {
  const events: ChainEvent[] = [];
  for (const step of delivery.steps) {
    if (step.kind === "consensus") {
      const effect = takeProof(state, step.proof, by.nowSec);
      if (effect.kind !== "moved") continue;
      if (rules.family === "evm") {
        const { source, height } = effect;
        events.push({ kind: "updated", stateMachine: source, id: undefined, height, at: by.at });
      }
      if (effect.newSetId === undefined) continue;
      events.push({ kind: "newEpoch", setId: effect.newSetId, relayer: by.relayer, at: by.at });
      continue;
    }
    for (const message of step.messages) {
      if (rules.failing.has(message.commitment)) continue;
      const commitment = toReceiptKey(message);
      spend(state.bandwidth, message);
      state.receipts.set(commitment, by.relayer);
      const of = message.kind === "post" ? "post" : "get";
      events.push({ kind: "handled", of, commitment, relayer: by.relayer, at: by.at });
      if (rules.isHub && findDestination(message) !== rules.id.stateMachine) {
        state.sent.set(message.commitment, BigInt(state.sent.size));
        events.push({ kind: "message", message, at: by.at });
      }
    }
  }
  return events;
}

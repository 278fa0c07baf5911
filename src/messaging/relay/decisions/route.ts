/**
 * Decides what one leg does with one message it read: deliver, hold, reject, or leave to another leg. Pure.
 * Rules: docs/protocol/messaging.md section 8.1; polytope-labs/hyperbridge:
 * tesseract/messaging/messaging (filtering of events).
 */
import { recover } from "../../../core/encoding/coded_error.ts";
import { fromHex, type Hex, toHex } from "../../../core/encoding/bytes.ts";
import type { GetRequest, Message, PostRequest } from "../../../core/ismp/message.ts";
import { IdentifierError, parseStateMachine, type StateMachine } from "../../../core/ismp/state_machine.ts";
import type { NewMessage } from "../../ledger/ledger.ts";
import { NEVER_MS } from "./retry_schedule.ts";

/** Input of the decision, besides the message. */
export interface RouteInput {
  readonly hub: StateMachine;
  /** Chain on which this leg reads messages. */
  readonly source: StateMachine;
  /** Chain to which this leg delivers. */
  readonly target: StateMachine;
  /** Sending modules whose messages are delivered, lower-case hex; `undefined`: all. */
  readonly moduleFilter: ReadonlySet<Hex> | undefined;
  /** Chains that are configured, i.e. whose fees can be read. */
  readonly configured: ReadonlySet<StateMachine>;
  /** Modules of the hub whose requests the hub rewards, lower-case hex; `undefined`: could not be read yet. */
  readonly listedModules: Pick<ReadonlySet<Hex>, "has"> | undefined;
  /** True when the target accepts responses to GET requests as messages: EVM hosts do. */
  readonly takesResponses: boolean;
  /** The target's own clock, Unix seconds. */
  readonly targetNowSec: bigint;
  /** True for a request of the hub that pays out our fees; of none when absent. */
  readonly isOwnPayment?: ((commitment: Hex) => boolean) | undefined;
  /** What the operator holds; nothing when absent. */
  readonly operatorHolds?: readonly HoldSubject[] | undefined;
}

/** Reason why a message of this leg is never delivered. */
export type RejectReason = "module_filter" | "hub_originated" | "wrong_source" | "bad_destination";

/**
 * Reason why a message waits: for a configured source, a configured chain to read, the hub's list, its timeout, or the
 * operator.
 */
export type RouteHold =
  | "no_fee_source"
  | "held_by_operator"
  | "unconfigured_chain"
  | "waiting_for_update"
  | "too_close_to_timeout";

/** Decision on one message. */
export type Route =
  | { readonly kind: "deliver" }
  /** Kept, and routed again later. */
  | { readonly kind: "hold"; readonly reason: RouteHold }
  | { readonly kind: "reject"; readonly reason: RejectReason }
  | { readonly kind: "timedOut" }
  /** Not a message of this leg: another leg carries it. */
  | { readonly kind: "ignore" };

/** Time for a delivery to be included, seconds; a message that expires sooner is not worth its gas. */
const INCLUSION_MARGIN_SEC = 60n;

/** Finds the final destination of a message. */
export function findDestination(message: Message): StateMachine {
  return message.kind === "getResponse" ? message.response.get.source : message.request.dest;
}

/** Finds the request that a message is or responds to. */
export function toRequest(message: Message): PostRequest | GetRequest {
  return message.kind === "getResponse" ? message.response.get : message.request;
}

/** Finds the module that a message is delivered to: a response goes to the module that asked. */
export function toReceiver(message: Message): Uint8Array {
  return message.kind === "post" ? message.request.to : toRequest(message).from;
}

/** Finds the commitment under which receipts of the message are stored. */
export function toReceiptKey(message: Message): Hex {
  return message.kind === "getResponse" ? message.requestCommitment : message.commitment;
}

/** True once the chain's clock has reached the timeout; 0 never times out. */
export function isTimedOut(timeoutSec: bigint, nowSec: bigint): boolean {
  return timeoutSec !== 0n && nowSec >= timeoutSec;
}

/** Routes one message of one leg. */
export function route(message: Message, facts: RouteInput): Route {
  const routed = facts.target === facts.hub ? routeToHub(message, facts) : routeToChain(message, facts);
  const isHeld = routed.kind === "deliver" &&
    facts.operatorHolds?.some((subject) => isSubjectOf(subject, message)) === true;
  return isHeld ? { kind: "hold", reason: "held_by_operator" } : routed;
}

/** True when the operator means this message: by its sender, its receiver, or the chains of its request. */
function isSubjectOf(subject: HoldSubject, message: Message): boolean {
  const request = toRequest(message);
  if (subject.kind === "module") {
    const receivers = "to" in request ? [request.to] : [];
    return [request.from, ...receivers].some((module) => toHex(module) === subject.module);
  }
  return (subject.source ?? request.source) === request.source &&
    (subject.dest ?? request.dest) === request.dest;
}

function routeToHub(message: Message, facts: RouteInput): Route {
  if (message.kind === "getResponse") return { kind: "ignore" };
  if (message.request.source !== facts.source) return { kind: "reject", reason: "wrong_source" };
  if (!passesModuleFilter(message, facts)) return { kind: "reject", reason: "module_filter" };
  const timing = routeByTime(message.request.timeoutTimestampSec, facts.targetNowSec);
  if (timing.kind !== "deliver") return timing;
  if (message.kind === "get" && !facts.configured.has(message.request.dest)) {
    return { kind: "hold", reason: "unconfigured_chain" };
  }
  return timing;
}

function routeToChain(message: Message, facts: RouteInput): Route {
  if (message.kind === "get" || findDestination(message) !== facts.target) return { kind: "ignore" };
  const isHubPost = message.kind === "post" && message.request.source === facts.hub;
  if (isHubPost && facts.isOwnPayment?.(message.commitment) === true) return { kind: "deliver" };
  if (!passesModuleFilter(message, facts)) return { kind: "reject", reason: "module_filter" };
  // The hub enforced the timeout when it created the response, which may be delivered at any time.
  if (message.kind === "getResponse") {
    return facts.takesResponses ? { kind: "deliver" } : { kind: "reject", reason: "bad_destination" };
  }
  const { request } = message;
  if (request.source === facts.hub) {
    const listing = routeByList(request, facts);
    if (listing !== undefined) return listing;
  } else if (!facts.configured.has(request.source)) {
    return isTimedOut(request.timeoutTimestampSec, facts.targetNowSec)
      ? { kind: "timedOut" }
      : { kind: "hold", reason: "no_fee_source" };
  }
  return routeByTime(request.timeoutTimestampSec, facts.targetNowSec);
}

/**
 * Routes requests of the hub itself: delivered when the operator or the hub lists their module; `undefined`: it is
 * listed.
 */
function routeByList(request: PostRequest, facts: RouteInput): Route | undefined {
  if (facts.moduleFilter !== undefined || facts.listedModules?.has(toHex(request.from)) === true) {
    return undefined;
  }
  if (facts.listedModules !== undefined) return { kind: "reject", reason: "hub_originated" };
  return { kind: "hold", reason: "waiting_for_update" };
}

function passesModuleFilter(message: Message, facts: RouteInput): boolean {
  return facts.moduleFilter === undefined || facts.moduleFilter.has(toHex(toRequest(message).from));
}

function routeByTime(timeoutSec: bigint, nowSec: bigint): Route {
  if (isTimedOut(timeoutSec, nowSec)) return { kind: "timedOut" };
  if (timeoutSec !== 0n && timeoutSec - nowSec < INCLUSION_MARGIN_SEC) {
    return { kind: "hold", reason: "too_close_to_timeout" };
  }
  return { kind: "deliver" };
}

/** Decides the state of a row by the route of its message; `undefined` for messages of other legs. */
export function decideState(
  decided: Route,
): Pick<NewMessage, "state" | "reason" | "nextAttemptAtMs"> | undefined {
  if (decided.kind === "ignore") return undefined;
  // What has timed out ends once its receipt was read: see receipts.ts.
  if (decided.kind === "deliver" || decided.kind === "timedOut") return { state: "seen" };
  const { reason } = decided;
  // Routed again in every round: the hub's list is not read yet, or may have been read wrongly.
  if (reason === "waiting_for_update" || reason === "hub_originated") return { state: "held", reason };
  if (decided.kind === "reject") return { state: "rejected", reason };
  return { state: "held", reason, nextAttemptAtMs: NEVER_MS };
}

/**
 * What an operator holds and releases. As text a module is `0x...`, a route `EVM-1:EVM-56`, with `*` for any chain.
 */
export type HoldSubject =
  /** Sent or received by this module, lower-case hex. */
  | { readonly kind: "module"; readonly module: Hex }
  /** Requests from one chain to another; `undefined`: any. */
  | {
    readonly kind: "route";
    readonly source: StateMachine | undefined;
    readonly dest: StateMachine | undefined;
  };

/** Parses a subject; `->` is accepted for the colon. `undefined`: the text is none. */
export function parseHoldSubject(text: string): HoldSubject | undefined {
  if (/^0x(?:[0-9a-fA-F]{2})+$/.test(text)) return { kind: "module", module: toHex(fromHex(text)) };
  const ends = text.split(/\s*(?::|->)\s*/);
  const [source, dest] = ends.map(parseEnd);
  if (ends.length !== 2 || source === undefined || dest === undefined) return undefined;
  return { kind: "route", source: source.chain, dest: dest.chain };
}

/** Formats a subject; the same subject always has the same text. */
export function formatHoldSubject(subject: HoldSubject): string {
  return subject.kind === "module" ? subject.module : `${subject.source ?? "*"}:${subject.dest ?? "*"}`;
}

function parseEnd(text: string): { readonly chain: StateMachine | undefined } | undefined {
  if (text === "*") return { chain: undefined };
  return recover(IdentifierError, () => ({ chain: parseStateMachine(text) }), () => undefined);
}

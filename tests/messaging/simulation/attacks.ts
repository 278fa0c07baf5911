/**
 * Somebody with a budget who wants us to lose money: what the seed lets them do, what they pay for it, and how much of
 * it we may lose. Start reading at {@link attackedPlan}.
 */
import type { Draw } from "../../support/draw.ts";
import type { Module } from "../../support/memory_gas.ts";
import type { MessagePlan, Plan } from "./plan.ts";

/** Ways to make us lose money. */
export const attackKinds = [
  /** Modules that fail in blocks only, each of a fresh pair. */
  "failing",
  /** Modules that make the whole transaction revert in blocks only. */
  "spoiling",
  /** Modules that use all the gas that they get, in blocks only. */
  "burning",
  /** The same, also in simulations. */
  "burning openly",
  /** Bodies of up to 120 kB for one unit of fee. */
  "large",
  /** Timeouts that end while we deliver. */
  "short",
  /** Traces that no node shows. */
  "untraceable",
  /** Somebody delivers the last message of a batch of ours just before it. */
  "front-running",
  /** The same from an address of its own each time. */
  "front-running by many",
] as const;

/** Name of an attack. */
export type AttackKind = typeof attackKinds[number];

/** One attack. */
export interface AttackPlan {
  readonly kind: AttackKind;
  /** By what its modules know a simulation. */
  readonly knows: NonNullable<Module["knows"]>;
  readonly messages: readonly MessagePlan[];
  /** Percent of our batches that are run ahead of. */
  readonly frontRunPercent: number;
}

const knowledge = ["everything", "number", "time", "price", "balance", "gas"] as const;

/** Dollars x 10^18. */
const DOLLAR = 10n ** 18n;
/** Gas with which a request is sent, beside its bytes. */
const DISPATCH_GAS = 140_000n;

/** The same plan with an attack in it; in most seeds nothing else goes wrong, so that a loss has one cause. */
export function attackedPlan(plan: Plan, draw: Draw): Plan {
  const kind = attackKinds[draw.between(0, attackKinds.length - 1)] ?? "failing";
  const knows = knowledge[draw.between(0, knowledge.length - 1)] ?? "number";
  const [first, second] = plan.chains;
  // Requests leave a cheap chain, and arrive at one where gas costs something.
  const chains = [
    { ...first, priceWei: draw.chance(50) ? 2n * 10n ** 7n : first.priceWei },
    { ...second, dataWeiPerByte: draw.chance(20) ? 10n ** 11n : 0n },
  ] as const;
  const honest = Array.from({ length: draw.between(6, 24) }, () => honestMessage(draw));
  const isRace = kind.startsWith("front-running");
  const messages = isRace
    ? []
    : Array.from({ length: draw.between(2, 20) }, () => hostile(draw, kind, knows));
  return {
    ...plan,
    chains,
    minimumProfitPercent: draw.between(1, 50),
    settings: { ...plan.settings, retryFrequencySec: 60, hasModuleFilter: false },
    maximumDailyLoss: draw.chance(10) ? draw.between(5, 40) : undefined,
    messages: honest,
    attack: { kind, knows, messages, frontRunPercent: isRace ? draw.between(10, 100) : 0 },
    troubles: draw.chance(75) ? [] : plan.troubles,
    faultPercent: draw.chance(50) ? 0 : plan.faultPercent,
    reorgPercent: 0,
    hasCompetitor: false,
    calmAfterSec: 300,
  };
}

/** A message that pays for itself, also where its module takes much gas or its body is large. */
function honestMessage(draw: Draw): MessagePlan {
  const bodyBytes = draw.chance(10) ? draw.between(1_000, 60_000) : draw.between(3, 600);
  const gas = draw.chance(10) ? BigInt(draw.between(100, 3_000)) * 1_000n : undefined;
  const cents = 100 + Math.ceil(bodyBytes / 50) + Number(gas ?? 0n) / 2_000;
  return {
    atSec: draw.between(1, 240),
    kind: "post",
    from: draw.chance(80) ? 0 : 1,
    fee: BigInt(Math.ceil(cents * draw.between(15, 60) / 10)) * DOLLAR / 100n,
    raisedAfterSec: undefined,
    timeoutSec: undefined,
    bodyBytes,
    ...gas === undefined ? {} : { module: { gas, act: "ok" } },
  };
}

function hostile(draw: Draw, kind: AttackKind, knows: NonNullable<Module["knows"]>): MessagePlan {
  const usual = {
    atSec: draw.between(10, 270),
    kind: "post",
    from: 0,
    fee: BigInt(draw.between(50, 300)) * DOLLAR / 100n,
    raisedAfterSec: undefined,
    timeoutSec: undefined,
    isHostile: true,
    pair: draw.chance(80) ? "fresh" : "own",
  } as const;
  switch (kind) {
    case "failing":
      return { ...usual, module: { gas: BigInt(draw.between(10, 900)) * 1_000n, act: "fail", knows } };
    case "spoiling":
      return { ...usual, module: { gas: "all", act: "starve", knows } };
    case "burning":
      return { ...usual, module: { gas: draw.chance(50) ? "all" : "most", act: "fail", knows } };
    case "burning openly":
      return { ...usual, module: { gas: draw.chance(50) ? "all" : "most", act: "ok" } };
    case "large":
      return { ...usual, fee: 1n, bodyBytes: draw.between(5_000, 120_000) };
    case "short":
      return { ...usual, timeoutSec: draw.between(60, 150) };
    default:
      return { ...usual, isUntraceable: true };
  }
}

/** What sending a message costs whoever sends it, dollars x 10^18: gas and fee. */
export function spentOn({ bodyBytes = 3, fee }: MessagePlan, priceWei: bigint, price27: bigint): bigint {
  const gas = DISPATCH_GAS + 50n * BigInt(bodyBytes);
  return fee + gas * priceWei * price27 / 10n ** 27n;
}

/** Most that we may lose for each dollar that an attack costs, by its kind, beside {@link LOSS_ALLOWED}. */
export const lossBounds: Readonly<Record<AttackKind, number>> = {
  failing: 1,
  spoiling: 1,
  burning: 1,
  "burning openly": 0.1,
  large: 0.1,
  short: 0.5,
  untraceable: 0.1,
  // The first race costs us a whole batch, and one message whoever runs it; a seed may have no other.
  "front-running": 25,
  "front-running by many": 25,
};

/** What may be lost for other reasons, dollars. */
export const LOSS_ALLOWED = 1;

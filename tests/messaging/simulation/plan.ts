/** What one seed holds: how the chains are, what is sent, and what goes wrong when. Everything is drawn from the seed. */
import { Draw } from "../../support/draw.ts";
import { type Module, PLAIN_MODULE_GAS } from "../../support/memory_gas.ts";
import { attackedPlan, type AttackPlan } from "./attacks.ts";
import { type LieKind, lieKinds } from "./lies.ts";

/** How a chain beside the hub is. */
export interface ChainPlan {
  readonly blockSec: number;
  readonly finalityLag: bigint;
  /** Price of gas, wei. */
  readonly priceWei: bigint;
  /** What publishing a byte costs, wei; 0: it is no L2. */
  readonly dataWeiPerByte: bigint;
  /** How it learns heights of the hub: by itself, or by proofs that travel with messages. */
  readonly driver: "updates" | "proofs";
}

/** A message that leaves at some time. */
export interface MessagePlan {
  readonly atSec: number;
  readonly kind: "post" | "get";
  /** 0: from the first chain to the second; 1: back. */
  readonly from: 0 | 1;
  /** Units of the fee token, 18 decimals. */
  readonly fee: bigint;
  /** Somebody adds to the fee that much later. */
  readonly raisedAfterSec: number | undefined;
  /** Seconds until it times out; `undefined`: never. */
  readonly timeoutSec: number | undefined;
  /** Its trace is too large, or refused. */
  readonly isUntraceable?: boolean;
  /** Bytes of its body; 3 when absent. */
  readonly bodyBytes?: number;
  /** What its module does; a plain one when absent. */
  readonly module?: Module | undefined;
  /** Sender and receiver: two that nobody has met, or those of an attack; absent: the usual ones. */
  readonly pair?: "fresh" | "own";
  /** Part of an attack. */
  readonly isHostile?: boolean;
}

/** How an endpoint misbehaves. */
export type EndpointHow =
  | { readonly how: "lags"; readonly blocks: number }
  | { readonly how: "stands" }
  | { readonly how: "status"; readonly status: number }
  | { readonly how: "error"; readonly code: number; readonly message: string }
  | { readonly how: "lies"; readonly about: LieKind; readonly size: number };

/** A time in which an endpoint misbehaves. */
export interface EndpointPhase {
  readonly kind: "endpoint";
  readonly chain: 0 | 1;
  readonly endpoint: 0 | 1;
  readonly atSec: number;
  readonly forSec: number;
  readonly does: EndpointHow;
}

/** Something that happens to a chain or to the program. */
export type Trouble =
  | { readonly kind: "kill"; readonly atSec: number; readonly downSec: number }
  | { readonly kind: "stop"; readonly atSec: number; readonly downSec: number }
  /**
   * Killed, and its database is gone. With `whilePending` not before the pool of that chain holds something, so that
   * a transaction is on its way of which the next database knows nothing.
   */
  | {
    readonly kind: "lose";
    readonly atSec: number;
    readonly downSec: number;
    readonly whilePending?: 0 | 1 | 2 | undefined;
  }
  /**
   * Dies, or is asked to end, at one of its next steps. With `lostSteps` it dies, and the next process gets the
   * database as it was that many steps before: from a replica that is behind.
   */
  | {
    readonly kind: "fuse";
    readonly steps: number;
    readonly downSec: number;
    readonly isGentle?: boolean;
    readonly lostSteps?: number | undefined;
  }
  /** Blocks have room only for transactions that pay `percent` of today's price. */
  | { readonly kind: "rush"; readonly chain: 0 | 1; readonly atSec: number; readonly percent: number }
  /** No endpoint of the chain answers. */
  | {
    readonly kind: "outage";
    readonly chain: 0 | 1 | 2;
    readonly atSec: number;
    readonly forSec: number;
  }
  /**
   * Governance replaces the host's handler; with `whilePending` just when something waits in the chain's pool, which
   * may be a transaction of ours to the old one.
   */
  | {
    readonly kind: "newHandler";
    readonly chain: 0 | 1;
    readonly atSec: number;
    readonly whilePending: boolean;
  }
  /** Somebody uses a nonce of our account. */
  | { readonly kind: "foreignNonce"; readonly chain: 0 | 1; readonly atSec: number }
  /** Gas costs `times` as much for a while, and blocks have room only for what pays that. */
  | {
    readonly kind: "spike";
    readonly chain: 0 | 1;
    readonly atSec: number;
    readonly forSec: number;
    readonly times: number;
  }
  /** Half of the proofs that the chain's endpoint makes do not verify. */
  | {
    readonly kind: "badProofs";
    readonly chain: 0 | 1 | 2;
    readonly atSec: number;
    readonly forSec: number;
  }
  /** Nodes behind one URL: half of the reads come from one that is up to `blocks` behind. */
  | {
    readonly kind: "outOfStep";
    readonly chain: 0 | 1 | 2;
    readonly atSec: number;
    readonly forSec: number;
    readonly blocks: number;
  }
  /** The hub takes nothing of the senders any more: they have used up what they paid for. */
  | { readonly kind: "bandwidth"; readonly atSec: number; readonly forSec: number }
  /** Nobody tells the price of the chain's native token. */
  | { readonly kind: "priceGap"; readonly chain: 0 | 1; readonly atSec: number; readonly forSec: number }
  /** One of the two endpoints of a chain misbehaves; the other one is in order. */
  | EndpointPhase
  /** Nothing can be written to the database. */
  | {
    readonly kind: "disk";
    readonly atSec: number;
    readonly forSec: number;
    readonly fault: "full" | "readonly";
  }
  /** The clock of the relayer's machine steps, and steps back with `forSec`. */
  | { readonly kind: "clockStep"; readonly atSec: number; readonly forSec: number; readonly bySec: number }
  /** Nodes forget what waits. */
  | { readonly kind: "forgetPool"; readonly chain: 0 | 1 | 2; readonly atSec: number };

/** What the operator has set beside the profit. */
export interface SettingsPlan {
  /** `undefined`: what does not pay is not tried again by itself. */
  readonly retryFrequencySec: number | undefined;
  /** Only the usual senders are served. */
  readonly hasModuleFilter: boolean;
  readonly hasDeliveryEndpoints: boolean;
  /** Its share of a fleet of two, of which the other one is asleep. */
  readonly fleetIndex: 0 | 1 | undefined;
  readonly gasPriceBufferPercent: number;
  /** Decimals of the fee tokens of both chains. */
  readonly decimals: readonly [number, number];
}

/** A whole seed. */
export interface Plan {
  readonly chains: readonly [ChainPlan, ChainPlan];
  readonly hubChallengeSec: bigint;
  readonly hubFinalityLag: bigint;
  readonly minimumProfitPercent: number;
  readonly settings: SettingsPlan;
  readonly hasSeparateKeys: boolean;
  /** `maximum_daily_loss`, dollars; once it is reached on a chain, nothing more arrives there. */
  readonly maximumDailyLoss: number | undefined;
  readonly messages: readonly MessagePlan[];
  /** What somebody does who wants us to lose money; absent: nothing. */
  readonly attack?: AttackPlan | undefined;
  readonly troubles: readonly Trouble[];
  /** Percent of calls that fail until {@link Plan.calmAfterSec}. */
  readonly faultPercent: number;
  /** Percent of blocks that are reorganised away until then. */
  readonly reorgPercent: number;
  /** Share of the hub's proofs that rotate its authorities, in percent. */
  readonly rotationPercent: number;
  readonly hasCompetitor: boolean;
  /** Seconds between two rounds of a worker. */
  readonly pollSec: number;
  /** From then on nothing goes wrong any more. */
  readonly calmAfterSec: number;
  /** True: a first start has no `initial_height`. */
  readonly startsFromNow?: boolean;
}

/** Dollars x 10^18. */
const DOLLAR = 10n ** 18n;

/** Draws the plan of a seed: every third one is about an attack, the others about what goes wrong by itself. */
export function planOf(seed: number): Plan {
  const plan = troubledPlan(seed);
  if (seed % LONG_EVERY === 0) return longPlan(plan, new Draw(seed ^ 0x109));
  return seed % 3 === 0 ? attackedPlan(plan, new Draw(seed ^ 0xa77)) : plan;
}

/** Of so many seeds one takes a day and longer. */
export const LONG_EVERY = 1_000;

/** The same plan over a day or two, with hundreds of messages, and with what goes wrong spread over it. */
function longPlan(plan: Plan, draw: Draw): Plan {
  const lastsSec = draw.between(20, 48) * 3_600;
  const percent = plan.minimumProfitPercent;
  return {
    ...plan,
    chains: [{ ...plan.chains[0], blockSec: 12 }, { ...plan.chains[1], blockSec: 12 }],
    messages: Array.from({ length: draw.between(100, 300) }, () => ({
      ...messagePlan(draw, percent),
      atSec: draw.between(60, lastsSec - 3_600),
    })),
    troubles: Array.from({ length: draw.between(5, 20) }, () => trouble(draw, lastsSec)),
    reorgPercent: draw.between(0, 1),
    // Every four hours, as on the live network: nobody else carries rotations to these chains.
    rotationPercent: 0.1,
    pollSec: 60,
    calmAfterSec: lastsSec,
  };
}

function troubledPlan(seed: number): Plan {
  const draw = new Draw(seed);
  const minimumProfitPercent = draw.chance(50) ? 0 : new Draw(seed ^ 0xb0b).between(1, 50);
  const calmAfterSec = draw.between(150, 300);
  return {
    chains: [chainPlan(draw), chainPlan(draw)],
    hubChallengeSec: draw.chance(30) ? 20n : 0n,
    hubFinalityLag: BigInt(draw.between(1, 3)),
    minimumProfitPercent,
    settings: settingsPlan(new Draw(seed ^ 0x5e7)),
    hasSeparateKeys: draw.chance(30),
    maximumDailyLoss: draw.chance(15) ? draw.between(1, 20) / 10 : undefined,
    messages: Array.from({ length: draw.between(3, 12) }, () => messagePlan(draw, minimumProfitPercent)),
    troubles: [
      ...Array.from({ length: draw.between(0, 7) }, () => trouble(draw, calmAfterSec)),
      ...endpointPhases(new Draw(seed ^ 0xe9d), calmAfterSec),
      ...machineTroubles(new Draw(seed ^ 0xd15c), calmAfterSec),
    ],
    faultPercent: 5,
    reorgPercent: [0, 4, 12][draw.between(0, 2)] ?? 0,
    rotationPercent: 8,
    hasCompetitor: draw.chance(50),
    pollSec: 10,
    calmAfterSec,
  };
}

function chainPlan(draw: Draw): ChainPlan {
  return {
    blockSec: 2 * draw.between(1, 6),
    finalityLag: BigInt(draw.between(1, 4)),
    priceWei: 10n ** 9n,
    dataWeiPerByte: 0n,
    driver: draw.chance(50) ? "updates" : "proofs",
  };
}

function messagePlan(draw: Draw, percent: number): MessagePlan {
  const kind = draw.chance(15) ? "get" : "post";
  const isPoor = kind === "post" && percent > 0 && draw.chance(15);
  const isRaised = kind === "post" && draw.chance(isPoor ? 60 : 15);
  return {
    atSec: draw.between(1, 120),
    kind,
    from: draw.chance(70) ? 0 : 1,
    fee: isPoor ? 1n : BigInt(draw.between(5, 20)) * DOLLAR,
    raisedAfterSec: isRaised ? draw.between(30, 200) : undefined,
    timeoutSec: draw.chance(12) ? draw.between(70, 600) : undefined,
    module: kind === "post" ? modulePlan(draw) : undefined,
    isUntraceable: kind === "post" && draw.chance(2),
  };
}

/** Some modules fail, make every transaction fail although simulations take it, or fail in blocks only. */
function modulePlan(draw: Draw): Module | undefined {
  const misbehaving: readonly Module[] = [
    { gas: PLAIN_MODULE_GAS, act: "fail" },
    { gas: "all", act: "starve", knows: "everything" },
    { gas: PLAIN_MODULE_GAS, act: "fail", knows: "everything" },
  ];
  return misbehaving.find(() => draw.chance(4));
}

/** True for a module that lets a message or a whole transaction fail. */
export function isMisbehaving(module: Module | undefined): boolean {
  return module !== undefined && module.act !== "ok";
}

function trouble(draw: Draw, calmAfterSec: number): Trouble {
  const atSec = draw.between(5, calmAfterSec - 10);
  const downSec = draw.between(1, 60);
  const chain = draw.chance(50) ? 0 : 1;
  const any = draw.chance(34) ? 2 : chain;
  const lasting = (mostSec: number): { readonly atSec: number; readonly forSec: number } => ({
    atSec,
    forSec: draw.between(10, mostSec),
  });
  const kinds: readonly (() => Trouble)[] = [
    () => ({ kind: "kill", atSec, downSec }),
    () => ({ kind: "stop", atSec, downSec }),
    () => ({ kind: "rush", chain, atSec, percent: draw.between(110, 300) }),
    () => ({ kind: "outage", chain: any, ...lasting(120) }),
    () => ({ kind: "foreignNonce", chain, atSec }),
    () => ({ kind: "forgetPool", chain: any, atSec }),
    () =>
      draw.chance(40)
        ? { kind: "lose", atSec, downSec, whilePending: draw.chance(50) ? any : undefined }
        : { kind: "forgetPool", chain: any, atSec },
    () => ({ kind: "spike", chain, ...lasting(200), times: draw.between(2, 60) }),
    () => ({ kind: "badProofs", chain: any, ...lasting(120) }),
    () => ({ kind: "outOfStep", chain: any, ...lasting(200), blocks: draw.between(1, 4) }),
    () => ({ kind: "priceGap", chain, ...lasting(200), ...draw.chance(50) ? { atSec: 0 } : {} }),
    () => ({ kind: "bandwidth", ...lasting(150) }),
    () => ({ kind: "newHandler", chain, atSec, whilePending: draw.chance(60) }),
  ];
  return kinds[draw.between(0, kinds.length + 2)]?.() ?? fuse(draw, downSec);
}

/** In some seeds the disk is full for a while, or the clock is wrong. */
function machineTroubles(draw: Draw, calmAfterSec: number): readonly Trouble[] {
  const atSec = draw.between(5, calmAfterSec - 30);
  const forSec = draw.between(5, 120);
  if (draw.chance(8)) return [{ kind: "disk", atSec, forSec, fault: draw.chance(50) ? "full" : "readonly" }];
  if (!draw.chance(8)) return [];
  const bySec = [-7_200, -600, -30, 30, 600, 7_200][draw.between(0, 5)] ?? 30;
  return [{ kind: "clockStep", atSec, forSec: draw.chance(50) ? 86_400 : forSec, bySec }];
}

function settingsPlan(draw: Draw): SettingsPlan {
  const decimals = (): number => draw.chance(30) ? 6 : 18;
  return {
    retryFrequencySec: draw.chance(15) ? undefined : draw.chance(50) ? 60 : 300,
    hasModuleFilter: draw.chance(10),
    hasDeliveryEndpoints: draw.chance(15),
    fleetIndex: draw.chance(10) ? (draw.chance(50) ? 0 : 1) : undefined,
    gasPriceBufferPercent: draw.chance(25) ? draw.between(1, 40) : 0,
    decimals: [decimals(), decimals()],
  };
}

/** Statuses and errors with which nodes, providers and gateways refuse. */
const STATUSES: readonly number[] = [
  400,
  401,
  402,
  403,
  404,
  405,
  408,
  413,
  429,
  500,
  502,
  503,
  504,
  520,
  524,
];
const ERRORS: readonly (readonly [number, string])[] = [
  [-32000, "header not found"],
  [-32000, "missing trie node"],
  [-32001, "resource not found"],
  [-32005, "daily request count exceeded"],
  [-32600, "must be authenticated"],
  [-32601, "the method does not exist/is not available"],
  [-32603, "internal error"],
  [-32000, "project id required"],
  [-32002, "request timed out"],
  [3, "execution reverted"],
];

/** In some seeds an endpoint of a chain misbehaves, in phases and in one way, so that what follows is told apart. */
function endpointPhases(draw: Draw, calmAfterSec: number): readonly EndpointPhase[] {
  if (!draw.chance(45)) return [];
  const chain = draw.chance(50) ? 0 : 1;
  const does = endpointHow(draw);
  let atSec = draw.chance(30) ? 0 : draw.between(5, 120);
  const phases: EndpointPhase[] = [];
  for (let turn = draw.between(1, 3); turn > 0 && atSec < calmAfterSec - 20; turn--) {
    const forSec = draw.between(10, 200);
    phases.push({ kind: "endpoint", chain, endpoint: draw.chance(60) ? 0 : 1, atSec, forSec, does });
    atSec += forSec + draw.between(4, 60);
  }
  return phases;
}

function endpointHow(draw: Draw): EndpointHow {
  switch (draw.between(0, 7)) {
    case 0:
      return { how: "lags", blocks: draw.between(1, 40) };
    case 1:
      return { how: "stands" };
    case 2:
      return { how: "status", status: STATUSES[draw.between(0, STATUSES.length - 1)] ?? 500 };
    case 3: {
      const [code, message] = ERRORS[draw.between(0, ERRORS.length - 1)] ?? [-32603, "internal error"];
      return { how: "error", code, message };
    }
    default:
      return {
        how: "lies",
        about: lieKinds[draw.between(0, lieKinds.length - 1)] ?? "price",
        size: draw.between(0, 3),
      };
  }
}

function fuse(draw: Draw, downSec: number): Trouble {
  const steps = draw.between(1, 2_500);
  const isGentle = draw.chance(25);
  const lostSteps = draw.chance(40) ? draw.between(1, 1_500) : undefined;
  return isGentle ? { kind: "fuse", steps, downSec, isGentle } : { kind: "fuse", steps, downSec, lostSteps };
}

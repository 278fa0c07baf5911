/** What happens in one round of the soak, drawn from its seed. Pure: the same seed gives the same plan. */
import type { ProxyMode } from "../scenario/support/rpc_proxy.ts";
import { Draw } from "../support/draw.ts";

/** Where messages come from and go to: chains of the devnet by name. */
export type Place = "A" | "B" | "hub";

/** Chains with accounts, blocks that can be lost, and two endpoints. */
export type EvmPlace = "A" | "B";

/** What goes wrong. */
export type Trouble =
  /** SIGKILL, and another process at the end. */
  | { readonly kind: "kill" }
  /** SIGTERM, and another process at the end. */
  | { readonly kind: "stop" }
  /** The first endpoint of a chain, or both, or the only one of the hub. */
  | { readonly kind: "endpoint"; readonly place: Place; readonly isWhole: boolean; readonly mode: ProxyMode }
  /** Open sockets of the hub are cut. */
  | { readonly kind: "cut" }
  /** The first endpoint of a chain says what is not so. */
  | { readonly kind: "lie"; readonly place: EvmPlace; readonly about: Lie }
  | { readonly kind: "reorganisation"; readonly place: EvmPlace; readonly blocks: number }
  /** The relayer's account has no native tokens. */
  | { readonly kind: "empty_wallet"; readonly place: EvmPlace }
  /** The machine's clock differs by so much. */
  | { readonly kind: "clock"; readonly seconds: number }
  /** The database's disk has no room. */
  | { readonly kind: "disk_full" }
  /** Nobody proves a chain to the hub. */
  | { readonly kind: "no_updates"; readonly place: EvmPlace }
  /** The hub's authority set changes. */
  | { readonly kind: "rotation" };

/** What an endpoint is wrong about. */
export type Lie = "no_logs" | "wrong_proofs" | "no_receipts" | "old_nonce";

/** A trouble and its time within the round. */
export interface PlannedTrouble {
  readonly trouble: Trouble;
  readonly atMs: number;
  /** How long it lasts; 0 for what happens at once. */
  readonly forMs: number;
}

/** Messages that are sent at once. */
export interface PlannedMessages {
  readonly atMs: number;
  readonly from: EvmPlace;
  readonly to: Place;
  readonly count: number;
}

/** One round: what is sent, and what goes wrong meanwhile. */
export interface RoundPlan {
  readonly troubles: readonly PlannedTrouble[];
  readonly messages: readonly PlannedMessages[];
  /** When everything works again. */
  readonly endsAtMs: number;
}

/** Parts of a machine that a round may need and not every machine has. */
export interface Means {
  /** A library that changes what a process sees as the time. */
  readonly clock: boolean;
  /** The right to mount a small file system. */
  readonly disk: boolean;
}

/** Time in which troubles begin. */
const TROUBLED_MS = 90_000;
const TROUBLES = [6, 14] as const;
const BURSTS = [6, 12] as const;
const MAX_MESSAGES = 12;
const MAX_TROUBLE_MS = 20_000;

const LIES: readonly Lie[] = ["no_logs", "wrong_proofs", "no_receipts", "old_nonce"];
const MODES: readonly ProxyMode[] = [
  { kind: "refuse" },
  { kind: "hang" },
  { kind: "throttle" },
  { kind: "throttle", retryAfterSec: 2 },
  { kind: "serverError" },
  { kind: "serverError", status: 503 },
  { kind: "truncate", what: "transfer" },
  { kind: "truncate", what: "json" },
  { kind: "truncate", what: "batch" },
  { kind: "delay", delayMs: 3_000 },
  { kind: "lag", blocks: 4 },
];
/** What a proxy can do to sockets. */
const SOCKET_MODES: readonly ProxyMode[] = [{ kind: "refuse" }, { kind: "hang" }];

/** The plan of a seed on a machine with these means. */
export function planRound(seed: number, means: Means): RoundPlan {
  const draw = new Draw(seed);
  const makers: readonly ((draw: Draw) => Trouble)[] = [
    () => ({ kind: "kill" }),
    () => ({ kind: "kill" }),
    () => ({ kind: "stop" }),
    drawEndpoint,
    drawEndpoint,
    drawEndpoint,
    () => ({ kind: "cut" }),
    () => ({ kind: "lie", place: drawEvm(draw), about: oneOf(draw, LIES) }),
    () => ({ kind: "reorganisation", place: drawEvm(draw), blocks: draw.between(1, 2) }),
    () => ({ kind: "empty_wallet", place: drawEvm(draw) }),
    () => ({ kind: "no_updates", place: drawEvm(draw) }),
    () => ({ kind: "rotation" }),
    ...means.clock ? [(): Trouble => ({ kind: "clock", seconds: draw.between(-3_600, 3_600) })] : [],
    ...means.disk ? [(): Trouble => ({ kind: "disk_full" })] : [],
  ];
  const troubles = repeat(draw.between(...TROUBLES), (): PlannedTrouble => {
    const trouble = oneOf(draw, makers)(draw);
    return {
      trouble,
      atMs: draw.between(0, TROUBLED_MS),
      forMs: lasts(trouble) ? draw.between(1_000, MAX_TROUBLE_MS) : 0,
    };
  }).toSorted((one, other) => one.atMs - other.atMs);
  const messages = repeat(draw.between(...BURSTS), (): PlannedMessages => {
    const from = drawEvm(draw);
    const to = draw.chance(25) ? "hub" : from === "A" ? "B" : "A";
    return { atMs: draw.between(0, TROUBLED_MS), from, to, count: draw.between(1, MAX_MESSAGES) };
  }).toSorted((one, other) => one.atMs - other.atMs);
  return { troubles, messages, endsAtMs: TROUBLED_MS + MAX_TROUBLE_MS };
}

/** False for what happens at once. */
function lasts({ kind }: Trouble): boolean {
  return kind !== "cut" && kind !== "reorganisation" && kind !== "rotation";
}

function drawEndpoint(draw: Draw): Trouble {
  const place = oneOf(draw, ["A", "B", "hub"] as const);
  const mode = oneOf(draw, place === "hub" ? SOCKET_MODES : MODES);
  return { kind: "endpoint", place, isWhole: draw.chance(30), mode };
}

function drawEvm(draw: Draw): EvmPlace {
  return draw.chance(50) ? "A" : "B";
}

/** @throws {RangeError} for an empty list */
function oneOf<T>(draw: Draw, values: readonly T[]): T {
  const value = values[draw.between(0, values.length - 1)];
  if (value === undefined) throw new RangeError("Nothing to draw from");
  return value;
}

function repeat<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

/** A trouble in a line. */
export function describeTrouble({ trouble, atMs, forMs }: PlannedTrouble): string {
  const { kind, ...rest } = trouble;
  const details = Object.entries(rest).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const lasting = forMs === 0 ? "" : ` for ${(forMs / 1000).toFixed(1)} s`;
  return [`at ${(atMs / 1000).toFixed(1)} s${lasting}: ${kind}`, ...details].join(", ");
}

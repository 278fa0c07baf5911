/** What goes wrong in a seed, and how each request to a chain goes because of it. Start reading at {@link Troubles.advance}. */
import type { Randomness } from "../../../src/core/runtime/clock.ts";
import type { FaultPlan, PlannedFault } from "../../support/fault_plan.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import type { Endpoint } from "./chains.ts";
import { SENDER } from "./config.ts";
import type { HttpFault, Mood } from "./endpoints.ts";
import { lieOf } from "./lies.ts";
import type { EndpointPhase, Plan, Trouble } from "./plan.ts";

/** What the endpoints of a bad day do. */
const badDay: readonly PlannedFault[] = [
  { kind: "throw", code: "unreachable" },
  { kind: "throw", code: "throttled", retryAfterMs: 2_000 },
  { kind: "throw", code: "server_error" },
  { kind: "throw", code: "lagging" },
  { kind: "throw", code: "timeout" },
  { kind: "delay", ms: 3_000 },
  { kind: "delay", ms: 12_000 },
  { kind: "loseAnswer", code: "timeout" },
  { kind: "loseAnswer", code: "unreachable" },
];

/** The same on the way to an EVM chain. */
const badWays: readonly HttpFault[] = [
  { kind: "unreachable" },
  { kind: "status", status: 429, retryAfterSec: 2 },
  { kind: "status", status: 500 },
  { kind: "status", status: 504 },
  { kind: "error", code: -32603, message: "internal error" },
  { kind: "delay", ms: 3_000 },
  { kind: "delay", ms: 12_000 },
  { kind: "lost" },
];

/** Seconds between two polls of the simulated chains. */
export const TICK_SEC = 2;

/** An endpoint in order. */
const HONEST = { behind: 0n, provesWell: true };

/** The chains and the process that have the trouble. */
export interface TroubledWorld {
  readonly plan: Plan;
  readonly nodes: readonly [MemoryNode, MemoryNode, MemoryNode];
  /** The clock of the relayer's machine. */
  readonly machineClock: { aheadMs: number };
  readonly random: Randomness;
  /** Ends the process at once, as asked for, or with its database; the next one starts that much later. */
  readonly endProcess: (how: "kill" | "stop" | "lose", downSec: number) => void;
  /** Somebody uses a nonce of our account. */
  readonly useNonce: (chain: 0 | 1) => void;
}

/** The troubles of one seed. */
export class Troubles {
  /** What is wrong with the disk now. */
  diskFault: "full" | "readonly" | undefined;
  /** Chains beside the hub whose native token has no price now. */
  readonly priceGaps = new Set<number>();
  readonly #world: TroubledWorld;
  readonly #outages = new Set<number>();
  readonly #badProofs = new Set<number>();
  /** Chains whose nodes are out of step, with the blocks. */
  readonly #outOfStep = new Map<number, number>();
  /** Endpoints that misbehave now, with the height at which each began to. */
  readonly #phases = new Map<EndpointPhase, bigint>();
  /** What ends a trouble that lasts for a while. */
  readonly #ends = new Map<Trouble, () => void>();
  /** What happens as soon as something waits in a pool. */
  readonly #ambushes = new Set<{ readonly chain: 0 | 1 | 2; readonly act: () => void }>();
  #nowSec = 0;

  constructor(world: TroubledWorld) {
    this.#world = world;
  }

  /** True while things go wrong. */
  get isOn(): boolean {
    return this.#nowSec < this.#world.plan.calmAfterSec;
  }

  /** True in that percentage of cases. */
  chance(percent: number): boolean {
    return this.#world.random.fraction() * 100 < percent;
  }

  /** Begins and ends what is planned for a time; at the end of the trouble everything is in order. */
  advance(nowSec: number): void {
    this.#nowSec = nowSec;
    const isNow = (atSec: number): boolean => atSec >= nowSec && atSec < nowSec + TICK_SEC;
    for (const trouble of this.#world.plan.troubles) {
      if (trouble.kind === "fuse") continue;
      if ("forSec" in trouble && isNow(trouble.atSec + trouble.forSec)) this.#end(trouble);
      if (isNow(trouble.atSec)) this.#begin(trouble);
    }
    if (this.isOn) return this.#spring();
    for (const trouble of this.#ends.keys()) this.#end(trouble);
    this.#ambushes.clear();
  }

  #end(trouble: Trouble): void {
    this.#ends.get(trouble)?.();
    this.#ends.delete(trouble);
  }

  #spring(): void {
    for (const ambush of this.#ambushes) {
      if (this.#world.nodes[ambush.chain].mempoolSize === 0) continue;
      this.#ambushes.delete(ambush);
      ambush.act();
    }
  }

  #begin(trouble: Exclude<Trouble, { kind: "fuse" }>): void {
    const { endProcess, machineClock, nodes, useNonce } = this.#world;
    const lasts = (end: () => void): void => void this.#ends.set(trouble, end);
    const lastsIn = (chains: Set<number>, chain: number): void => {
      chains.add(chain);
      lasts(() => chains.delete(chain));
    };
    const whenPending = (chain: 0 | 1 | 2, act: () => void): void => void this.#ambushes.add({ chain, act });
    switch (trouble.kind) {
      case "kill":
      case "stop":
        return endProcess(trouble.kind, trouble.downSec);
      case "lose": {
        const lose = (): void => endProcess("lose", trouble.downSec);
        return trouble.whilePending === undefined ? lose() : whenPending(trouble.whilePending, lose);
      }
      case "newHandler": {
        const replace = (): void => nodes[trouble.chain].replaceHandler();
        return trouble.whilePending ? whenPending(trouble.chain, replace) : replace();
      }
      case "foreignNonce":
        return whenPending(trouble.chain, () => useNonce(trouble.chain));
      case "forgetPool":
        return nodes[trouble.chain].clearMempool();
      case "rush": {
        const node = nodes[trouble.chain];
        node.priceWei = node.priceWei * BigInt(trouble.percent) / 100n;
        node.minedFromWei = node.priceWei;
        return;
      }
      case "spike":
        return lasts(spike(nodes[trouble.chain], BigInt(trouble.times)));
      case "bandwidth":
        nodes[2].meter(SENDER, 0n);
        return lasts(() => nodes[2].meter(SENDER, undefined));
      case "outage":
        return lastsIn(this.#outages, trouble.chain);
      case "badProofs":
        return lastsIn(this.#badProofs, trouble.chain);
      case "priceGap":
        return lastsIn(this.priceGaps, trouble.chain);
      case "outOfStep":
        this.#outOfStep.set(trouble.chain, trouble.blocks);
        return lasts(() => this.#outOfStep.delete(trouble.chain));
      case "disk":
        this.diskFault = trouble.fault;
        return lasts(() => this.diskFault = undefined);
      case "clockStep":
        machineClock.aheadMs += trouble.bySec * 1_000;
        return lasts(() => machineClock.aheadMs = 0);
      case "endpoint":
        this.#phases.set(trouble, nodes[trouble.chain].head.height);
        return lasts(() => this.#phases.delete(trouble));
    }
  }

  /** What the endpoint of a chain does with the next call. */
  endpointOf(index: number): Endpoint {
    return {
      blocksBehind: () => {
        const most = this.#outOfStep.get(index);
        if (most === undefined || this.chance(50)) return 0n;
        return BigInt(1 + Math.floor(this.#world.random.fraction() * most));
      },
      isProofBad: () => this.#badProofs.has(index) && this.chance(50),
    };
  }

  /** How the next request to an endpoint of an EVM chain goes. */
  moodOf(index: 0 | 1, endpoint: number): Mood {
    if (this.#outages.has(index)) return { view: HONEST, fault: { kind: "unreachable" } };
    const phases = [...this.#phases].filter(([{ chain }]) => chain === index);
    const own = phases.find(([each]) => each.endpoint === endpoint);
    if (own !== undefined) return this.#phaseMood(...own);
    if (phases.length > 0) return { view: HONEST };
    const { blocksBehind, isProofBad } = this.endpointOf(index);
    const view = endpoint === 0 ? { behind: blocksBehind(), provesWell: !isProofBad() } : HONEST;
    if (!this.chance(this.#faultPercent)) return { view };
    return { view, fault: badWays[Math.floor(this.#world.random.fraction() * badWays.length)] };
  }

  /** How an endpoint answers in its phase, which began at a height. */
  #phaseMood({ chain, does }: EndpointPhase, since: bigint): Mood {
    switch (does.how) {
      case "lags":
        return { view: { ...HONEST, behind: BigInt(does.blocks) } };
      case "stands":
        return { view: { ...HONEST, behind: this.#world.nodes[chain].head.height - since } };
      case "status":
        return { view: HONEST, fault: { kind: "status", status: does.status } };
      case "error":
        return { view: HONEST, fault: { kind: "error", code: does.code, message: does.message } };
      case "lies":
        return { view: { ...HONEST, lie: lieOf(does.about, does.size) } };
    }
  }

  get #faultPercent(): number {
    const { calmAfterSec, faultPercent } = this.#world.plan;
    return this.#nowSec < calmAfterSec - TICK_SEC ? faultPercent : 0;
  }

  /** Lets calls to the hub fail as they do now. */
  drawFaults(faults: FaultPlan): void {
    const { random } = this.#world;
    if (this.#outages.has(2)) faults.draw(random, 100, [{ kind: "throw", code: "unreachable" }]);
    else faults.draw(random, this.#faultPercent, badDay);
  }
}

/** Multiplies the price of a chain's gas; returns what ends it. */
function spike(node: MemoryNode, times: bigint): () => void {
  const waiting = node.minedFromWei;
  node.priceWei *= times;
  node.minedFromWei = node.priceWei;
  return () => {
    node.priceWei /= times;
    // Another rush may have come meanwhile.
    node.minedFromWei = waiting < node.priceWei ? waiting : node.priceWei;
  };
}

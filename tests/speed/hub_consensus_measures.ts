/** What the costs of proving the hub are in the table: lines per number of validators, and how they grow. Pure. */
import { MAX_TRANSACTION_BYTES } from "../../src/core/chains/transaction_bytes.ts";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import type { DeliveryCost, EndpointCost, ProofRoute } from "./hub_delivery.ts";
import type { GasCost } from "./hub_gas.ts";
import type { ProvingCost } from "./hub_update_work.ts";
import { atMost, type Measure } from "./report.ts";

/** One way to a BEEFY proof, and what the host paid. */
export interface BeefyCosts {
  readonly rotation: ProvingCost;
  readonly messages: ProvingCost;
  /** Where the node proves no leaves: mountains of 8 and of 64 leaves. */
  readonly rebuilt8: ProvingCost;
  readonly rebuilt64: ProvingCost;
  readonly missed: ProvingCost;
  readonly votes: number;
  readonly trimmed: GasCost;
  readonly all: GasCost;
  /** The sessions of {@link missed} in one transaction, and each in its own. */
  readonly together: GasCost;
  readonly alone: readonly GasCost[];
}

/** Everything of one number of validators. */
export interface SizeCosts {
  readonly validators: number;
  /** Blocks between what the chain knew and {@link update}. */
  readonly blocks: number;
  readonly update: ProvingCost;
  readonly change: ProvingCost;
  readonly beefy: BeefyCosts;
}

/** 600 validators with 401 votes. Source: docs/protocol/hub-consensus.md section 5.7. */
const KNOWN = { validators: 600, calldataBytes: 92_132, gas: 3_700_000 } as const;
/** A measured proof may differ from the known one by so much: other heads, another mountain. */
const MAX_DIFFERENCE_PERCENT = 5;

/** Two thirds of the votes, and what every proof needs. */
const MAX_TRIMMED = 0.75;

/** Of an update, and of everything that is served meanwhile. */
const AIMED = { validators: 1_000, cpuMs: 300, stallMs: 50 } as const;

/** Requests of a delivery, looks that find nothing included. */
const MAX_ACCEPTED = 20;
const MAX_MADE = 30;

/** The lines of one number of validators. */
export function measuresOf({ validators, blocks, update, change, beefy }: SizeCosts): readonly Measure[] {
  const of = (name: string): string => `${validators}: ${name}`;
  const proving = (name: string, cost: ProvingCost, isUsual = true): readonly Measure[] => [
    {
      name: of(`${name}: requests (calls); read; proof`),
      value: `${cost.relay.requests + cost.follower.requests} (${cost.relay.calls + cost.follower.calls}); ` +
        `${kb(cost.relay.receivedBytes + cost.follower.receivedBytes)}; ${kb(sizeOf(cost))}`,
    },
    validators === AIMED.validators && isUsual
      ? {
        ...atMost(of(`${name}: processor time; time`), cost.cpuMs, AIMED.cpuMs, ms),
        value: `${ms(cost.cpuMs)}; ${ms(cost.ms)}`,
      }
      : { name: of(`${name}: processor time; time`), value: `${ms(cost.cpuMs)}; ${ms(cost.ms)}` },
    {
      ...atMost(of(`${name}: stall of the loop, longest; p99`), cost.lag.maxMs, AIMED.stallMs, ms),
      value: `${ms(cost.lag.maxMs)}; ${ms(cost.lag.p99Ms)}`,
    },
  ];
  const { trimmed, all, votes, together, alone } = beefy;
  const aloneGas = alone.reduce((sum, { gas }) => sum + gas, 0);
  const extra = validators - votes;
  return [
    ...proving(`GRANDPA, ${blocks} blocks`, update),
    ...proving("GRANDPA, to a change of the set", change),
    ...proving("BEEFY, rotation", beefy.rotation),
    ...proving("BEEFY, messages", beefy.messages),
    ...proving("BEEFY, messages, 8 leaves rebuilt", beefy.rebuilt8, false),
    ...proving("BEEFY, messages, 64 leaves rebuilt", beefy.rebuilt64, false),
    ...proving(`BEEFY, ${alone.length} of 3 missed sessions`, beefy.missed, false),
    {
      name: of(`gas; calldata with ${votes} votes`),
      value: `${mgas(trimmed.gas)}; ${bytes(trimmed.calldataBytes)}`,
    },
    {
      name: of(`gas; calldata with ${validators} votes`),
      value: `${mgas(all.gas)}; ${bytes(all.calldataBytes)}`,
    },
    atMost(of("gas, votes trimmed / all"), trimmed.gas / all.gas, MAX_TRIMMED, ratio),
    {
      name: of("gas of a vote: of all on average; of one more"),
      value: `${(trimmed.gas / votes).toFixed(0)}; ${((all.gas - trimmed.gas) / extra).toFixed(0)}`,
    },
    ...alone.length < 2 ? [] : [{
      name: of(`gas, ${alone.length} sessions in one transaction / in their own`),
      value: ratio(together.gas / aloneGas),
    }],
    {
      name: of(`calldata / what one transaction may hold (${MAX_TRANSACTION_BYTES} bytes)`),
      value: ratio(trimmed.calldataBytes / MAX_TRANSACTION_BYTES),
    },
    ...validators === KNOWN.validators ? knownOf(trimmed) : [],
  ];
}

function knownOf({ gas, calldataBytes }: GasCost): readonly Measure[] {
  const difference = (value: number, known: number): number => Math.abs(value / known - 1) * 100;
  const percent = (value: number): string => `${value.toFixed(1)} %`;
  return [
    atMost(
      `${KNOWN.validators}: gas, difference to the known ${mgas(KNOWN.gas)}`,
      difference(gas, KNOWN.gas),
      MAX_DIFFERENCE_PERCENT,
      percent,
    ),
    atMost(
      `${KNOWN.validators}: calldata, difference to the known ${bytes(KNOWN.calldataBytes)}`,
      difference(calldataBytes, KNOWN.calldataBytes),
      MAX_DIFFERENCE_PERCENT,
      percent,
    ),
  ];
}

/** What grows with the validators, as ratios between the last number of them and the first. */
export function growthOf(costs: readonly SizeCosts[]): readonly Measure[] {
  const [first, last] = [costs[0], costs.at(-1)];
  if (first === undefined || last === undefined) return [];
  const sizes = `${last.validators} / ${first.validators} validators (${
    ratio(last.validators / first.validators)
  })`;
  const growth = (read: (costs: SizeCosts) => number): number => read(last) / read(first);
  const follower = (name: string, read: (costs: SizeCosts) => number): Measure => ({
    name: `${sizes}: ${name}`,
    value: ratio(growth(read)),
  });
  const requests = (cost: ProvingCost): number => cost.relay.requests + cost.follower.requests;
  return [
    atMost(`${sizes}: requests, GRANDPA`, growth(({ update }) => requests(update)), 1, ratio),
    atMost(`${sizes}: requests, BEEFY messages`, growth(({ beefy }) => requests(beefy.messages)), 1, ratio),
    follower("processor time, GRANDPA", ({ update }) => update.cpuMs),
    follower("processor time, BEEFY messages", ({ beefy }) => beefy.messages.cpuMs),
    follower("gas", ({ beefy }) => beefy.trimmed.gas),
  ];
}

/** The lines of proofs that the compiled program has delivered to a host. */
export function deliveryMeasures(
  validators: number,
  route: ProofRoute,
  { hub, relayChain, host, cpuMs }: DeliveryCost,
): readonly Measure[] {
  const name = `${validators}: delivery of a proof that ${
    route === "accepted" ? "the hub has accepted" : "is made"
  }`;
  const all = [hub, relayChain, host];
  const show = ({ requests, bytes }: EndpointCost): string => `${requests.toFixed(1)} (${kb(bytes)})`;
  return [
    {
      name: `${name}: requests (read) of hub; relay chain; host`,
      value: all.map(show).join("; "),
    },
    atMost(
      `${name}: requests`,
      all.reduce((sum, { requests }) => sum + requests, 0),
      route === "accepted" ? MAX_ACCEPTED : MAX_MADE,
      (value) => value.toFixed(1),
    ),
    { name: `${name}: processor time`, value: ms(cpuMs) },
  ];
}

function sizeOf({ proofs }: ProvingCost): number {
  return proofs.reduce((sum, proof) => sum + fromHex(proof).length, 0);
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}

function kb(value: number): string {
  return `${(value / 1000).toFixed(1)} KB`;
}

function bytes(value: number): string {
  return `${value} bytes`;
}

function mgas(value: number): string {
  return `${(value / 1e6).toFixed(2)} M`;
}

function ratio(value: number): string {
  return value.toFixed(2);
}

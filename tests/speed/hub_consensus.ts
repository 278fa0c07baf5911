/**
 * What it costs to prove the hub, by the number of the relay chain's validators: GRANDPA updates for Substrate chains,
 * naive BEEFY proofs and their gas for EVM hosts. Every proof is submitted, and the run fails when one is not taken.
 * Sizes of everything else are those of live chains where they matter: parachains, blocks between two updates.
 */
import { encodeBeefyClientState } from "../../src/core/protocol/evm/beefy_client_state.ts";
import { lastMountainHeight } from "../../src/consensus/beefy/proof_choice.ts";
import { MOST_PROOF_BYTES } from "../../src/consensus/beefy/proof_batch.ts";
import { fromHex, toHex } from "../../src/core/protocol/bytes.ts";
import { paraIdOf } from "../../src/core/protocol/ismp/state_machine.ts";
import { World } from "../consensus/grandpa/world.ts";
import { Validators } from "../devnet/relay/validators.ts";
import {
  deliver,
  type GasCost,
  type GasHost,
  startGasHost,
  undone,
  votesOf,
  withAllVotes,
} from "./hub_gas.ts";
import { type ProvingCost, startUpdateWorker, type UpdateWorker } from "./hub_update_work.ts";
import type { BenchDeps, Part } from "./part.ts";
import { atMost, type Measure } from "./report.ts";

const SIZES = [300, 600, 1_000] as const;

/** Of Polkadot, about. */
const PARACHAINS = Array.from({ length: 40 }, (_, at) => 2_000 + at);
/** Blocks between two updates: five minutes, the default of `consensus_update_frequency`. */
const BLOCKS = 50;
/** Blocks between two justifications of BEEFY, as live relay chains vote at most. */
const BEEFY_PERIOD = 8;
/** Blocks between two justifications of GRANDPA that a node keeps. */
const GRANDPA_PERIOD = 512;
/** The mountain range begins after this block, so that justified blocks have mountains of 8 leaves and more. */
const ACTIVATION = 8;
const ROUNDS = 2;

/** 600 validators with 401 votes. Source: 05-hub-consensus section 5.7 of the protocol notes. */
const KNOWN = { validators: 600, calldataBytes: 92_132, gas: 3_700_000 } as const;
/** A measured proof may differ from the known one by so much: other heads, another mountain. */
const MOST_DIFFERENCE_PERCENT = 5;

/** One way to a BEEFY proof, and what the host paid. */
interface BeefyCosts {
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

/** Everything of one size. */
interface SizeCosts {
  readonly validators: number;
  readonly update: ProvingCost;
  readonly change: ProvingCost;
  readonly beefy: BeefyCosts;
}

/** See the head of the file. */
export const hubConsensus: Part = async (deps) => {
  await using worker = startUpdateWorker();
  const costs: SizeCosts[] = [];
  for (const validators of SIZES) costs.push(await measureSize(deps, worker, validators));
  return [...costs.flatMap(measuresOf), ...growthOf(costs)];
};

async function measureSize({ say }: BenchDeps, worker: UpdateWorker, validators: number): Promise<SizeCosts> {
  const startMs = performance.now();
  await using world = await World.start({
    relay: {
      validators,
      beefyPeriod: BEEFY_PERIOD,
      grandpaPeriod: GRANDPA_PERIOD,
      beefyActivationBlock: ACTIVATION,
      dummyParachains: PARACHAINS,
    },
  });
  const { relay, hub: { identity } } = world;
  const paraId = BigInt(paraIdOf(identity.stateMachine));
  // Until BEEFY has justified a block.
  relay.produceBlocks(BEEFY_PERIOD);
  await using host = await startGasHost({ stateMachine: identity.stateMachine, paraId }, relay.beefyState());
  const sec = (): string => `${((performance.now() - startMs) / 1000).toFixed(0)} s`;
  say(`   ${validators} validators: chains ready after ${sec()}`);
  world.advance(1, BLOCKS - BEEFY_PERIOD);
  const update = await proveGrandpa(world, worker);
  world.advance(1, BLOCKS / 2);
  relay.rotate();
  world.advance(1, BLOCKS / 2);
  const change = await proveGrandpa(world, worker);
  say(`   ${validators} validators: GRANDPA after ${sec()}`);
  const beefy = await measureBeefy(world, worker, host, validators);
  say(`   ${validators} validators: BEEFY after ${sec()}`);
  return { validators, update, change, beefy };
}

/** Measures an update and submits it. @throws {Error} unless the chain takes it. */
async function proveGrandpa(world: World, worker: UpdateWorker): Promise<ProvingCost> {
  const { relay, hub: { identity }, chain } = world;
  const before = await world.fetchTrusted();
  const cost = await worker.measure({
    kind: "grandpa",
    relayUrl: relay.wsUrl,
    hub: identity.stateMachine,
    consensusStateId: identity.consensusStateId,
    sink: chain.stateMachine,
    sinkUrl: chain.node.wsUrl,
    rounds: ROUNDS,
  });
  await world.submit({
    kind: "updates",
    proofs: cost.proofs.map(fromHex),
    height: undefined,
    summary: "",
    hasMore: false,
  });
  const after = await world.fetchTrusted();
  if (after.latestHeight <= before.latestHeight) throw new Error("The chain did not learn of the hub");
  return cost;
}

async function measureBeefy(
  world: World,
  worker: UpdateWorker,
  host: GasHost,
  validators: number,
): Promise<BeefyCosts> {
  const { relay } = world;
  const prove = async (): Promise<ProvingCost> => {
    const { hub: { identity } } = world;
    return await worker.measure({
      kind: "beefy",
      relayUrl: relay.wsUrl,
      hub: identity.stateMachine,
      consensusStateId: identity.consensusStateId,
      trusted: toHex(encodeBeefyClientState(await host.state())),
      hubHeight: String(await host.hubHeight()),
      rounds: ROUNDS,
    });
  };
  const rotation = await prove();
  await deliver(host, rotation.proofs.map(fromHex));
  growMountain(world, 3);
  const messages = await prove();
  relay.missingMethods = new Set(["mmr_generateProof"]);
  const rebuilt8 = await prove();
  if (messages.proofs.join() !== rebuilt8.proofs.join()) throw new Error("Two ways lead to two proofs");
  const proofs = messages.proofs.map(fromHex);
  const signers = new Validators(validators);
  const full = proofs.map((proof) => withAllVotes(proof, signers, relay.session.index));
  const all = await undone(host, () => deliver(host, full));
  const trimmed = await deliver(host, proofs);
  growMountain(world, 6);
  const rebuilt64 = await prove();
  await deliver(host, rebuilt64.proofs.map(fromHex));
  relay.missingMethods = new Set();
  world.passSessions(3, BEEFY_PERIOD);
  relay.produceBlocks(BEEFY_PERIOD);
  const missed = await prove();
  const sessions = missed.proofs.map(fromHex);
  const together = await undone(host, () => deliver(host, sessions));
  const alone: GasCost[] = [];
  for (const session of sessions) alone.push(await deliver(host, [session]));
  const votes = proofs.reduce((sum, proof) => sum + votesOf(proof), 0);
  return { rotation, messages, rebuilt8, rebuilt64, missed, votes, trimmed, all, together, alone };
}

/** Makes blocks until the last mountain at BEEFY's newest one has 2^height leaves; the hub has a new height in it. */
function growMountain({ hub, relay }: World, height: number): void {
  hub.produceBlock();
  const { number } = relay.beefyFinalized;
  do relay.produceBlocks(); while (
    relay.beefyFinalized.number <= number + BEEFY_PERIOD ||
    lastMountainHeight(relay.beefyFinalized.number, BigInt(ACTIVATION)) !== height
  );
}

function measuresOf({ validators, update, change, beefy }: SizeCosts): readonly Measure[] {
  const of = (name: string): string => `${validators}: ${name}`;
  const proving = (name: string, cost: ProvingCost): readonly Measure[] => [
    {
      name: of(`${name}: requests (calls); read; proof`),
      value: `${cost.relay.requests + cost.told.requests} (${cost.relay.calls + cost.told.calls}); ` +
        `${kb(cost.relay.receivedBytes + cost.told.receivedBytes)}; ${kb(sizeOf(cost))}`,
    },
    { name: of(`${name}: processor time; time`), value: `${ms(cost.cpuMs)}; ${ms(cost.ms)}` },
  ];
  const { trimmed, all, votes, together, alone } = beefy;
  const aloneGas = alone.reduce((sum, { gas }) => sum + gas, 0);
  const extra = validators - votes;
  return [
    ...proving(`GRANDPA, ${BLOCKS} blocks`, update),
    ...proving("GRANDPA, to a change of the set", change),
    ...proving("BEEFY, rotation", beefy.rotation),
    ...proving("BEEFY, messages", beefy.messages),
    ...proving("BEEFY, messages, 8 leaves rebuilt", beefy.rebuilt8),
    ...proving("BEEFY, messages, 64 leaves rebuilt", beefy.rebuilt64),
    ...proving(`BEEFY, ${alone.length} of 3 missed sessions`, beefy.missed),
    {
      name: of(`gas; calldata with ${votes} votes`),
      value: `${mgas(trimmed.gas)}; ${bytes(trimmed.calldataBytes)}`,
    },
    {
      name: of(`gas; calldata with ${validators} votes`),
      value: `${mgas(all.gas)}; ${bytes(all.calldataBytes)}`,
    },
    atMost(of("gas, votes trimmed / all"), trimmed.gas / all.gas, MOST_TRIMMED, ratio),
    {
      name: of("gas of a vote: of all on average; of one more"),
      value: `${(trimmed.gas / votes).toFixed(0)}; ${((all.gas - trimmed.gas) / extra).toFixed(0)}`,
    },
    ...alone.length < 2 ? [] : [{
      name: of(`gas, ${alone.length} sessions in one transaction / in their own`),
      value: ratio(together.gas / aloneGas),
    }],
    {
      name: of(`calldata / what one transaction may hold (${MOST_PROOF_BYTES} bytes)`),
      value: ratio(trimmed.calldataBytes / MOST_PROOF_BYTES),
    },
    ...validators === KNOWN.validators ? knownOf(trimmed) : [],
  ];
}

/** Two thirds of the votes, and what they share with all. */
const MOST_TRIMMED = 0.75;

function knownOf({ gas, calldataBytes }: GasCost): readonly Measure[] {
  const difference = (value: number, known: number): number => Math.abs(value / known - 1) * 100;
  const percent = (value: number): string => `${value.toFixed(1)} %`;
  return [
    atMost(
      `${KNOWN.validators}: gas, difference to the known ${mgas(KNOWN.gas)}`,
      difference(gas, KNOWN.gas),
      MOST_DIFFERENCE_PERCENT,
      percent,
    ),
    atMost(
      `${KNOWN.validators}: calldata, difference to the known ${bytes(KNOWN.calldataBytes)}`,
      difference(calldataBytes, KNOWN.calldataBytes),
      MOST_DIFFERENCE_PERCENT,
      percent,
    ),
  ];
}

/** What grows with the validators, as ratios between the largest size and the smallest. */
function growthOf(costs: readonly SizeCosts[]): readonly Measure[] {
  const [first, last] = [costs[0], costs.at(-1)];
  if (first === undefined || last === undefined) return [];
  const sizes = `${last.validators} / ${first.validators} validators (${
    ratio(last.validators / first.validators)
  })`;
  const growth = (read: (costs: SizeCosts) => number): number => read(last) / read(first);
  const told = (name: string, read: (costs: SizeCosts) => number): Measure => ({
    name: `${sizes}: ${name}`,
    value: ratio(growth(read)),
  });
  const requests = (cost: ProvingCost): number => cost.relay.requests + cost.told.requests;
  return [
    atMost(`${sizes}: requests, GRANDPA`, growth(({ update }) => requests(update)), 1, ratio),
    atMost(`${sizes}: requests, BEEFY messages`, growth(({ beefy }) => requests(beefy.messages)), 1, ratio),
    told("processor time, GRANDPA", ({ update }) => update.cpuMs),
    told("processor time, BEEFY messages", ({ beefy }) => beefy.messages.cpuMs),
    told("gas", ({ beefy }) => beefy.trimmed.gas),
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

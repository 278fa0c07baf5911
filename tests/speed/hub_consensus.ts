/**
 * What it costs to prove the hub, by the number of the relay chain's validators: GRANDPA updates for Substrate chains,
 * naive BEEFY proofs and their gas for EVM hosts. Every proof is submitted, and the run fails when one is not taken.
 * Sizes of everything else are those of live chains where they matter: parachains, blocks between two updates.
 */
import { encodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { lastMountainHeight } from "../../src/consensus/clients/beefy/justified_blocks.ts";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { toParaId } from "../../src/core/ismp/state_machine.ts";
import { Fixture } from "../consensus/clients/grandpa/fixture.ts";
import { Validators } from "../../devnet/relay/validators.ts";
import {
  deliver,
  type GasCost,
  type GasHost,
  startGasHost,
  undone,
  votesOf,
  withAllVotes,
} from "./hub_gas.ts";
import {
  type BeefyCosts,
  deliveryMeasures,
  growthOf,
  measuresOf,
  type SizeCosts,
} from "./hub_consensus_measures.ts";
import { measureDeliveries } from "./hub_delivery.ts";
import { type ProvingCost, startUpdateWorker, type UpdateWorker } from "./hub_update_work.ts";
import type { BenchDeps, Part } from "./part.ts";
import type { Measure } from "./report.ts";

const SIZES = [300, 600, 1_000] as const;
/** Validators when the compiled program delivers. */
const DELIVERED = 600;

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

/** See the head of the file. */
export const hubConsensus: Part = async (deps) => {
  await using worker = startUpdateWorker();
  const costs: SizeCosts[] = [];
  for (const validators of SIZES) costs.push(await measureSize(deps, worker, validators));
  return [...costs.flatMap(measuresOf), ...growthOf(costs), ...await measureRoutes(deps)];
};

/** Both ways of the compiled program to a proof, at the same time. */
async function measureRoutes({ folder, consensusExecutable }: BenchDeps): Promise<readonly Measure[]> {
  const routes = ["accepted", "made"] as const;
  const measured = await Promise.all(routes.map(async (route) => {
    const cost = await measureDeliveries({
      route,
      validators: DELIVERED,
      parachains: PARACHAINS,
      executable: consensusExecutable,
      folder: `${folder}/${route}`,
    });
    return deliveryMeasures(DELIVERED, route, cost);
  }));
  return measured.flat();
}

async function measureSize({ say }: BenchDeps, worker: UpdateWorker, validators: number): Promise<SizeCosts> {
  const startMs = performance.now();
  await using fixture = await Fixture.start({
    relay: {
      validators,
      beefyPeriod: BEEFY_PERIOD,
      grandpaPeriod: GRANDPA_PERIOD,
      beefyActivationBlock: ACTIVATION,
      dummyParachains: PARACHAINS,
    },
  });
  const { relay, hub: { identity } } = fixture;
  const paraId = BigInt(toParaId(identity.stateMachine));
  // Until BEEFY has justified a block.
  relay.produceBlocks(BEEFY_PERIOD);
  await using host = await startGasHost({ stateMachine: identity.stateMachine, paraId }, relay.beefyState());
  const sec = (): string => `${((performance.now() - startMs) / 1000).toFixed(0)} s`;
  say(`   ${validators} validators: chains ready after ${sec()}`);
  fixture.advance(1, BLOCKS - BEEFY_PERIOD);
  const update = await proveGrandpa(fixture, worker);
  fixture.advance(1, BLOCKS / 2);
  relay.rotate();
  fixture.advance(1, BLOCKS / 2);
  const change = await proveGrandpa(fixture, worker);
  say(`   ${validators} validators: GRANDPA after ${sec()}`);
  const beefy = await measureBeefy(fixture, worker, host, validators);
  say(`   ${validators} validators: BEEFY after ${sec()}`);
  return { validators, blocks: BLOCKS, update, change, beefy };
}

/** Measures an update and submits it. @throws {Error} unless the chain takes it. */
async function proveGrandpa(fixture: Fixture, worker: UpdateWorker): Promise<ProvingCost> {
  const { relay, hub: { identity }, chain } = fixture;
  const before = await fixture.fetchTrusted();
  const cost = await worker.measure({
    kind: "grandpa",
    relayUrl: relay.wsUrl,
    hub: identity.stateMachine,
    consensusStateId: identity.consensusStateId,
    target: chain.stateMachine,
    targetUrl: chain.node.wsUrl,
    rounds: ROUNDS,
  });
  await fixture.submit({
    kind: "updates",
    proofs: cost.proofs.map(fromHex),
    height: undefined,
    summary: "",
    hasMore: false,
  });
  const after = await fixture.fetchTrusted();
  if (after.latestHeight <= before.latestHeight) throw new Error("The chain did not learn of the hub");
  return cost;
}

async function measureBeefy(
  fixture: Fixture,
  worker: UpdateWorker,
  host: GasHost,
  validators: number,
): Promise<BeefyCosts> {
  const { relay } = fixture;
  const prove = async (): Promise<ProvingCost> => {
    const { hub: { identity } } = fixture;
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
  growMountain(fixture, 3);
  const messages = await prove();
  relay.missingMethods = new Set(["mmr_generateProof"]);
  const rebuilt8 = await prove();
  if (messages.proofs.join() !== rebuilt8.proofs.join()) throw new Error("Two ways lead to two proofs");
  const proofs = messages.proofs.map(fromHex);
  const signers = new Validators(validators);
  const full = proofs.map((proof) => withAllVotes(proof, signers, relay.session.index));
  const all = await undone(host, () => deliver(host, full));
  const trimmed = await deliver(host, proofs);
  growMountain(fixture, 6);
  const rebuilt64 = await prove();
  await deliver(host, rebuilt64.proofs.map(fromHex));
  relay.missingMethods = new Set();
  fixture.passSessions(3, BEEFY_PERIOD);
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
function growMountain({ hub, relay }: Fixture, height: number): void {
  hub.produceBlock();
  const { number } = relay.beefyFinalized;
  do relay.produceBlocks(); while (
    relay.beefyFinalized.number <= number + BEEFY_PERIOD ||
    lastMountainHeight(relay.beefyFinalized.number, BigInt(ACTIVATION)) !== height
  );
}

/**
 * What it costs to prove the hub, by the number of the relay chain's validators: GRANDPA updates for Substrate chains,
 * naive BEEFY proofs and their gas for EVM hosts. Every proof is submitted, and the run fails when one is not taken.
 * Sizes of everything else are those of live chains where they matter: parachains, blocks between two updates.
 */
import { checkProof } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { encodeDelivery } from "../../src/core/chains/evm/calldata.ts";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { encodeBeefyClientState } from "../../src/core/evm/beefy_client_state.ts";
import { toParaId } from "../../src/core/ismp/state_machine.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { startAnvil } from "../../devnet/evm/anvil.ts";
import { deployIsmpHost, type IsmpHost } from "../../devnet/evm/deploy.ts";
import { readHubConsensus } from "../../devnet/evm/host_admin.ts";
import { runAtOnce } from "../../devnet/relay/run_at_once.ts";
import { Fixture } from "../consensus/clients/grandpa/fixture.ts";
import { startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import type { ProvingCost, UpdateJob } from "./hub_update_work.ts";
import type { BenchDeps, Part } from "./part.ts";
import { runAlone } from "./process_usage.ts";
import { type Aim, type Figure, figure, figuresOf } from "./report.ts";
import { trafficOf } from "./subject.ts";

const SIZES = [300, 1_000] as const;
/** The largest number of validators is held to these. */
const MAX_CPU_MS = 300;
const MAX_STALL_MS = 50;

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
const ROUNDS = 3;
const CHAIN_ID = 31337;

/** See the head of the file. */
export const hubConsensus: Part = async (deps) => {
  const figures: Figure[] = [];
  for (const validators of SIZES) figures.push(...await measureSize(deps, validators));
  return figures;
};

async function measureSize({ say }: BenchDeps, validators: number): Promise<readonly Figure[]> {
  await using fixture = await Fixture.start({
    relay: {
      validators,
      beefyPeriod: BEEFY_PERIOD,
      grandpaPeriod: GRANDPA_PERIOD,
      beefyActivationBlock: ACTIVATION,
      dummyParachains: PARACHAINS,
    },
  });
  fixture.relay.produceBlocks(BEEFY_PERIOD);
  await using host = await startHost(fixture);
  fixture.advance(1, BLOCKS - BEEFY_PERIOD);
  say(`   ${validators} validators: chains are ready`);
  const grandpa = await proveGrandpa(fixture, `${validators} validators, GRANDPA, ${BLOCKS} blocks`);
  return [...grandpa, ...await proveBeefy(fixture, host, `${validators} validators, BEEFY`)];
}

/** Measures an update and submits it. @throws {Error} unless the chain takes it. */
async function proveGrandpa(fixture: Fixture, name: string): Promise<readonly Figure[]> {
  const { hub: { identity }, chain } = fixture;
  const before = await fixture.fetchTrusted();
  const { cost, figures } = await measureJob(fixture, name, {
    kind: "grandpa",
    consensusStateId: identity.consensusStateId,
    target: chain.stateMachine,
    targetUrl: chain.node.wsUrl,
  });
  const proofs = cost.proofs.map(fromHex);
  await fixture.submit({ kind: "updates", proofs, height: undefined, summary: "", hasMore: false });
  const after = await fixture.fetchTrusted();
  if (after.latestHeight <= before.latestHeight) throw new Error("The chain did not take the update");
  return figures;
}

/** Measures a proof and brings it to a host, as the relayer would. @throws {Error} unless the host takes it. */
async function proveBeefy(
  fixture: Fixture,
  { host }: ProvedHost,
  name: string,
): Promise<readonly Figure[]> {
  const trusted = await readHubConsensus(host);
  const { cost, figures } = await measureJob(fixture, name, {
    kind: "beefy",
    trusted: toHex(encodeBeefyClientState(trusted)),
  });
  const [proof] = cost.proofs.map(fromHex);
  if (proof === undefined) throw new Error("No proof was made");
  const { state: expected } = runAtOnce(checkProof(trusted, proof));
  const data = encodeDelivery({ steps: [{ kind: "consensus", proof }] }, host.addresses.host);
  const { gasUsed } = await host.transact(DEVNET_ACCOUNTS.relayer, { to: host.addresses.handler, data });
  const { latestHeight } = await readHubConsensus(host);
  if (latestHeight !== expected.latestHeight) throw new Error("The host did not take the proof");
  return [
    ...figures,
    figure(`${name}: gas`, "M", Number(gasUsed) / 1e6),
    figure(`${name}: calldata`, "KB", fromHex(data).length / 1000),
  ];
}

/** A host that trusts what BEEFY has justified. */
interface ProvedHost extends AsyncDisposable {
  readonly host: IsmpHost;
}

async function startHost({ relay, hub }: Fixture): Promise<ProvedHost> {
  const { stateMachine } = hub.identity;
  const anvil = await startAnvil({ chainId: CHAIN_ID });
  const host = await deployIsmpHost({
    rpcUrl: anvil.rpcUrl,
    chainId: CHAIN_ID,
    hub: { stateMachine, paraId: BigInt(toParaId(stateMachine)) },
    beefyState: relay.beefyState(),
  });
  return { host, [Symbol.asyncDispose]: () => anvil[Symbol.asyncDispose]() };
}

/** Does a job in a process of its own, with a proxy in front of the relay chain. */
async function measureJob(
  { relay, hub }: Fixture,
  name: string,
  job: UpdateJob["work"],
): Promise<{ readonly cost: ProvingCost; readonly figures: readonly Figure[] }> {
  await using proxy = await startRpcProxy({ upstream: relay.httpUrl, keepsAnswers: true });
  const plan: UpdateJob = {
    relayUrl: proxy.wsUrl,
    hub: hub.identity.stateMachine,
    rounds: ROUNDS,
    work: job,
  };
  const cost = await runAlone<ProvingCost>("./hub_update_work.ts", [JSON.stringify(plan)]);
  const { requests, bytes } = trafficOf(proxy.requests);
  const isLargest = name.startsWith(`${SIZES[1]} `);
  const aim = (most: number): Aim | undefined => isLargest ? { most } : undefined;
  const figures = [
    ...figuresOf(cost.rounds, [
      ["cpuMs", `${name}: processor time`, "ms", aim(MAX_CPU_MS)],
      ["p99Ms", `${name}: stall of the loop, p99`, "ms"],
      ["maxMs", `${name}: stall of the loop, longest`, "ms", aim(MAX_STALL_MS)],
    ]),
    // The first proof, with which the process connects, is one of them.
    figure(`${name}: requests to the relay chain`, "", requests / (ROUNDS + 1)),
    figure(`${name}: calls and answers of the relay chain`, "KB", bytes / (ROUNDS + 1) / 1000),
  ];
  return { cost, figures };
}

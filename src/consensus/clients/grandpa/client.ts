/** Finality of a hub that GRANDPA finalizes, as the registry lists it: Substrate chains follow it. */
import type { FollowerContext, HubClient, HubContext, HubFollower } from "../../client.ts";
import { checkProver, ProvedClient } from "../../chain_worker.ts";
import { GrandpaProver, type GrandpaProverOptions } from "./grandpa_prover.ts";
import { type FollowerConfig, frequencyKey, paraId, withHubPara } from "../../config/keys.ts";
import { type ConsensusProver } from "../../prover.ts";
import { connectFinality } from "../../relay_chain/relay_chain.ts";
import { checkRelayNode } from "../../relay_chain/relay_checks.ts";
import type { ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import { createTarget } from "../../../core/chains/substrate/consensus_target.ts";
import { required, type SectionValues, withDefault } from "../../../core/config/schema.ts";
import { integer, listOf, UINT32_MAX, webSocketUrl } from "../../../core/config/values.ts";
import type { ConsensusClientId } from "../../../core/ismp/state_machine.ts";

const grandpaKeys = {
  rpc: required("rpc", webSocketUrl, {
    description: "A node of the relay chain, or of the standalone chain, whose finality is proved.",
    example: "wss://relay.example.org",
  }),
  slotDurationMs: required("slot_duration", integer(1, UINT32_MAX, "milliseconds"), {
    description: "Expected time of a block of that chain.",
    example: 6_000,
  }),
  consensusUpdateFrequencySec: frequencyKey(),
  paraIds: required("para_ids", listOf(paraId, { expected: "an array of parachain ids", identity: String }), {
    description: "Parachains whose heads are proved: the hub's own id (it is added where it is missing).",
    example: [3367],
  }),
  /** polytope-labs/hyperbridge: tesseract/consensus/grandpa, `max_block_range`. */
  maxBlockRange: withDefault("max_block_range", integer(1, UINT32_MAX, "blocks"), 2_400, {
    description: "Maximum number of blocks of the relay chain that one finality proof covers.",
  }),
};

/** The values of `[hub.grandpa]`. */
type GrandpaValues = SectionValues<typeof grandpaKeys>;

/** `[hub] type = "grandpa"`. */
export const grandpaClient: HubClient<GrandpaValues> = {
  typeText: "`grandpa` for Substrate chains (entries of type `substrate`; EVM chains are left out then)",
  sectionName: "grandpa",
  section: { description: "The chain that finalizes a hub of type `grandpa`.", keys: grandpaKeys },
  addHub: (values, hub, location) => ({
    ...values,
    paraIds: withHubPara(values.paraIds, hub, location.child("para_ids")),
  }),
  connectFollowers: (context, values) => ({
    shared: [],
    followers: context.substrateChains.map((chain) => connectFollower(context, values, chain)),
    skipped: context.evmChains.map(({ stateMachine }) => stateMachine),
    skippedText: "no EVM contract verifies GRANDPA, only BEEFY",
  }),
  createCheck: ({ network, hub: { stateMachine: chain } }, { rpc }) =>
    checkRelayNode(network.clock, () => connectFinality(network, chain, rpc), {
      chain,
      proves: "grandpa",
    }),
  connectState: (context, values) => {
    const { network, hub, target } = context;
    const relay = connectFinality(network, hub.stateMachine, values.rpc);
    return new GrandpaProver({ relay, target }, toProverOptions(context, values));
  },
  // Without parachains the hub is a chain that finalizes itself.
  findRelay: ({ paraIds, rpc, consensusUpdateFrequencySec }) =>
    paraIds.length === 0 ? undefined : { rpc, intervalMs: consensusUpdateFrequencySec * 1_000 },
};

/**
 * Connects a Substrate chain that follows the hub by votes of the finalizing chain, or by parachain heads in its state.
 */
function connectFollower(
  context: FollowerContext,
  values: GrandpaValues,
  chain: FollowerConfig,
): HubFollower {
  const { network, hub, parachains, watch } = context;
  const { stateMachine, consensusStateId, hashing, rpcWs, maxRpcPayloadSizeBytes, maxConcurrentQueries } =
    chain;
  const follower = createTarget(network, {
    id: { stateMachine, consensusStateId },
    ...{ hashing, rpcWs, maxRpcPayloadSizeBytes, maxConcurrentQueries },
    // Updates are signed for rewards, which only the hub pays: any key will do.
    signer: chain.signer ?? hub.signer,
  });
  const target = watch?.observe(follower) ?? follower;
  const deps = { relay: connectFinality(network, hub.stateMachine, values.rpc), target };
  const options = toProverOptions(context, values);
  const byVotes = new GrandpaProver(deps, options);
  const byHeads = parachains.createProver(deps, { ...options, hub: hub.stateMachine });
  const prover = proverByClient({ target, byVotes, byHeads }, parachains.clientId);
  const { clock, log } = network;
  const check = (signal: AbortSignal): ReturnType<typeof checkProver> => checkProver(prover, signal);
  return {
    client: new ProvedClient({ clock, log: log.with({ to: stateMachine }), hub: target }, prover),
    proved: { target, prover },
    check: async (signal) => [...await target.check(signal), ...await check(signal)],
    planChecks: () => [
      ...target.planChecks(),
      { chain: stateMachine, check: "host_view", run: check },
    ],
    // The prover closes its target.
    close: () => prover.close(),
  };
}

/** Provers of the hub for one chain, which share their connections. */
interface FollowerProvers {
  readonly target: Pick<ConsensusTarget, "reads">;
  /** For all clients but those of heads. */
  readonly byVotes: ConsensusProver;
  readonly byHeads: ConsensusProver;
}

/** Prover of the hub for one chain, for whichever client its governance chooses, now or later. */
export function proverByClient(
  { target, byVotes, byHeads }: FollowerProvers,
  clientOfHeads: ConsensusClientId,
): ConsensusProver {
  const { chain, consensusStateId, commitmentId, intervalMs } = byVotes;
  const choose = async (signal: AbortSignal): Promise<ConsensusProver> => {
    const client = await target.reads.fetchClient(consensusStateId, "best", signal);
    return client?.clientId === clientOfHeads ? byHeads : byVotes;
  };
  return {
    chain,
    consensusStateId,
    commitmentId,
    intervalMs,
    check: async (signal) => await (await choose(signal)).check(signal),
    next: async (signal) => await (await choose(signal)).next(signal),
    fetchInitialState: (signal) => byVotes.fetchInitialState(signal),
    close: () => byVotes.close(),
  };
}

function toProverOptions(
  { hub: { stateMachine, consensusStateId } }: HubContext,
  { paraIds, maxBlockRange, slotDurationMs, consensusUpdateFrequencySec }: GrandpaValues,
): GrandpaProverOptions {
  const intervalMs = consensusUpdateFrequencySec * 1_000;
  return { stateMachine, consensusStateId, paraIds, maxBlockRange, slotDurationMs, intervalMs };
}

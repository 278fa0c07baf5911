/**
 * The checks of the consensus relayer: the hub, endpoints and light client of every chain, its followers, and the
 * machine. `check` and the running relayer make the same ones. Start reading at {@link planChecks}.
 */
import { formatAge, judgeKnownHeight } from "../../core/chains/chain_checks.ts";
import type { ConsensusClientView, ConsensusTarget } from "../../core/chains/consensus_target.ts";
import { about, type CheckJob, type CheckRow, knownRows } from "../../core/checks/check_row.ts";
import { fromHex, toHex } from "../../core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../core/ismp/signed_messages.ts";
import { checkAccepted, checkHubOfProver } from "../chain_worker.ts";
import { findUnusableReason, neverExpires } from "../target_client.ts";
import type { ConsensusConfig } from "../config/schema.ts";
import type { ConsensusProver } from "../prover.ts";
import type { Connections } from "../session.ts";

/** What is checked. */
export interface CheckSubjects extends Connections {
  readonly config: ConsensusConfig;
  readonly configured?: (() => CheckRow) | undefined;
}

/** Lists the checks of one round: the hub, the chains, the followers, and the machine. */
export function planChecks(subjects: CheckSubjects): readonly CheckJob[] {
  const { hub, proved, hubConsensus, configured, config } = subjects;
  const followers = hubConsensus?.followers ?? [];
  const unlimited = config.relayer.maximumDailyLoss !== undefined ? [] : followers;
  const losses = unlimited.flatMap(({ client: { isFree, route: { target: chain } } }): CheckRow[] => {
    if (isFree) return [];
    const found = "no maximum_daily_loss in [relayer]: what is spent on proofs of the hub is not limited";
    return [about(chain).ok("losses_unlimited", found)];
  });
  const others = hubConsensus?.checks?.map(({ name, check: run }): CheckJob => {
    return { chain: name, check: "host_view", run };
  }) ?? [];
  const { stateMachine, signer } = config.hub.substrate;
  const account = toHex(sr25519PublicKey(fromHex(signer.reveal())));
  const found = `${account} signs updates and earns their rewards`;
  return [
    ...hub.planChecks(),
    ...knownRows([about(stateMachine).ok("signer", found)]),
    ...proved.flatMap((prover) => planProver(hub, prover)),
    ...subjects.endpointChecks ?? [],
    ...followers.flatMap((follower) => follower.planChecks?.() ?? []),
    ...knownRows(losses),
    ...others,
    ...knownRows(configured === undefined ? [] : [configured()]),
  ];
}

/** Lists the checks of one chain's light client on the hub, and of what its prover compares. */
function planProver(hub: ConsensusTarget, prover: ConsensusProver): readonly CheckJob[] {
  const { chain, commitmentId } = prover;
  const target = hub.id.stateMachine;
  return [{
    chain,
    check: "light_client",
    run: async (signal) => {
      // The name of a rollup's client is only known after its check.
      const rows = [
        ...await checkHubOfProver(prover, signal),
        ...await checkAccepted(hub, prover, signal),
      ];
      const id = prover.consensusStateId;
      const [view, nowSec, height] = await Promise.all([
        hub.reads.fetchClient(id, "best", signal),
        hub.reads.fetchNowSec(signal),
        hub.reads.fetchLatestHeight(commitmentId, signal),
      ]);
      const client = judgeLightClient({ chain, target, id }, view, nowSec);
      if (view === undefined) return [client, ...rows];
      if (height === undefined || height === 0n) {
        const found = `${target} knows no height of ${chain} yet: the first update brings it`;
        return [client, about(chain).ok("hub_view", found), ...rows];
      }
      const storedSec = await hub.reads.fetchUpdateTime({ id: commitmentId, height }, signal);
      const names = { chain, observer: target, id: commitmentId.consensusStateId };
      const row: CheckRow = judgeKnownHeight(names, { height, storedSec, nowSec, isFrozen: false });
      return [client, row, ...rows];
    },
  }];
}

/** The light client's place: the chain that it proves, and the chain that stores it. */
interface LightClientPlace {
  readonly chain: string;
  readonly target: string;
  /** Its consensus state id. */
  readonly id: string;
}

/** Row about a light client. @param nowSec clock of the chain that stores it, Unix seconds. */
export function judgeLightClient(
  { chain, target, id }: LightClientPlace,
  view: Pick<ConsensusClientView, "isFrozen" | "updatedSec" | "unbondingSec"> | undefined,
  nowSec: bigint,
): CheckRow {
  const { ok, warning, failed } = about(chain);
  const where = `the light client "${id}" on ${target}`;
  if (view === undefined) {
    const advice =
      "correct consensus_state_id, or let governance create it with the output of log-consensus-state";
    return failed("light_client", `${target} has no light client "${id}"`, advice);
  }
  const unusable = findUnusableReason(where, view, nowSec);
  if (unusable !== undefined) {
    return failed("light_client", unusable.detail, `ask the governance of ${target}`);
  }
  const ageSec = nowSec - view.updatedSec;
  const expiry = neverExpires(view) ? "never expires" : `expires after ${formatAge(view.unbondingSec)}`;
  const found = `${where} was updated ${formatAge(ageSec)} ago and ${expiry}`;
  return ageSec * 2n > view.unbondingSec ? warning("client_expiring", found) : ok("light_client", found);
}

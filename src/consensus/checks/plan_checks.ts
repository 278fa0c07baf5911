/**
 * The checks of the consensus relayer: the hub, endpoints and light client of every chain, its followers, and the
 * machine. `check` and the running relayer make the same ones. Start reading at {@link planChecks}.
 */
import { judgeKnownHeight, whileReachable } from "../../core/chains/chain_checks.ts";
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import { type CheckJob, type CheckRow, judgeMachine, MACHINE } from "../../core/checks/check_row.ts";
import { fromHex, toHex } from "../../core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../core/ismp/signed_messages.ts";
import type { MachineFacts } from "../../core/runtime/machine_facts.ts";
import { checkAccepted, checkHubOfProver, checkProver } from "../chain_worker.ts";
import type { ConsensusConfig } from "../config/schema.ts";
import type { ConsensusProver } from "../prover.ts";
import type { Connections } from "../session.ts";
import { judgeLightClient } from "./light_client_rows.ts";

/** What is checked. */
export interface CheckSubjects extends Connections {
  readonly config: ConsensusConfig;
  /** Absent: nothing of the machine is checked. */
  readonly machine?: MachineFacts | undefined;
}

/** Lists the checks of one round: the hub, the chains, the followers, and the machine. */
export function planChecks(subjects: CheckSubjects): readonly CheckJob[] {
  const { hub, proved, hubConsensus, machine, config } = subjects;
  const ofHub = hub.planChecks();
  const followers = hubConsensus?.followers.flatMap(({ prover, target }): readonly CheckJob[] => [
    ...target.planChecks().jobs,
    { chain: target.id.stateMachine, check: "host_view", run: (signal) => checkProver(prover, signal) },
  ]) ?? [];
  const hosts = hubConsensus?.hosts.flatMap((host) => host.planChecks?.().jobs ?? []) ?? [];
  const unlimited = config.relayer.maximumDailyLoss !== undefined ? [] : hubConsensus?.hosts ?? [];
  const lossJobs = unlimited.map(({ id: { stateMachine: chain } }): CheckJob => {
    const check = "losses_unlimited";
    const found = "no maximum_daily_loss in [relayer]: what is spent on proofs of the hub is not limited";
    return { chain, check, run: () => Promise.resolve([{ chain, check, result: "ok", found }]) };
  });
  const others = hubConsensus?.checks?.map(({ name, check: run }): CheckJob => {
    return { chain: name, check: "host_view", run };
  }) ?? [];
  const machineJob: CheckJob = {
    chain: MACHINE,
    check: "key_file",
    run: () => Promise.resolve(machine === undefined ? [] : judgeMachine(machine)),
  };
  const { stateMachine, signer } = config.hub.substrate;
  const account = toHex(sr25519PublicKey(fromHex(signer.reveal())));
  const signerJob: CheckJob = {
    chain: stateMachine,
    check: "signer",
    run: () =>
      Promise.resolve([{
        chain: stateMachine,
        check: "signer",
        result: "ok",
        found: `${account} signs updates and earns their rewards`,
      }]),
  };
  return [
    ...ofHub.jobs,
    signerJob,
    ...proved.flatMap((prover) =>
      planProver(hub, prover).map((job) => whileReachable(ofHub.isReachable, job))
    ),
    ...subjects.planEndpointChecks?.() ?? [],
    ...hosts,
    ...lossJobs,
    ...followers,
    ...others,
    machineJob,
  ];
}

/** Lists the checks of one chain's light client on the hub, and of what its prover compares. */
function planProver(hub: ConsensusTarget, prover: ConsensusProver): readonly CheckJob[] {
  const { chain, commitmentId } = prover;
  const target = hub.id.stateMachine;
  const clientJob: CheckJob = {
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
        return [client, { chain, check: "hub_view", result: "ok", found }, ...rows];
      }
      const storedSec = await hub.reads.fetchUpdateTime({ id: commitmentId, height }, signal);
      const names = { chain, observer: target, id: commitmentId.consensusStateId };
      const row: CheckRow = judgeKnownHeight(names, { height, storedSec, nowSec, isFrozen: false });
      return [client, row, ...rows];
    },
  };
  return [clientJob];
}

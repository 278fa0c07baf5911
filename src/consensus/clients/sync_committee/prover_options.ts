/**
 * Dependencies and configured options of the prover of a beacon chain.
 */
import type { EndpointUrl } from "../../../core/config/redact.ts";
import type { TargetReads, TargetUpdates } from "../../../core/chains/consensus_target.ts";
import type { BeaconNetwork } from "./spec/beacon_network.ts";
import type { UpdateLayout } from "./spec/update.ts";
import type { Fetch } from "../../../core/rpc/http.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { PersistedText } from "../../persisted_text.ts";
import type { Randomness } from "../../../core/runtime/randomness.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { ProverOptions } from "../../prover.ts";

/** Dependencies of the prover. */
export interface SyncCommitteeProverDeps {
  readonly hub: {
    readonly reads: Pick<TargetReads, "fetchClient" | "fetchLatestHeight" | "fetchNowSec">;
    readonly updates: Pick<TargetUpdates, "dryRunUpdates">;
  };
  /** Nodes of the execution chain. The prover does not close them. */
  readonly execution: RpcEndpointSet;
  /** For the beacon nodes. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  /** Persistent storage of historical summaries; absent: none. */
  readonly summariesText?: PersistedText | undefined;
}

/** Configured options of the chain. */
export interface SyncCommitteeProverOptions extends Omit<ProverOptions, "stateMachine"> {
  /** See `beaconNetworkOf(chainId)`; chains without one have no prover. */
  readonly network: BeaconNetwork;
  /** Base URLs of beacon nodes in order of preference, at least one (`beacon_http_urls`). */
  readonly beaconUrls: readonly EndpointUrl[];
  /** Update layout of the hub's runtime. Absent: detected by a dry run. */
  readonly layout?: UpdateLayout;
}

/**
 * What the prover of a beacon chain is made of: what it uses of the rest of the program, and what the
 * configuration says about the chain.
 */
import type { EndpointUrl } from "../../../core/config/redact.ts";
import type { ConsensusTarget } from "../../../core/chains/consensus_target.ts";
import type { BeaconNetwork } from "./spec/beacon_network.ts";
import type { UpdateLayout } from "./spec/update.ts";
import type { Fetch } from "../../../core/rpc/http.ts";
import type { RpcEndpointSet } from "../../../core/rpc/endpoint_set.ts";
import type { Clock } from "../../../core/runtime/clock.ts";
import type { PersistedText } from "../../persisted_text.ts";
import type { Randomness } from "../../../core/runtime/randomness.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { ProverOptions } from "../../prover.ts";

/** What the prover needs of the outside world. */
export interface SyncCommitteeProverDeps {
  readonly hub: Pick<
    ConsensusTarget,
    "fetchClient" | "fetchLatestHeight" | "fetchNowSec" | "dryRunUpdates"
  >;
  /** Nodes of the execution chain. The prover does not close them. */
  readonly execution: RpcEndpointSet;
  /** For the beacon nodes. */
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  /** Where historical summaries outlive the program; absent: nowhere. */
  readonly summariesText?: PersistedText | undefined;
}

/** What the configuration says of the chain. */
export interface SyncCommitteeProverOptions extends Omit<ProverOptions, "stateMachine"> {
  /** See `beaconNetworkOf(chainId)`; chains without one have no prover. */
  readonly network: BeaconNetwork;
  /** Base URLs of beacon nodes in order of preference, at least one (`beacon_http_urls`). */
  readonly beaconUrls: readonly EndpointUrl[];
  /** How the hub's runtime lays out updates. Absent: found out by asking the hub. */
  readonly layout?: UpdateLayout;
}

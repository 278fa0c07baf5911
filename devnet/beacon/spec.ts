/** The configuration that a beacon node tells at /eth/v1/config/spec. */
import type { BeaconNetwork } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";

/** Values as nodes write them: numbers in decimal, bytes in hex. */
export function specOf(network: BeaconNetwork): Record<string, string> {
  const [genesis, ...forks] = network.forks;
  return {
    PRESET_BASE: "mainnet",
    CONFIG_NAME: network.chainId === 1 ? "mainnet" : "sepolia",
    SECONDS_PER_SLOT: String(network.slotSec),
    SLOTS_PER_EPOCH: String(network.slotsPerEpoch),
    EPOCHS_PER_SYNC_COMMITTEE_PERIOD: String(network.epochsPerPeriod),
    SYNC_COMMITTEE_SIZE: "512",
    SLOTS_PER_HISTORICAL_ROOT: "8192",
    MAX_REQUEST_LIGHT_CLIENT_UPDATES: "128",
    DEPOSIT_CHAIN_ID: String(network.chainId),
    DEPOSIT_NETWORK_ID: String(network.chainId),
    GENESIS_FORK_VERSION: genesis.version,
    ...Object.fromEntries(forks.flatMap((fork) => [
      [`${fork.name.toUpperCase()}_FORK_VERSION`, fork.version],
      [`${fork.name.toUpperCase()}_FORK_EPOCH`, String(fork.epoch)],
    ])),
  };
}

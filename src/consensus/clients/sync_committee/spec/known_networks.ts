/**
 * Constants of the four beacon chains that the hub can follow.
 * Source: polytope-labs/hyperbridge: modules/consensus/sync-committee/primitives/src/constants.rs.
 */
import { consensusClientIds } from "../../../../core/ismp/consensus_client_ids.ts";
import type { Hex } from "../../../../core/encoding/bytes.ts";
import { type BeaconNetwork, type Fork, forkNames } from "./beacon_network.ts";

/** Epoch and version of Altair and the forks after it, as far as they have a date. */
type ForkSchedule = readonly (readonly [bigint, Hex])[];

function forks(genesisVersion: Hex, schedule: ForkSchedule): [Fork, ...Fork[]] {
  return [
    { name: "phase0", epoch: 0n, version: genesisVersion },
    ...schedule.map(([epoch, version], index): Fork => ({
      name: forkNames[index + 1] ?? "phase0",
      epoch,
      version,
    })),
  ];
}

/** Ethereum. */
export const ethereumMainnet: BeaconNetwork = {
  chainId: 1,
  clientId: consensusClientIds.ethereum,
  slotsPerEpoch: 32n,
  epochsPerPeriod: 256n,
  slotSec: 12,
  genesisValidatorsRoot: "0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95",
  forks: forks("0x00000000", [
    [74240n, "0x01000000"],
    [144896n, "0x02000000"],
    [194048n, "0x03000000"],
    [269568n, "0x04000000"],
    [364032n, "0x05000000"],
    [411392n, "0x06000000"],
  ]),
};

/** Ethereum's public test network. */
export const sepolia: BeaconNetwork = {
  chainId: 11155111,
  clientId: consensusClientIds.ethereum,
  slotsPerEpoch: 32n,
  epochsPerPeriod: 256n,
  slotSec: 12,
  genesisValidatorsRoot: "0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078",
  forks: forks("0x90000069", [
    [50n, "0x90000070"],
    [100n, "0x90000071"],
    [56832n, "0x90000072"],
    [132608n, "0x90000073"],
    [222464n, "0x90000074"],
    [272640n, "0x90000075"],
    [353024n, "0x90000076"],
  ]),
};

/** Gnosis chain. */
export const gnosisMainnet: BeaconNetwork = {
  chainId: 100,
  clientId: consensusClientIds.gnosis,
  slotsPerEpoch: 16n,
  epochsPerPeriod: 512n,
  slotSec: 5,
  genesisValidatorsRoot: "0xf5dcb5564e829aab27264b9becd5dfaa017085611224cb3036f573368dbb9d47",
  forks: forks("0x00000064", [
    [512n, "0x01000064"],
    [385536n, "0x02000064"],
    [648704n, "0x03000064"],
    [889856n, "0x04000064"],
    [1337856n, "0x05000064"],
    [1714688n, "0x06000064"],
  ]),
};

/** Gnosis chain's test network. */
export const chiado: BeaconNetwork = {
  chainId: 10200,
  clientId: consensusClientIds.gnosis,
  slotsPerEpoch: 16n,
  epochsPerPeriod: 512n,
  slotSec: 5,
  genesisValidatorsRoot: "0x9d642dac73058fbf39c0ae41ab1e34e4d889043cb199851ded7095bc99eb4c1e",
  forks: forks("0x0000006f", [
    [90n, "0x0100006f"],
    [180n, "0x0200006f"],
    [244224n, "0x0300006f"],
    [516608n, "0x0400006f"],
    [948224n, "0x0500006f"],
    [1353216n, "0x0600006f"],
  ]),
};

const known: readonly BeaconNetwork[] = [ethereumMainnet, sepolia, gnosisMainnet, chiado];

/** The beacon chain of an execution chain; undefined for chains that the hub has no such client for. */
export function beaconNetworkOf(chainId: number): BeaconNetwork | undefined {
  return known.find((network) => network.chainId === chainId);
}

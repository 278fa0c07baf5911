/**
 * Constants of the four beacon chains that the hub can follow.
 * Source: polytope-labs/hyperbridge: modules/consensus/sync-committee/primitives/src/constants.rs.
 */
import type { Hex } from "../../bytes.ts";
import { toConsensusClientId } from "../../ismp/state_machine.ts";
import { type BeaconNetwork, type Fork, forkNames } from "./beacon_network.ts";

const beaconClient = toConsensusClientId("BEAC");
const gnosisClient = toConsensusClientId("GNOS");

/** Forks by their first epochs in the order of the names; versions count up from the genesis version. */
function forks(
  genesisVersion: number,
  step: number,
  epochs: readonly [bigint, bigint, bigint, bigint, bigint, bigint],
): [Fork, ...Fork[]] {
  const fork = (index: number, epoch: bigint): Fork => ({
    name: forkNames[index] ?? "phase0",
    epoch,
    version: versionHex(genesisVersion + index * step),
  });
  return [fork(0, 0n), ...epochs.map((epoch, index) => fork(index + 1, epoch))];
}

function versionHex(version: number): Hex {
  return `0x${version.toString(16).padStart(8, "0")}`;
}

/** Ethereum. */
export const ethereumMainnet: BeaconNetwork = {
  chainId: 1,
  clientId: beaconClient,
  slotsPerEpoch: 32n,
  epochsPerPeriod: 256n,
  slotSec: 12,
  genesisValidatorsRoot: "0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95",
  forks: forks(0x00000000, 0x01000000, [74240n, 144896n, 194048n, 269568n, 364032n, 411392n]),
};

/** Ethereum's public test network. */
export const sepolia: BeaconNetwork = {
  chainId: 11155111,
  clientId: beaconClient,
  slotsPerEpoch: 32n,
  epochsPerPeriod: 256n,
  slotSec: 12,
  genesisValidatorsRoot: "0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078",
  forks: forks(0x90000069, 1, [50n, 100n, 56832n, 132608n, 222464n, 272640n]),
};

/** Gnosis chain. */
export const gnosisMainnet: BeaconNetwork = {
  chainId: 100,
  clientId: gnosisClient,
  slotsPerEpoch: 16n,
  epochsPerPeriod: 512n,
  slotSec: 5,
  genesisValidatorsRoot: "0xf5dcb5564e829aab27264b9becd5dfaa017085611224cb3036f573368dbb9d47",
  forks: forks(0x00000064, 0x01000000, [512n, 385536n, 648704n, 889856n, 1337856n, 1714688n]),
};

/** Gnosis chain's test network. */
export const chiado: BeaconNetwork = {
  chainId: 10200,
  clientId: gnosisClient,
  slotsPerEpoch: 16n,
  epochsPerPeriod: 512n,
  slotSec: 5,
  genesisValidatorsRoot: "0x9d642dac73058fbf39c0ae41ab1e34e4d889043cb199851ded7095bc99eb4c1e",
  forks: forks(0x0000006f, 0x01000000, [90n, 180n, 244224n, 516608n, 948224n, 1353216n]),
};

const known: readonly BeaconNetwork[] = [ethereumMainnet, sepolia, gnosisMainnet, chiado];

/** The beacon chain of an execution chain; undefined for chains that the hub has no such client for. */
export function beaconNetworkOf(chainId: number): BeaconNetwork | undefined {
  return known.find((network) => network.chainId === chainId);
}

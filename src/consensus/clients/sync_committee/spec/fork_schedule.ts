/**
 * Fork schedule of a beacon chain as its nodes serve it. Pure. Source: ethereum/beacon-APIs: apis/config/spec.yaml;
 * docs/protocol/evm-consensus.md section 5.11.
 */
import * as z from "zod";
import type { Hex } from "../../../../core/encoding/bytes.ts";
import { type BeaconNetwork, epochOfSlot, type Fork, forkNames } from "./beacon_network.ts";
import { DerivationError } from "./sync_committee_error.ts";
import type { UpdateLayout } from "./update.ts";

/** Time before a fork from which one that cannot be followed is a warning, seconds: 14 days. */
const FORK_NOTICE_SEC = 14 * 86_400;

/** Epoch of forks without a date. */
const FAR_FUTURE = 2n ** 64n - 1n;

const epochText = z.string().regex(/^[0-9]{1,20}$/).transform(BigInt);
const versionText = z.string().regex(/^0x[0-9a-fA-F]{8}$/).transform((text): Hex =>
  `0x${text.slice(2).toLowerCase()}`
);
const specShape = z.object({ data: z.record(z.string().max(100), z.unknown()) });

/**
 * The network with the forks of `/eth/v1/config/spec`. Forks that only one of the two knows are kept: a node may lag
 * behind this program or be ahead of it. @throws {DerivationError} `fork_schedule` when the node contradicts a known
 * fork. @throws {z.ZodError}
 */
export function readForkSchedule(known: BeaconNetwork, spec: unknown): BeaconNetwork {
  const { data } = specShape.parse(spec);
  const served = Object.entries(data).flatMap(([key, value]): Fork[] => {
    const [, name] = /^([A-Z0-9_]+)_FORK_EPOCH$/.exec(key) ?? [];
    if (name === undefined) return [];
    const epoch = epochText.safeParse(value);
    const version = versionText.safeParse(data[`${name}_FORK_VERSION`]);
    if (!epoch.success || !version.success || epoch.data === FAR_FUTURE) return [];
    return [{ name: name.toLowerCase(), epoch: epoch.data, version: version.data }];
  });
  const [genesis, ...later] = known.forks;
  for (const fork of later) {
    const same = served.find(({ name }) => name === fork.name);
    const differs = same !== undefined && (same.epoch !== fork.epoch || same.version !== fork.version);
    if (differs) throw new DerivationError("fork_schedule");
  }
  const added = served.filter(({ name }) => !known.forks.some((fork) => fork.name === name));
  return { ...known, forks: [genesis, ...[...later, ...added].sort((a, b) => Number(a.epoch - b.epoch))] };
}

/** A fork that stops updates, unless somebody upgrades before. */
export interface UnfollowedFork {
  readonly fork: Fork;
  /** Seconds until then; negative or zero: it is in force. */
  readonly inSec: number;
  /** Who has to be upgraded: an unknown fork needs both. */
  readonly by: "program" | "hub";
}

/**
 * The first fork, in force or within {@link FORK_NOTICE_SEC}, that cannot be followed. @param slot newest slot of the
 * chain. @param layout of updates that the hub is known to read; `undefined`: not known yet.
 */
export function findUnfollowedFork(
  network: BeaconNetwork,
  slot: bigint,
  layout: UpdateLayout | undefined,
): UnfollowedFork | undefined {
  const epoch = epochOfSlot(network, slot);
  const epochSec = Number(network.slotsPerEpoch) * network.slotSec;
  for (const fork of network.forks) {
    const by = forkNames.every((name) => name !== fork.name)
      ? "program"
      : fork.name === "gloas" && layout === "flat"
      ? "hub"
      : undefined;
    const inSec = Number(fork.epoch - epoch) * epochSec;
    if (by !== undefined && inSec <= FORK_NOTICE_SEC) return { fork, inSec, by };
  }
  return undefined;
}

/** Says what is wrong with a fork, and what to do: a sentence without a full stop. */
export function describeUnfollowedFork({ fork, inSec, by }: UnfollowedFork): string {
  const when = inSec <= 0 ? "is in force" : `comes in ${(inSec / 86_400).toFixed(1)} days`;
  const what = `fork ${fork.name} of the beacon chain (epoch ${fork.epoch}) ${when}`;
  return by === "program"
    ? `${what} and is not known to this version: upgrade this program and the hub before it`
    : `${what} and the hub's runtime does not follow it: nothing can be proved from then on until the hub is upgraded`;
}

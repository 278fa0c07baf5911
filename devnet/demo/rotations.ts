/**
 * The demo's part about the hub's own finality: the relay chain changes its authorities, and everybody who follows the hub
 * must follow that, told by the programs alone.
 */
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../src/core/ismp/signed_messages.ts";
import { HUB_SEED } from "../programs/consensus_config.ts";
import type { Devnet } from "../devnet.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS, type DevnetRole } from "../evm/accounts.ts";
import {
  type AccountNames,
  followingFaults,
  type FollowingRules,
  followingTable,
  HubFollowers,
} from "./hub_followers.ts";
import type { Progress } from "../terminal/progress.ts";

/** Account of `causeway-consensus` on EVM chains; that of `causeway` is the relayer's. */
export const PROVING_ROLE: DevnetRole = "relayer2";

/** Changes of the authority set before anything is sent, and while messages are on their way. */
const QUIET_ROTATIONS = 3;
const BUSY_ROTATIONS = 1;
/** How the programs are called in tables. */
const PROGRAMS = ["causeway-consensus", "causeway"] as const;

/** Whose account is whose: on EVM chains, and of the signatures below updates of Substrate chains. */
function accountNames(): AccountNames {
  const [proving, carrying] = PROGRAMS;
  return new Map([
    [DEVNET_ACCOUNTS[PROVING_ROLE].address.toLowerCase(), proving],
    [toHex(sr25519PublicKey(fromHex(HUB_SEED))), proving],
    [DEVNET_ACCOUNTS.relayer.address.toLowerCase(), carrying],
    [toHex(sr25519PublicKey(fromHex(DEVNET_KEYS.relayer))), carrying],
  ]);
}

/** Begins to watch who tells the chains of the hub. */
export function beginFollowing(devnet: Devnet): Promise<HubFollowers> {
  return HubFollowers.begin(devnet, accountNames());
}

/** What is followed, and where it is shown. */
export interface FollowingStage {
  readonly followers: HubFollowers;
  readonly progress: Progress;
}

/** The relay chain changes its authorities again and again; there is no message and no causeway. */
export async function rotateQuietly(stage: FollowingStage): Promise<void> {
  const { followers, progress } = stage;
  progress.say(
    `\nThe authorities of the relay chain change ${QUIET_ROTATIONS} times. No messages, causeway does not run:`,
  );
  for (let rotation = 1; rotation <= QUIET_ROTATIONS; rotation++) {
    const times = await followers.rotateAndFollow();
    const shown = times.map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`).join(", ");
    progress.say(`  rotation ${rotation}, followed after: ${shown}`);
  }
  await showFollowing(stage, { rotations: QUIET_ROTATIONS, by: PROGRAMS.slice(0, 1) });
}

/** The table of who follows the hub; everything there must be as the rules say. */
async function showFollowing({ followers, progress }: FollowingStage, rules: FollowingRules): Promise<void> {
  const seen = await followers.poll();
  const faults = followingFaults(seen, rules);
  progress.say("");
  for (const line of followingTable(seen, rules.by)) progress.say(line);
  progress.say(`(rotations, and heights of the hub: delivered by ${rules.by.join(" + by ")})\n`);
  if (faults.length > 0) throw new Error(faults.join("; "));
}

/** Changes of the set while messages are on their way. */
export async function rotateBusily({ followers }: FollowingStage): Promise<void> {
  for (let rotation = 1; rotation <= BUSY_ROTATIONS; rotation++) await followers.rotateAndFollow();
}

/** After the messages: all changes were followed, and both programs may have delivered them. */
export async function showAllRotations(stage: FollowingStage): Promise<void> {
  await showFollowing(stage, { rotations: QUIET_ROTATIONS + BUSY_ROTATIONS, by: PROGRAMS });
}

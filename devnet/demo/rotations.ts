/**
 * The demo's part about the hub's own finality: the relay chain changes its authorities, and everybody who follows the hub
 * must follow that, told by the programs alone.
 */
import type { Address } from "viem";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { signatureCodec } from "../../src/core/ismp/fees.ts";
import { type ConsensusUpdate, readFinality, readUpdatesIn } from "../hub/followed_finality.ts";
import { verifySignature } from "../hub/signatures.ts";
import { signedMessage, sr25519PublicKey, toSignerBytes } from "../../src/core/ismp/signed_messages.ts";
import { decodeStrict } from "../../src/core/encoding/scale.ts";
import type { Devnet, DevnetChain } from "../devnet.ts";
import { HOST_ABI } from "../evm/abi.ts";
import { readHubConsensus } from "../evm/host_admin.ts";
import { type Progress, table } from "../terminal/progress.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";
import { waitUntil } from "../waiting.ts";
import { HUB_SEED } from "../programs/consensus_config.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS, type DevnetRole } from "../evm/accounts.ts";

/** What one chain knows now, and what it was told since the first poll. */
export interface Following {
  readonly name: string;
  readonly stateMachine: string;
  /** Id of the authority set that it trusts. */
  readonly setId: bigint;
  readonly firstSetId: bigint;
  /** Newest height of the hub that it knows. */
  readonly height: bigint;
  /** Who made it trust the next set, one entry per change, oldest first: names, or accounts in hex. */
  readonly rotatedBy: readonly string[];
  /** Accounts that delivered heights of the hub. */
  readonly updatedBy: readonly string[];
}

/** A chain that follows the hub. */
interface Follower {
  readonly name: string;
  readonly setId: () => Promise<bigint>;
  readonly read: () => Promise<Following>;
}

/** Names of accounts, by their hex in lower case. */
type AccountNames = ReadonlyMap<string, string>;

/** All chains that follow the hub; what they were told before does not count. */
export function followHub(devnet: Devnet, names: AccountNames): Promise<readonly Follower[]> {
  return Promise.all([
    ...devnet.chains.map((chain) => followHost(chain, names)),
    ...devnet.substrateChains.map((chain) => followSubstrate(chain, devnet, names)),
  ]);
}

/** Reads what all of them know now. */
export function readFollowings(followers: readonly Follower[]): Promise<readonly Following[]> {
  return Promise.all(followers.map(({ read }) => read()));
}

/**
 * Lets the relay chain change its authority set once, and waits until every chain follows the new one.
 * @returns seconds that each took, in their order.
 * @throws {WaitFault} when a chain does not follow.
 */
export async function rotateAndFollow(
  relay: Devnet["relay"],
  followers: readonly Follower[],
): Promise<readonly { readonly name: string; readonly seconds: number }[]> {
  const before = await Promise.all(followers.map(({ setId }) => setId()));
  relay.rotate();
  const startMs = performance.now();
  return await Promise.all(followers.map(async ({ name, setId }, at) => {
    const follows = async (): Promise<boolean> => await setId() > (before[at] ?? 0n);
    await waitUntil(`${name} followed the new authorities of the relay chain`, follows, { everyMs: 250 });
    return { name, seconds: (performance.now() - startMs) / 1000 };
  }));
}

/** How a chain got updates of the hub, compared with what is wanted. */
interface FollowingRules {
  /** Changes of the set that every chain must have followed. */
  readonly rotations: number;
  /** Who may have delivered them. */
  readonly by: readonly string[];
}

/** What is wrong, a sentence each; none: all is well. */
export function followingFaults(
  followings: readonly Following[],
  { rotations, by }: FollowingRules,
): readonly string[] {
  return followings.flatMap(({ name, setId, firstSetId, rotatedBy, updatedBy }) => {
    const followed = Number(setId - firstSetId);
    const others = new Set([...rotatedBy, ...updatedBy].filter((who) => !by.includes(who)));
    return [
      ...followed < rotations ? [`${name} followed ${followed} of ${rotations} rotations`] : [],
      ...rotatedBy.length === followed ? [] : [
        `${name} trusts set ${setId} after ${firstSetId}, but ${rotatedBy.length} rotations were delivered`,
      ],
      ...[...others].map((who) => `${name} was updated by ${who}`),
    ];
  });
}

/** A line per chain, for people. */
export function followingTable(followings: readonly Following[], programs: readonly string[]): string[] {
  const byEach = (who: readonly string[]): string =>
    programs.map((program) => who.filter((each) => each === program).length).join(" + ");
  return table([
    ["who follows the hub", "authority set", "rotations", "heights", "newest height"],
    ...followings.map(({ name, stateMachine, firstSetId, setId, height, rotatedBy, updatedBy }) => [
      `${name} (${stateMachine})`,
      `${firstSetId} -> ${setId}`,
      byEach(rotatedBy),
      byEach(updatedBy),
      `${height}`,
    ]),
  ]);
}

async function followHost(
  { name, stateMachine, host }: DevnetChain,
  names: AccountNames,
): Promise<Follower> {
  const { reader } = host;
  const at = { address: host.addresses.host, abi: HOST_ABI } as const;
  const setId = async (): Promise<bigint> => (await readHubConsensus(host)).current.id;
  const firstSetId = await setId();
  const range = { ...at, fromBlock: await reader.getBlockNumber() + 1n, strict: true } as const;
  const nameOf = (account: Address): string => names.get(account.toLowerCase()) ?? account.toLowerCase();
  const read = async (): Promise<Following> => {
    const [epochs, updates] = await Promise.all([
      reader.getContractEvents({ ...range, eventName: "NewEpoch" }),
      reader.getContractEvents({ ...range, eventName: "StateMachineUpdated" }),
    ]);
    const senders = await Promise.all(
      updates.map(({ transactionHash: hash }) => reader.getTransaction({ hash })),
    );
    // The first proof of any kind tells the epoch of the set that the host trusts from the start.
    const changes = epochs.filter(({ args }) => args.authoritySetId > firstSetId);
    return {
      name,
      stateMachine,
      firstSetId,
      setId: await setId(),
      height: await reader.readContract({
        ...at,
        functionName: "latestStateMachineHeight",
        args: [host.hub.paraId],
      }),
      rotatedBy: changes.map(({ args }) => nameOf(args.relayer)),
      updatedBy: senders.map(({ from }) => nameOf(from)),
    };
  };
  return { name, setId, read };
}

async function followSubstrate(
  { name, stateMachine, node }: DevnetSubstrateChain,
  { hub }: Pick<Devnet, "hub">,
  names: AccountNames,
): Promise<Follower> {
  const setId = async (block = node.best.number): Promise<bigint> =>
    (await readFinality(node, hub.identity.consensusStateId, block)).setId;
  const first = node.best.number;
  const firstSetId = await setId(first);
  const read = async (): Promise<Following> => {
    const rotatedBy: string[] = [];
    const updatedBy: string[] = [];
    const last = node.best.number;
    for (let block = first + 1; block <= last; block++) {
      const signers = (await readUpdatesIn(node, block)).flat().map(signerOf);
      if (signers.length === 0) continue;
      const who = signers.map((signer) => signer === undefined ? "nobody" : names.get(signer) ?? signer);
      updatedBy.push(...who);
      rotatedBy.push(...who.slice(0, Number(await setId(block) - await setId(block - 1))));
    }
    return {
      name,
      stateMachine,
      firstSetId,
      setId: await setId(last),
      height: node.latestHeight(hub.identity) ?? 0n,
      rotatedBy,
      updatedBy,
    };
  };
  return { name, setId, read };
}

/** Who signed an update; undefined where the signature is none of the proof. */
function signerOf({ consensusProof, signer }: ConsensusUpdate): string | undefined {
  const signature = decodeStrict(signatureCodec, signer, "Signature");
  const isSigned = verifySignature(signedMessage(consensusProof).digest, signature);
  return isSigned ? toHex(toSignerBytes(signature)) : undefined;
}

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
export function beginFollowing(devnet: Devnet): Promise<readonly Follower[]> {
  return followHub(devnet, accountNames());
}

/** What is followed, and where it is shown. */
interface FollowingStage {
  readonly devnet: Devnet;
  readonly followers: readonly Follower[];
  readonly progress: Progress;
}

/** The relay chain changes its authorities again and again; there is no message and no causeway. */
export async function rotateQuietly(stage: FollowingStage): Promise<void> {
  const { devnet, followers, progress } = stage;
  progress.say(
    `\nThe authorities of the relay chain change ${QUIET_ROTATIONS} times. No messages, causeway does not run:`,
  );
  for (let rotation = 1; rotation <= QUIET_ROTATIONS; rotation++) {
    const times = await rotateAndFollow(devnet.relay, followers);
    const shown = times.map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`).join(", ");
    progress.say(`  rotation ${rotation}, followed after: ${shown}`);
  }
  await showFollowing(stage, { rotations: QUIET_ROTATIONS, by: PROGRAMS.slice(0, 1) });
}

/** The table of who follows the hub; everything there must be as the rules say. */
async function showFollowing({ followers, progress }: FollowingStage, rules: FollowingRules): Promise<void> {
  const seen = await readFollowings(followers);
  const faults = followingFaults(seen, rules);
  progress.say("");
  for (const line of followingTable(seen, rules.by)) progress.say(line);
  progress.say(`(rotations, and heights of the hub: delivered by ${rules.by.join(" + by ")})\n`);
  if (faults.length > 0) throw new Error(faults.join("; "));
}

/** Changes of the set while messages are on their way. */
export async function rotateBusily({ devnet, followers }: FollowingStage): Promise<void> {
  for (let rotation = 1; rotation <= BUSY_ROTATIONS; rotation++) {
    await rotateAndFollow(devnet.relay, followers);
  }
}

/** After the messages: all changes were followed, and both programs may have delivered them. */
export async function showAllRotations(stage: FollowingStage): Promise<void> {
  await showFollowing(stage, { rotations: QUIET_ROTATIONS + BUSY_ROTATIONS, by: PROGRAMS });
}

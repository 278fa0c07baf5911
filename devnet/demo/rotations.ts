/**
 * The demo's part about the hub's own finality: the relay chain changes its authorities, and everybody who follows the hub
 * must follow that, told by the programs alone.
 */
import type { Address } from "viem";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { signatureCodec } from "../../src/core/ismp/fees.ts";
import { type ConsensusUpdate, readFinality, readUpdatesIn } from "../hub/followed_finality.ts";
import { verifySignature } from "../hub/signatures.ts";
import {
  consensusSignerMessage,
  sr25519PublicKey,
  toSignerBytes,
} from "../../src/core/ismp/signed_messages.ts";
import { decodeStrict } from "../../src/core/encoding/scale.ts";
import type { Devnet, DevnetChain } from "../devnet.ts";
import { HOST_ABI } from "../evm/abi.ts";
import { readHubConsensus } from "../evm/host_admin.ts";
import { type Progress, table } from "../terminal/progress.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";
import { Patience, pause, WaitFault } from "../waiting.ts";
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

/** State that one poll of a chain found. */
type FollowerState = Pick<Following, "setId" | "height" | "rotatedBy" | "updatedBy">;

/** One chain, with what was read of it so far. */
interface Follower {
  readonly name: string;
  readonly stateMachine: string;
  readonly firstSetId: bigint;
  readonly poll: () => Promise<FollowerState>;
}

/** Names of accounts, by their hex in lower case. */
type AccountNames = ReadonlyMap<string, string>;

/** All chains that follow the hub. */
export class HubFollowers {
  readonly #followers: readonly Follower[];
  readonly #relay: Devnet["relay"];

  private constructor(relay: Devnet["relay"], followers: readonly Follower[]) {
    this.#relay = relay;
    this.#followers = followers;
  }

  /** Looks for the first time: what was before does not count. */
  static async begin(devnet: Devnet, names: AccountNames): Promise<HubFollowers> {
    return new HubFollowers(
      devnet.relay,
      await Promise.all([
        ...devnet.chains.map((chain) => followHost(chain, names)),
        ...devnet.substrateChains.map((chain) => followSubstrate(chain, devnet, names)),
      ]),
    );
  }

  /** Looks at all chains, in their order. */
  poll(): Promise<readonly Following[]> {
    return Promise.all(
      this.#followers.map(async ({ poll, ...follower }) => ({ ...follower, ...await poll() })),
    );
  }

  /**
   * Lets the relay chain change its authority set once, and waits until every chain follows the new one.
   * @returns seconds that each took, in their order.
   * @throws {WaitFault} when no chain follows for a while.
   */
  async rotateAndFollow(): Promise<readonly { readonly name: string; readonly seconds: number }[]> {
    const patience = new Patience();
    const wanted = (await this.poll()).map(({ setId }) => setId + 1n);
    this.#relay.rotate();
    const startMs = performance.now();
    const seconds = new Map<string, number>();
    for (;;) {
      const seen = await this.poll();
      for (const [at, { name, setId }] of seen.entries()) {
        if (setId >= (wanted[at] ?? 0n) && !seconds.has(name)) {
          seconds.set(name, (performance.now() - startMs) / 1000);
          patience.renew();
        }
      }
      if (seconds.size === seen.length) break;
      if (patience.isOver) {
        const late = seen.filter(({ name }) => !seconds.has(name)).map(({ name }) => name);
        throw new WaitFault(`${late.join(", ")} followed the new authorities of the relay chain`, patience);
      }
      await pause(POLL_EVERY_MS);
    }
    return [...seconds].map(([name, each]) => ({ name, seconds: each }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }
}

/** Time between two polls while a rotation is waited for. */
const POLL_EVERY_MS = 250;

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
  const firstSetId = (await readHubConsensus(host)).current.id;
  let read = await reader.getBlockNumber();
  const rotatedBy: string[] = [];
  const updatedBy: string[] = [];
  const nameOf = (account: Address): string => names.get(account.toLowerCase()) ?? account.toLowerCase();
  const poll = async (): Promise<FollowerState> => {
    const [head, { current }, height] = await Promise.all([
      reader.getBlockNumber(),
      readHubConsensus(host),
      reader.readContract({ ...at, functionName: "latestStateMachineHeight", args: [host.hub.paraId] }),
    ]);
    if (head > read) {
      const range = { ...at, fromBlock: read + 1n, toBlock: head } as const;
      const [epochs, updates] = await Promise.all([
        reader.getContractEvents({ ...range, eventName: "NewEpoch", strict: true }),
        reader.getContractEvents({ ...range, eventName: "StateMachineUpdated", strict: true }),
      ]);
      read = head;
      // The first proof of any kind tells the epoch of the set that the host trusts from the start.
      const changes = epochs.filter(({ args }) => args.authoritySetId > firstSetId);
      rotatedBy.push(...changes.map(({ args }) => nameOf(args.relayer)));
      const senders = await Promise.all(
        updates.map(({ transactionHash: hash }) => reader.getTransaction({ hash })),
      );
      updatedBy.push(...senders.map(({ from }) => nameOf(from)));
    }
    return { setId: current.id, height, rotatedBy, updatedBy };
  };
  return { name, stateMachine, firstSetId, poll: oneByOne(poll) };
}

async function followSubstrate(
  { name, stateMachine, node }: DevnetSubstrateChain,
  { hub }: Pick<Devnet, "hub">,
  names: AccountNames,
): Promise<Follower> {
  const setAt = async (block: number): Promise<bigint> =>
    (await readFinality(node, hub.identity.consensusStateId, block)).setId;
  let read = node.best.number;
  const firstSetId = await setAt(read);
  let setId = firstSetId;
  const rotatedBy: string[] = [];
  const updatedBy: string[] = [];
  const poll = async (): Promise<FollowerState> => {
    for (; read < node.best.number; read++) {
      const block = read + 1;
      const signers = (await readUpdatesIn(node, block)).flat().map(signerOf);
      if (signers.length === 0) continue;
      const who = signers.map((signer) => signer === undefined ? "nobody" : names.get(signer) ?? signer);
      updatedBy.push(...who);
      const after = await setAt(block);
      rotatedBy.push(...who.slice(0, Number(after - setId)));
      setId = after;
    }
    return { setId, height: node.latestHeight(hub.identity) ?? 0n, rotatedBy, updatedBy };
  };
  return { name, stateMachine, firstSetId, poll: oneByOne(poll) };
}

/** Who signed an update; undefined where the signature is none of the proof. */
function signerOf({ consensusProof, signer }: ConsensusUpdate): string | undefined {
  const signature = decodeStrict(signatureCodec, signer, "Signature");
  const isSigned = verifySignature(consensusSignerMessage(consensusProof).digest, signature);
  return isSigned ? toHex(toSignerBytes(signature)) : undefined;
}

/** Looks do not overlap: what a block tells counts once. */
function oneByOne<T>(poll: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  return () => {
    const mine = running.then(poll);
    running = mine.catch(() => undefined);
    return mine;
  };
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
export function beginFollowing(devnet: Devnet): Promise<HubFollowers> {
  return HubFollowers.begin(devnet, accountNames());
}

/** What is followed, and where it is shown. */
interface FollowingStage {
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

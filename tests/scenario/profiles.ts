/**
 * Plays the profiles of `devnet/profiles` with the compiled programs and prints their table.
 *
 * Usage: `deno task profiles [--write] [--logs=DIR] [NAME | NAME+NAME+...]...`. Without names all are played, several at
 * a time; names that are joined by `+` are one round. With `--write` what was played goes into the table of
 * `docs/profiles.md`, row by row, and the other rows stay; with `--logs` the log of each round goes into that folder.
 */
import type { Devnet } from "../../devnet/devnet.ts";
import { BEACON_PROFILES } from "../../devnet/profiles/beacon_profiles.ts";
import { EVM_PROFILES } from "../../devnet/profiles/evm_profiles.ts";
import type { Profile } from "../../devnet/profiles/profile.ts";
import type { RpcBehaviour } from "../../devnet/profiles/rpc_behaviour.ts";
import { SUBSTRATE_PROFILES } from "../../devnet/profiles/substrate_profiles.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import {
  playBeaconProfile,
  playProfiles,
  playRefused,
  type ProfileResult,
  startProfileDevnet,
} from "./support/profile_scene.ts";
import { playConsensus } from "./support/consensus_scene.ts";
import { type AnyProfile, tableOf, updateTable } from "./support/profile_table.ts";

const DOCUMENT = `${REPOSITORY}/docs/profiles.md`;
const ALL: readonly AnyProfile[] = [...EVM_PROFILES, ...SUBSTRATE_PROFILES, ...BEACON_PROFILES];

/** Profiles of EVM nodes, one of which shows traces and one of which does not, between which hostile modules take part. */
const WITH_HOSTILES: ReadonlySet<string> = new Set(["geth-default", "small-bodies"]);

/** How a profile went. */
interface Outcome {
  readonly profile: AnyProfile;
  readonly result: string;
  readonly hasFailed: boolean;
}

/** Profiles that are played at once: of the chains A and B, and of the hub. */
interface Round {
  readonly evm: readonly Profile<RpcBehaviour>[];
  readonly hub?: Profile<RpcBehaviour> | undefined;
}

/** What the command line asks for. */
interface Wish {
  readonly names: readonly string[];
  readonly writes: boolean;
  readonly logs: string | undefined;
}

/** Has a round played and says how it went; faults are told whole. */
async function outcomesOf(
  profiles: readonly AnyProfile[],
  play: () => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> {
  const startMs = performance.now();
  const name = profiles.map((profile) => profile.name).join("+");
  const took = (): string => inSeconds(performance.now() - startMs);
  try {
    const outcomes = await play();
    for (const { profile, result } of outcomes) say(`${profile.name}: ${result}`);
    say(`-- ${name} took ${took()}`);
    return outcomes;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    say(`${name}: FAILED after ${took()}\n${text}`);
    const [first] = text.split("\n");
    return profiles.map((profile) => ({ profile, result: `fails: ${first}`, hasFailed: true }));
  }
}

/** The rounds that were named, else two EVM profiles and one of a Substrate node at a time, for as long as there are some. */
function roundsOf(names: readonly string[]): readonly Round[] {
  const serving = ({ refusal }: AnyProfile): boolean => refusal === undefined;
  const hubs = SUBSTRATE_PROFILES.filter(serving);
  const rounds = names.filter((name) => name.includes("+")).map((name): Round => {
    const members = name.split("+");
    return {
      evm: EVM_PROFILES.filter((profile) => members.includes(profile.name)),
      hub: hubs.find((profile) => members.includes(profile.name)),
    };
  });
  const isSingle = ({ name }: AnyProfile): boolean => names.length === 0 || names.includes(name);
  // Those between which hostile modules take part come first, and so together.
  const evm = EVM_PROFILES.filter((profile) => serving(profile) && isSingle(profile))
    .toSorted((one, other) => Number(WITH_HOSTILES.has(other.name)) - Number(WITH_HOSTILES.has(one.name)));
  const single = hubs.filter(isSingle);
  const count = Math.max(Math.ceil(evm.length / 2), single.length);
  const rest = Array.from(
    { length: count },
    (_, at): Round => ({ evm: evm.slice(at * 2, at * 2 + 2), hub: single[at] }),
  );
  return [...rounds, ...rest];
}

function profilesOf({ evm, hub }: Round): readonly Profile<RpcBehaviour>[] {
  return [...new Set([...evm, ...hub === undefined ? [] : [hub]])];
}

/** The profiles of a round, each alone. */
function aloneOf({ evm, hub }: Round): readonly Round[] {
  return [...evm.map((profile) => ({ evm: [profile] })), ...hub === undefined ? [] : [{ evm: [], hub }]];
}

/** Messaging through these nodes. Where a round fails, each of its profiles is played alone to see which it was. */
async function playMessaging(
  wish: Wish,
  tell: (outcomes: readonly Outcome[]) => Promise<void>,
): Promise<void> {
  const open = [...roundsOf(wish.names)];
  const refused = [
    ...EVM_PROFILES.map((profile) => ({ profile, kind: "evm" as const })),
    ...SUBSTRATE_PROFILES.map((profile) => ({ profile, kind: "hub" as const })),
  ].filter(({ profile: { name, refusal } }) =>
    refusal !== undefined && (wish.names.length === 0 || wish.names.includes(name))
  );
  while (open.length > 0 || refused.length > 0) {
    await using devnet = await startProfileDevnet();
    // A devnet on which something has failed is not used again.
    for (let isGood = true; isGood && (open.length > 0 || refused.length > 0);) {
      const next = refused.shift();
      if (next !== undefined) {
        const { profile, kind } = next;
        const outcomes = await outcomesOf([profile], async () => {
          const result = await playRefused(devnet, profile, kind, logOf(wish, [profile]));
          return [{ profile, result, hasFailed: false }];
        });
        isGood = !outcomes.some(({ hasFailed }) => hasFailed);
        await tell(outcomes);
        continue;
      }
      const round = open.shift();
      if (round === undefined) break;
      const profiles = profilesOf(round);
      const outcomes = await outcomesOf(profiles, () => playRound(devnet, round, wish));
      // A limit that was never met is the fault of one profile, and nothing is wrong with the devnet.
      isGood = !outcomes.every(({ hasFailed }) => hasFailed);
      if (isGood || profiles.length === 1) await tell(outcomes);
      else open.unshift(...aloneOf(round));
    }
  }
}

async function playRound(devnet: Devnet, round: Round, wish: Wish): Promise<readonly Outcome[]> {
  const { hub } = round;
  // Nodes of a certain kind of chain are nodes of the first one.
  const [a, b = a] = round.evm.toSorted((one, other) =>
    Number(one.onlyOf === undefined) - Number(other.onlyOf === undefined)
  );
  const cast = {
    ...a === undefined || b === undefined ? {} : { evm: [a, b] as const },
    ...hub === undefined ? {} : { hub },
  };
  const profiles = profilesOf(round);
  const hostile = [...WITH_HOSTILES].every((name) => profiles.some((profile) => profile.name === name));
  const result = await playProfiles(devnet, cast, { hostile, ...logOf(wish, profiles) });
  say(`-- ${result.stages.map(({ name, ms }) => `${name} ${inSeconds(ms)}`).join(", ")}`);
  return profiles.map((profile) => outcomeOf(profile, result, hostile));
}

function outcomeOf(profile: AnyProfile, result: ProfileResult, hostile: boolean): Outcome {
  const { largest, strikes } = result;
  const unmet = unmetIn(strikes.get(profile.name));
  if (unmet.length > 0) {
    const { request, answer } = largest.get(profile.name) ?? { request: 0, answer: 0 };
    const sizes = `largest request ${request} bytes, largest answer ${answer} bytes`;
    return { profile, result: `fails: never met ${unmet.join(", ")} (${sizes})`, hasFailed: true };
  }
  return { profile, result: hostile ? "served, beside hostile modules" : "served", hasFailed: false };
}

/** Kinds of behaviour that no client has met. */
function unmetIn(strikes: ReadonlyMap<string, number> | undefined): readonly string[] {
  return [...strikes ?? []].filter(([, count]) => count === 0).map(([kind]) => kind);
}

function logOf({ logs }: Wish, profiles: readonly AnyProfile[]): { readonly logPath?: string } {
  return logs === undefined ? {} : { logPath: `${logs}/${profiles.map(({ name }) => name).join("+")}.log` };
}

async function playBeacons(
  { names }: Wish,
  tell: (outcomes: readonly Outcome[]) => Promise<void>,
): Promise<void> {
  const open = BEACON_PROFILES.filter(({ name }) => names.length === 0 || names.includes(name));
  const steps = {
    step: async (_: string, play: () => Promise<void>): Promise<boolean> => {
      await play();
      return true;
    },
  };
  while (open.length > 0) {
    let isGood = true;
    // A devnet on which something has failed is not used again.
    const round = playConsensus(steps, { kinds: ["beacon"] }, async (scene) => {
      while (isGood) {
        const profile = open.shift();
        if (profile === undefined) break;
        const outcomes = await outcomesOf([profile], async () => {
          try {
            const unmet = unmetIn(await playBeaconProfile(scene, profile));
            const hasFailed = unmet.length > 0;
            const result = hasFailed ? `fails: never met ${unmet.join(", ")}` : "served";
            return [{ profile, result, hasFailed }];
          } catch (error) {
            const text = error instanceof Error ? error.message : String(error);
            throw new Error(`${text}\n${scene.describe()}`, { cause: error });
          }
        });
        isGood = !outcomes.some(({ hasFailed }) => hasFailed);
        await tell(outcomes);
      }
    });
    try {
      await round;
    } catch (error) {
      if (isGood) throw error; // else it was told already
    }
  }
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

/** @throws {RangeError} for a name that no profile has */
function readWish(args: readonly string[]): Wish {
  const names = args.filter((argument) => !argument.startsWith("--"));
  const unknown = names.flatMap((name) => name.split("+")).find((name) =>
    !ALL.some((each) => each.name === name)
  );
  if (unknown !== undefined) throw new RangeError(`No profile ${unknown}`);
  return {
    names,
    writes: args.includes("--write"),
    logs: args.find((argument) => argument.startsWith("--logs="))?.slice("--logs=".length),
  };
}

async function main(): Promise<void> {
  const wish = readWish(Deno.args);
  if (wish.logs !== undefined) await Deno.mkdir(wish.logs, { recursive: true });
  const played: Outcome[] = [];
  const tell = async (outcomes: readonly Outcome[]): Promise<void> => {
    played.push(...outcomes);
    // At once: a run of an hour may be ended before its end.
    if (wish.writes) await write(outcomes);
  };
  await playMessaging(wish, tell);
  await playBeacons(wish, tell);
  const results = new Map(played.map(({ profile, result }) => [profile.name, result]));
  say(tableOf(ALL.filter(({ name }) => results.has(name)), results));
  if (played.some(({ hasFailed }) => hasFailed)) Deno.exit(1);
}

async function write(outcomes: readonly Outcome[]): Promise<void> {
  const results = new Map(outcomes.map(({ profile, result }) => [profile.name, result]));
  await Deno.writeTextFile(DOCUMENT, updateTable(await Deno.readTextFile(DOCUMENT), ALL, results));
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", DOCUMENT] }).output();
}

if (import.meta.main) await main();

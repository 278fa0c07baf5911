/**
 * Plays every profile of `tests/devnet/profiles`, one after the other, with the compiled programs, and prints the table
 * of them. Usage: `deno task profiles [--write] [NAME]...`; with `--write` the table replaces the one in
 * `docs/profiles.md`.
 */
import type { Devnet } from "../devnet/devnet.ts";
import { BEACON_PROFILES } from "../devnet/profiles/beacon_profiles.ts";
import { EVM_PROFILES } from "../devnet/profiles/evm_profiles.ts";
import { type Profile, realOf } from "../devnet/profiles/profile.ts";
import type { RestBehaviour } from "../devnet/profiles/rest_behaviour.ts";
import type { RpcBehaviour } from "../devnet/profiles/rpc_behaviour.ts";
import { SUBSTRATE_PROFILES } from "../devnet/profiles/substrate_profiles.ts";
import { REPOSITORY } from "../devnet/repository.ts";
import { assertMet, playBeaconProfile } from "./support/beacon_profile_scene.ts";
import { playConsensus } from "./support/consensus_scene.ts";
import { playProfiles, startProfileDevnet } from "./support/profile_scene.ts";

const DOCUMENT = `${REPOSITORY}/docs/profiles.md`;

/** How a profile went. */
interface Outcome {
  readonly profile: Profile<RpcBehaviour | RestBehaviour>;
  readonly result: string;
  readonly seconds: number;
  readonly hasFailed: boolean;
}

type Play = () => Promise<string>;

/** Plays one and says how it went; faults are told whole on stderr. */
async function outcomeOf(profile: Outcome["profile"], play: Play): Promise<Outcome> {
  const startMs = performance.now();
  const seconds = (): number => Math.round((performance.now() - startMs) / 1000);
  try {
    const result = await play();
    say(`${profile.name}: ${result} (${seconds()} s)`);
    return { profile, result, seconds: seconds(), hasFailed: false };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    say(`${profile.name}: FAILED after ${seconds()} s\n${text}`);
    return { profile, result: `fails: ${text.split("\n")[0]}`, seconds: seconds(), hasFailed: true };
  }
}

/** Profiles that are played at once: of the chains A and B, and of the hub. */
interface Round {
  readonly evm: readonly Profile<RpcBehaviour>[];
  readonly hub?: Profile<RpcBehaviour>;
}

/** Two EVM profiles and one of a Substrate node at a time, for as long as there are some. */
function roundsOf(wanted: (name: string) => boolean): readonly Round[] {
  const evm = EVM_PROFILES.filter(({ name }) => wanted(name));
  const hubs = SUBSTRATE_PROFILES.filter(({ name }) => wanted(name));
  const count = Math.max(Math.ceil(evm.length / 2), hubs.length);
  return Array.from({ length: count }, (_, at) => {
    const hub = hubs[at];
    return { evm: evm.slice(at * 2, at * 2 + 2), ...hub === undefined ? {} : { hub } };
  });
}

/** The profiles of a round, each alone. */
function aloneOf({ evm, hub }: Round): readonly Round[] {
  return [
    ...evm.map((profile) => ({ evm: [profile, profile] })),
    ...hub === undefined ? [] : [{ evm: [], hub }],
  ];
}

/** Messaging through these nodes. Where a round fails, each of its profiles is played alone to see which it was. */
async function playMessaging(wanted: (name: string) => boolean): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const open = [...roundsOf(wanted)];
  while (open.length > 0) {
    await using devnet = await startProfileDevnet();
    // A devnet on which something has failed is not used again.
    for (let isGood = true; isGood && open.length > 0;) {
      const [round] = open.splice(0, 1);
      if (round === undefined) break;
      const played = await playRound(devnet, round);
      isGood = !played.some(({ hasFailed }) => hasFailed);
      if (isGood || played.length === 1) outcomes.push(...played);
      else open.unshift(...aloneOf(round));
    }
  }
  return outcomes;
}

async function playRound(devnet: Devnet, { evm, hub }: Round): Promise<readonly Outcome[]> {
  const [a, b = a] = evm;
  const cast = {
    ...a === undefined || b === undefined ? {} : { evm: [a, b] as const },
    ...hub === undefined ? {} : { hub },
  };
  const profiles = [...new Set([...evm, ...hub === undefined ? [] : [hub]])];
  const [first] = profiles;
  if (first === undefined) return [];
  const together = { ...first, name: profiles.map(({ name }) => name).join(" + ") };
  const outcome = await outcomeOf(together, async () => {
    const { deliveredMs, claimedMs } = await playProfiles(devnet, cast);
    return `arrived after ${inSeconds(deliveredMs)}, claimed after ${inSeconds(claimedMs)}`;
  });
  return profiles.map((profile) => ({ ...outcome, profile }));
}

async function playBeacons(wanted: (name: string) => boolean): Promise<readonly Outcome[]> {
  const plans = BEACON_PROFILES.filter(({ name }) => wanted(name));
  const outcomes: Outcome[] = [];
  while (outcomes.length < plans.length) {
    const steps = {
      step: async (_: string, play: () => Promise<void>): Promise<boolean> => {
        await play();
        return true;
      },
    };
    try {
      await playConsensus(steps, { kinds: ["beacon"] }, async (scene) => {
        for (const profile of plans.slice(outcomes.length)) {
          const outcome = await outcomeOf(profile, async () => {
            const { provedMs, strikes } = await playBeaconProfile(scene, profile);
            assertMet(profile.name, strikes);
            return `proved after ${inSeconds(provedMs)}`;
          });
          outcomes.push(outcome);
          if (outcome.hasFailed) throw new Error(`${profile.name}\n${scene.describe()}`);
        }
      });
    } catch (error) {
      if (outcomes.at(-1)?.hasFailed !== true) throw error;
      say(error instanceof Error ? error.message : String(error));
    }
  }
  return outcomes;
}

/** The table as Markdown. */
function tableOf(outcomes: readonly Outcome[]): string {
  const head = ["Profile", "Imitates", "Behaviour (as documented)", "Result", "Sources"];
  const rows = outcomes.map(({ profile: { name, imitates, behaviours, sources, needsSecond }, result }) => [
    `\`${name}\``,
    needsSecond === undefined ? imitates : `${imitates} (${needsSecond}: a second endpoint stands beside it)`,
    behaviours.map(describe).join("; "),
    result,
    sources.map(linked).join(", "),
  ]);
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A behaviour with its limit, in words. */
function describe(behaviour: RpcBehaviour | RestBehaviour): string {
  const limits =
    (["blocks", "results", "calls", "bytes", "perSec", "timeoutMs", "afterMs", "delayMs"] as const)
      .flatMap((field) => {
        const limit: unknown = Object(behaviour)[field];
        if (typeof limit === "number") return [`${field} ${limit}`];
        const real: unknown = Object(limit).real;
        return typeof real === "number" ? [`${field} ${realOf({ real, played: real })}`] : [];
      });
  return [behaviour.kind, ...limits].join(" ");
}

/** A source with its address, where it is a thread or a page. */
function linked(source: string): string {
  const thread = /^([\w.-]+\/[\w.-]+)#(\d+)/.exec(source);
  if (thread !== null) return `[${source}](https://github.com/${thread[1]}/issues/${thread[2]})`;
  return source.startsWith("https://") ? source.replace(/^(\S+)/, "<$1>") : source;
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

async function main(): Promise<void> {
  const names = Deno.args.filter((argument) => !argument.startsWith("--"));
  const wanted = (name: string): boolean => names.length === 0 || names.includes(name);
  const outcomes = [...await playMessaging(wanted), ...await playBeacons(wanted)];
  const table = tableOf(outcomes);
  say(table);
  if (Deno.args.includes("--write")) await replaceTable(table);
  if (outcomes.some(({ hasFailed }) => hasFailed)) Deno.exit(1);
}

/** The table stands between two marks. */
async function replaceTable(table: string): Promise<void> {
  const text = await Deno.readTextFile(DOCUMENT);
  const [before, , after] = text.split(/<!-- table(?: ends)? -->\n/);
  if (before === undefined || after === undefined) throw new Error(`${DOCUMENT} has no marks for the table`);
  await Deno.writeTextFile(
    DOCUMENT,
    `${before}<!-- table -->\n${table}\n<!-- table ends -->\n${after}`,
  );
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", DOCUMENT] }).output();
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) await main();

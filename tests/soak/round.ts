/**
 * One round: a devnet with both compiled programs, messages on every way, and troubles until a time at which everything
 * works again. Then every message that its chain still knows has to arrive, and all invariants of scenarios have to hold.
 */
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import type { Devnet } from "../../devnet/devnet.ts";
import { sendPing, type SentMessage } from "../../devnet/traffic/messages.ts";
import { pause, untilAborted } from "../../devnet/waiting.ts";
import { TOKEN } from "../scenario/support/fee_accounts.ts";
import type { RelayerProcess } from "../scenario/support/relayer_process.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "../scenario/support/scene.ts";
import { FakedClock, SmallDisk } from "./machine.ts";
import {
  describeTrouble,
  type Means,
  type PlannedMessages,
  type PlannedTrouble,
  planRound,
  type RoundPlan,
} from "./plan.ts";
import { Stage } from "./stage.ts";
import { Supervisor, type UnaskedEnd } from "./supervisor.ts";

/** Longest wait for the messages of a round after its last trouble; back-offs of minutes end within it. */
const DEADLINE_MS = 900_000;

/** Transactions that troubles may revert: a batch whose block was lost, or that a process sent before it died. */
const MAX_REVERTS = 20;

/** How it is played. */
export interface RoundOptions {
  readonly seed: number;
  readonly means: Means;
  /** Told each trouble when it begins. */
  readonly say: (line: string) => void;
  /** File that gets the whole log of the relayer when the round fails. */
  readonly logPath: string;
  /** Gives the round up. */
  readonly signal: AbortSignal;
}

/** What happened. */
export interface RoundResult {
  readonly troubles: number;
  /** Messages sent, and those among them that reorganisations removed from their source. */
  readonly sent: number;
  readonly removed: number;
  readonly processes: number;
  /** Ends of processes that nobody had asked for, e.g. without room on the disk. */
  readonly unasked: readonly UnaskedEnd[];
}

/** @throws {Error} when a message does not arrive or an invariant does not hold */
export async function playRound(options: RoundOptions): Promise<RoundResult> {
  const { seed, means, logPath } = options;
  const plan = planRound(seed, means);
  await using devnet = await startSceneDevnet({ acceptsProofs: {}, feeds: "each" });
  let result: RoundResult | undefined;
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    try {
      await Deno.mkdir(relayer.folder, { recursive: true });
      await using disk = means.disk ? await SmallDisk.mount(relayer.folder) : null;
      const clock = means.clock ? await FakedClock.create(scene.folder) : undefined;
      await using stage = await Stage.set(devnet, { clock, disk: disk ?? undefined });
      await using supervisor = new Supervisor(
        relayer,
        stage.changes,
        clock ? { env: clock.environment } : {},
      );
      const { sent, left } = await Promise.race([
        play({ scene, relayer, stage, supervisor }, plan, options.say),
        failWhenAborted(options.signal),
      ]);
      await supervisor[Symbol.asyncDispose]();
      await scene.finish({
        mostReverts: MAX_REVERTS,
        allowedErrors: [({ record }) => record !== undefined],
      });
      result = {
        troubles: plan.troubles.length,
        sent: sent.length,
        removed: sent.length - left.length,
        processes: relayer.processes.length,
        unasked: supervisor.unasked,
      };
    } catch (error) {
      await keepLog(relayer.processes, logPath);
      throw error;
    }
  });
  if (result === undefined) throw new Error("The round ended without a result");
  return result;
}

interface Cast {
  readonly scene: Scene;
  readonly relayer: SceneRelayer;
  readonly stage: Stage;
  readonly supervisor: Supervisor;
}

/** Sends and troubles; resolves when all that is `left` of the messages has arrived and nothing is open any more. */
async function play(
  cast: Cast,
  plan: RoundPlan,
  say: (line: string) => void,
): Promise<{ readonly sent: readonly SentMessage[]; readonly left: readonly SentMessage[] }> {
  const { scene, relayer, supervisor } = cast;
  await supervisor.start();
  const [sent] = await Promise.all([
    sendAll(scene.devnet, plan.messages),
    ...plan.troubles.map((each) => trouble(each, cast, say)),
    pause(plan.endsAtMs),
  ]);
  say("everything works again");
  const left = await withoutRemoved(scene.devnet, sent);
  await scene.untilDelivered(left, DEADLINE_MS);
  await relayer.untilEnded(left, DEADLINE_MS);
  await relayer.untilSettled(DEADLINE_MS);
  return { sent, left };
}

/** @throws the signal's reason when it is aborted */
async function failWhenAborted(signal: AbortSignal): Promise<never> {
  await untilAborted(signal);
  throw signal.reason;
}

async function trouble(
  planned: PlannedTrouble,
  { stage, supervisor }: Cast,
  say: (line: string) => void,
): Promise<void> {
  await pause(planned.atMs);
  say(describeTrouble(planned));
  const end = await stage.begin(planned.trouble, supervisor);
  await pause(planned.forMs);
  await end();
}

async function sendAll(devnet: Devnet, planned: readonly PlannedMessages[]): Promise<readonly SentMessage[]> {
  const parts = await Promise.all(planned.map(async ({ atMs, from, to, count }) => {
    await pause(atMs);
    return await sendPing(devnet, { from, to, count, fee: to === "hub" ? 0n : 2n * TOKEN });
  }));
  return parts.flat();
}

/** The messages that their source still knows: a reorganisation takes some away, and nobody can deliver those. */
async function withoutRemoved(
  devnet: Devnet,
  sent: readonly SentMessage[],
): Promise<readonly SentMessage[]> {
  const isThere = await Promise.all(sent.map(async ({ commitment, request }) => {
    const { host } = devnet.chain(request.source);
    const { sender } = await host.reader.readContract({
      address: host.addresses.host,
      abi: HOST_ABI,
      functionName: "requestCommitments",
      args: [commitment],
    });
    return BigInt(sender) !== 0n;
  }));
  return sent.filter((_, at) => isThere[at]);
}

async function keepLog(processes: readonly RelayerProcess[], path: string): Promise<void> {
  await Deno.writeTextFile(path, processes.map(({ text }) => `${text}\n`).join(""));
}

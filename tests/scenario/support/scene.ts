/**
 * A devnet with compiled relayers on it: one folder and one database per relayer, which outlive its processes.
 * Start reading at {@link playScene}. Every configuration holds secrets, and none may leave a relayer. Whatever fails, the last lines of every relayer are told with it.
 */
import { type Devnet, type DevnetOptions, startDevnet } from "../../../devnet/devnet.ts";
import type { DevnetRole } from "../../../devnet/evm/accounts.ts";
import { delivered, type SentMessage, waitUntil } from "../../../devnet/traffic/messages.ts";
import {
  type ConfigChanges,
  relayerConfig,
  type SectionChanges,
  sectionOf,
} from "../../../devnet/programs/relayer_config.ts";
import { DEADLINE_MS } from "../../../devnet/waiting.ts";
import { readHeads } from "./consensus_hosts.ts";
import { type HubBooks, readBooks } from "./hub_books.ts";
import { assertInvariants, type InvariantOptions } from "./invariants.ts";
import { type LedgerSnapshot, readLedger } from "./ledger_reader.ts";
import { type RelayerOptions, type RelayerProcess, startRelayer } from "./relayer_process.ts";
import { runRelayerOnce, type RunResult } from "./run_once.ts";
import { assertNothingLeaked, withSecrets } from "./secrets.ts";

/**
 * Blocks fast enough for tests, slow enough for two cores: most of a message's way is waiting for them. How chains become
 * final is the matter of the consensus scenarios.
 */
const DEFAULTS: DevnetOptions = {
  blockTimeSec: 1,
  hubBlockTimeMs: 400,
  oracleEveryMs: 200,
  feeds: "planted",
};

/** States of a row in which a relayer does nothing more by itself. */
const SETTLED = new Set(["delivered", "delivered_by_other", "timed_out", "rejected", "gone"]);

/** Plays a scenario on a devnet of its own; on failure the error tells the relayers' last lines. */
export async function playScene(
  options: DevnetOptions,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using devnet = await startSceneDevnet(options);
  await playSceneOn(devnet, play);
}

/** A devnet for several scenes, one after the other. */
export function startSceneDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  return startDevnet({ ...DEFAULTS, ...options });
}

/** As {@link playScene}, on a devnet that others use too. */
export async function playSceneOn(devnet: Devnet, play: (scene: Scene) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "scene-" });
  await using scene = new Scene(devnet, folder, await headsOf(devnet));
  try {
    await Promise.race([play(scene), devnet.oracle.failed]);
    await scene.assertJudged();
    await assertNothingLeaked(scene.relayers.flatMap(({ processes }) => processes));
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n${await scene.describe()}`, {
      cause: error,
    });
  }
}

/** A relayer of a scene: its account, its database, and the processes that ran on it. */
export class SceneRelayer {
  readonly processes: RelayerProcess[] = [];
  /** Databases that gave way to replicas. */
  readonly lostPaths: string[] = [];
  readonly #scene: Scene;

  /** Not for callers: use {@link Scene.relayer}. */
  constructor(scene: Scene, readonly role: DevnetRole, readonly folder: string) {
    this.#scene = scene;
  }

  /** The newest process. @throws {Error} before the first start. */
  get process(): RelayerProcess {
    const found = this.processes.at(-1);
    if (found === undefined) throw new Error(`${this.role} was never started`);
    return found;
  }

  /** Starts a process on the relayer's database; returns at once. */
  async start(
    changes: ConfigChanges = {},
    options: Partial<RelayerOptions> = {},
  ): Promise<RelayerProcess> {
    const config = withSecrets(
      relayerConfig(this.#scene.devnet.endpoints, { signer: this.role, ...changes }),
    );
    const process = await startRelayer({ config, folder: this.folder, ...options });
    this.processes.push(process);
    return process;
  }

  /** Starts a process and waits until its legs have their first cursor. */
  async startAndWait(
    changes: ConfigChanges = {},
    options: Partial<RelayerOptions> = {},
  ): Promise<RelayerProcess> {
    const process = await this.start(changes, options);
    await process.waitForLine("program_started");
    const legs = new Set<unknown>();
    await process.waitForLine(({ record }) => {
      if (record?.event === "leg_started") legs.add(record.leg);
      return legs.size === expectedLegs(this.#scene.devnet, changes);
    });
    return process;
  }

  /** Starts a process on `dbPath`, which holds what a replica had of the newest process's database. */
  startElsewhere(dbPath: string, changes: ConfigChanges = {}): Promise<RelayerProcess> {
    this.lostPaths.push(this.process.dbPath);
    return this.start(changes, { dbPath });
  }

  /** What the databases held that gave way to replicas. */
  lostLedgers(): Promise<readonly LedgerSnapshot[]> {
    return Promise.all(this.lostPaths.map((path) => readLedger(path)));
  }

  /** Runs a command on the newest process's configuration and database, beside the relayer where it runs. */
  run(...args: readonly string[]): Promise<RunResult> {
    const { configPath, dbPath } = this.process;
    return runRelayerOnce([`--config=${configPath}`, `--db=${dbPath}`, ...args]);
  }

  /** What a command answers. @throws {Error} when it fails or says anything beside. */
  async ask(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run("--log-level=error", ...args);
    if (code !== 0 || stderr !== "") throw new Error(`${args.join(" ")}: ${code}\n${stdout}\n${stderr}`);
    return stdout;
  }

  /** Ends the newest process in order. @throws {Error} when its status is not 0. */
  async stop(): Promise<void> {
    const code = await this.process.terminate();
    if (code !== 0) throw new Error(`${this.role} ended with status ${code}`);
  }

  /** What the database holds now. */
  ledger(): Promise<LedgerSnapshot> {
    return readLedger(this.process.dbPath);
  }

  /** Waits until the row of each message towards `target` is as wanted. */
  async untilRows(
    messages: readonly SentMessage[],
    target: string,
    wanted: { readonly state: string; readonly reason?: string },
  ): Promise<void> {
    const what = `${this.role}: ${messages.length} rows to ${target} ${wanted.state} ${wanted.reason ?? ""}`;
    await waitUntil(what, async () => {
      const rows = new Map(
        (await this.ledger()).messages.filter((row) => row.target === target).map((
          row,
        ) => [row.commitment, row]),
      );
      return messages.every(({ commitment }) => {
        const row = rows.get(commitment);
        return row?.state === wanted.state && (wanted.reason === undefined || row.reason === wanted.reason);
      });
    }, { everyMs: 400 });
  }

  /** Waits until the rows of all messages, on every leg that they cross, have reached their end. */
  async untilEnded(messages: readonly SentMessage[], deadlineMs = DEADLINE_MS): Promise<void> {
    const hub = this.#scene.hub;
    const wanted = messages.flatMap(({ commitment, request }) =>
      [...new Set([hub, request.dest])].map((target) => `${commitment} ${target}`)
    );
    await waitUntil(`${this.role}: ${messages.length} messages at their end`, async () => {
      const ended = new Set(
        (await this.ledger()).messages.filter(({ state }) => SETTLED.has(state))
          .map(({ commitment, target }) => `${commitment} ${target}`),
      );
      return wanted.every((row) => ended.has(row));
    }, { deadlineMs, everyMs: 400 });
  }

  /** What the database holds of the deliveries of messages on their destinations, but for the hub, which pays nothing. */
  async deliveriesOf(sent: readonly SentMessage[]): Promise<LedgerSnapshot["deliveries"]> {
    const wanted = new Set(sent.map(({ commitment, request }) => `${commitment} ${request.dest}`));
    return (await this.ledger()).deliveries.filter(({ commitment, dest }) =>
      dest !== this.#scene.hub && wanted.has(`${commitment} ${dest}`)
    );
  }

  /** Waits until the delivery of each message on its destination is in this state of its claim. */
  async untilClaims(sent: readonly SentMessage[], state = "claimed"): Promise<void> {
    const count = sent.filter(({ request }) => request.dest !== this.#scene.hub).length;
    await waitUntil(`${this.role}: ${count} deliveries ${state}`, async () => {
      const rows = await this.deliveriesOf(sent);
      return rows.length === count && rows.every(({ claimState }) => claimState === state);
    }, { everyMs: 400 });
  }

  /** Waits until nothing is open any more: no row on its way, no transaction that is not in a block. */
  async untilSettled(deadlineMs = DEADLINE_MS): Promise<void> {
    await waitUntil(`${this.role}: everything settled`, async () => {
      const { messages, submissions } = await this.ledger();
      return messages.every(({ state }) => SETTLED.has(state) || state === "held") &&
        submissions.every(({ state }) => state !== "signed" && state !== "broadcast");
    }, { deadlineMs, everyMs: 400 });
  }
}

/** See the head of the file. */
export class Scene implements AsyncDisposable {
  readonly relayers: SceneRelayer[] = [];
  readonly #creditBefore: HubBooks["credit"];
  readonly #notes: string[] = [];
  #isFinished = false;

  /** Not for callers: use {@link playScene}. `startHeights`: what happened up to these heights is not of this scene. */
  constructor(
    readonly devnet: Devnet,
    readonly folder: string,
    readonly startHeights: ReadonlyMap<string, bigint>,
  ) {
    this.#creditBefore = readBooks(devnet, []).credit;
  }

  /** Remembers something that is told when the scenario fails. */
  note(text: string): void {
    this.#notes.push(`-- ${text}`);
  }

  /** State machine of the hub. */
  get hub(): string {
    return this.devnet.hub.identity.stateMachine;
  }

  /** A relayer with this account and an empty database; nothing is started yet. */
  relayer(role: DevnetRole = "relayer"): SceneRelayer {
    const relayer = new SceneRelayer(this, role, `${this.folder}/${role}-${this.relayers.length}`);
    this.relayers.push(relayer);
    return relayer;
  }

  /** Heights from which every leg sees everything that follows, as keys of the sections. */
  async heightsNow(): Promise<Readonly<Record<string, SectionChanges>>> {
    const heads = await headsOf(this.devnet);
    return Object.fromEntries([...heads].map(([chain, height]) => {
      return [chain === this.hub ? "hub" : sectionOf(chain), { initial_height: Number(height) }];
    }));
  }

  /** Waits until all messages are delivered on their destinations. */
  async untilDelivered(messages: readonly SentMessage[], deadlineMs = DEADLINE_MS): Promise<void> {
    let open = messages;
    await waitUntil(`${messages.length} messages delivered`, async () => {
      const done = new Set(await delivered(this.devnet, open));
      open = open.filter((message) => !done.has(message));
      return open.length === 0;
    }, { deadlineMs, everyMs: 300 });
  }

  /**
   * The common end: every relayer settles and is stopped, then all invariants are checked.
   * @param relayers default: all
   */
  async finish(options: InvariantOptions = {}): Promise<void> {
    for (const relayer of this.relayers) {
      if (relayer.process.isRunning) {
        await relayer.untilSettled();
        await relayer.stop();
      }
    }
    const traces = await Promise.all(this.relayers.map(async (relayer) => ({
      role: relayer.role,
      ledger: await relayer.ledger(),
      lost: await relayer.lostLedgers(),
      processes: relayer.processes,
    })));
    await assertInvariants(this.devnet, traces, {
      since: this.startHeights,
      creditBefore: this.#creditBefore,
      ...options,
    });
    this.#isFinished = true;
  }

  /** @throws {Error} when something was sent, and {@link finish} has not checked the invariants. */
  async assertJudged(): Promise<void> {
    if (this.#isFinished) return;
    for (const relayer of this.relayers) {
      const paths = new Set(relayer.processes.map(({ dbPath }) => dbPath));
      for (const path of paths) {
        const sent = await countSubmissions(path);
        if (sent > 0) throw new Error(`${relayer.role} has sent ${sent} times, and nothing was checked`);
      }
    }
  }

  /** What can be seen of the relayers, for messages of failed tests. */
  async describe(): Promise<string> {
    const parts = await Promise.all(this.relayers.map(async (relayer) => {
      if (relayer.processes.length === 0) return `-- ${relayer.role} was not started`;
      return `-- ${relayer.role}: ${await describeRows(relayer)}\n${lastLines(relayer)}`;
    }));
    const refusals = this.devnet.hub.rejections.slice(-5)
      .map(({ stage, code, ismp, detail }) =>
        `-- the hub refused (${stage}): ${code} ${ismp ?? ""} ${detail}`
      );
    return [...this.#notes, ...parts, ...refusals].join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { processes } of this.relayers) for (const process of processes) await process.kill();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** What a database holds of transactions and extrinsics; 0 where no process came so far as to make one. */
async function countSubmissions(dbPath: string): Promise<number> {
  try {
    return (await readLedger(dbPath)).submissions.length;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

/** The newest block of each chain and of the hub. */
async function headsOf(devnet: Devnet): Promise<ReadonlyMap<string, bigint>> {
  const chains = await readHeads(devnet.chains);
  const substrate = devnet.substrateChains.map(({ stateMachine, node }) =>
    [String(stateMachine), BigInt(node.best.number)] as const
  );
  const hub = [String(devnet.hub.identity.stateMachine), BigInt(devnet.hub.best.number)] as const;
  return new Map([hub, ...chains, ...substrate]);
}

/** The last lines that are not about single messages: there are hundreds of those. */
function lastLines({ process }: SceneRelayer): string {
  const telling = process.lines.filter(({ record }) => !String(record?.event).startsWith("message_"));
  return telling.slice(-25).map(({ text }) => text.slice(0, 500)).join("\n");
}

/** Number of legs of a relayer with this configuration: one to the hub and one back per chain. */
function expectedLegs(devnet: Devnet, { without = [] }: ConfigChanges): number {
  const chains = [...devnet.chains, ...devnet.substrateChains].filter(({ stateMachine }) =>
    !without.includes(stateMachine)
  );
  return 2 * chains.length;
}

/** Rows by leg, state and reason, with their numbers. */
async function describeRows(relayer: SceneRelayer): Promise<string> {
  try {
    const { messages } = await relayer.ledger();
    const groups = Map.groupBy(
      messages,
      ({ source, target, state, reason }) => `${source} -> ${target} ${state} ${reason ?? ""}`,
    );
    return [...groups].map(([name, rows]) => `${name}: ${rows.length}`).join("; ");
  } catch (error) {
    return `database not readable (${error instanceof Error ? error.message : error})`;
  }
}

/**
 * Machines with one account, one replica and one lock, of which one relays. Start reading at {@link Machines}.
 */
import assert from "node:assert/strict";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { TOKEN } from "../scenario/support/fee_accounts.ts";
import { handledWrong } from "../scenario/support/moments.ts";
import type { RelayerLine, RelayerProcess } from "../scenario/support/relayer_process.ts";
import type { Scene, SceneRelayer } from "../scenario/support/scene.ts";
import { runOnce } from "../scenario/support/run_once.ts";

/** Seconds for which a machine that is silent keeps the lock. */
export const LEASE_SECONDS = 15;

/**
 * Most that a take-over takes, ms. The aim is 5 s beside the lease, in which the other machine finds that the lock is free,
 * restores and starts; a crowded machine may take longer.
 */
export const TAKEOVER_WITHIN_MS = (LEASE_SECONDS + 15) * 1_000;

/** Start script. */
export const SCRIPT = `${REPOSITORY}/packaging/standby/causeway-standby`;

/** What one machine has. */
export interface MachinePlan {
  /** Where it finds etcd. */
  readonly etcd: string;
  /** What runs the script; default the script itself. */
  readonly executable?: string;
  /** Where it finds chains and hub; default as everybody. */
  readonly changes?: ConfigChanges;
  /** Environment beside that of every machine. */
  readonly env?: Readonly<Record<string, string>>;
}

/** See the head of the file. */
export class Machines implements Disposable {
  readonly relayer: SceneRelayer;
  readonly #running = new Map<number, RelayerProcess>();
  #copies = 0;

  /**
   * @param scene where they are
   * @param litestream path of the executable
   * @param plans one for each machine
   */
  constructor(
    readonly scene: Scene,
    readonly litestream: string,
    readonly plans: readonly MachinePlan[],
  ) {
    this.relayer = scene.relayer();
  }

  /** Folder of a machine. */
  folderOf(index: number): string {
    return `${this.scene.folder}/machine-${index}`;
  }

  /** Starts a machine; returns at once. */
  async start(index: number): Promise<RelayerProcess> {
    const plan = this.plans[index];
    assert.ok(plan !== undefined);
    const folder = this.folderOf(index);
    await Deno.mkdir(folder, { recursive: true });
    const dbPath = `${folder}/relayer.db`;
    const process = await this.relayer.start(plan.changes, {
      folder,
      dbPath,
      executable: plan.executable ?? SCRIPT,
      env: {
        CAUSEWAY: RELAYER_EXECUTABLE,
        LITESTREAM: this.litestream,
        CAUSEWAY_DB: dbPath,
        CAUSEWAY_REPLICA: `file://${this.scene.folder}/replica`,
        CAUSEWAY_FENCE: `${folder}/fence`,
        CAUSEWAY_LOCK: this.scene.folder,
        CAUSEWAY_LEASE: `${LEASE_SECONDS}`,
        ETCDCTL_ENDPOINTS: plan.etcd,
        ...plan.env,
      },
    });
    this.#running.set(index, process);
    return process;
  }

  /** Starts the first two; the first one has the lock. */
  async startBoth(): Promise<readonly [RelayerProcess, RelayerProcess]> {
    const first = await this.start(0);
    await first.waitForLine("leg_started");
    return [first, await this.start(1)];
  }

  /** Kills all that a machine runs, and keeps its database, which may have what no replica has. @returns when, Unix ms. */
  async kill(index: number): Promise<number> {
    const process = this.#running.get(index);
    assert.ok(process !== undefined);
    const atMs = Date.now();
    await killGroup(process);
    this.#running.delete(index);
    await this.keepLost(process.dbPath);
    return atMs;
  }

  /** Keeps a database that a replica takes the place of. */
  async keepLost(dbPath: string): Promise<void> {
    const copy = `${this.scene.folder}/lost-${this.#copies++}.db`;
    for (const end of ["", "-wal"]) {
      await Deno.copyFile(`${dbPath}${end}`, `${copy}${end}`).catch((error: unknown) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
    if (await Deno.stat(copy).then(() => true, () => false)) this.relayer.lostPaths.push(copy);
  }

  /** Messages both ways, with fees. */
  async send(): Promise<readonly SentMessage[]> {
    const { devnet } = this.scene;
    const sent = await Promise.all([
      sendPing(devnet, { from: "A", to: "B", count: 10, fee: TOKEN }),
      sendPing(devnet, { from: "B", to: "A", count: 10, fee: TOKEN }),
    ]);
    return sent.flat();
  }

  /** Waits until everything has arrived, and its fees are claimed. */
  async settle(sent: readonly SentMessage[], process: RelayerProcess): Promise<void> {
    this.#makeNewest(process);
    await this.scene.untilDelivered(sent);
    await this.relayer.untilEnded(sent);
    await this.relayer.untilClaims(sent);
  }

  /** Everything arrives by the machine that relays now, which then ends in order; all invariants hold. */
  async finish(sent: readonly SentMessage[], process: RelayerProcess, mostReverts?: number): Promise<void> {
    await this.settle(sent, process);
    for (const [index, other] of this.#running) if (other !== process) await this.kill(index);
    await this.scene.finish({
      mostReverts: mostReverts ?? this.scene.devnet.chains.length,
      allowedErrors: [({ stream, record }) => stream === "stderr" || record?.event === "fence_gone"],
    });
    assert.deepEqual(await handledWrong(this.scene, sent), []);
  }

  [Symbol.dispose](): void {
    for (const process of this.#running.values()) killGroup(process).catch(() => {}); // it is gone
  }

  #makeNewest(process: RelayerProcess): void {
    const { processes } = this.relayer;
    processes.push(...processes.splice(processes.indexOf(process), 1));
  }
}

/** What must not be at work on two machines. */
const WORKING: ReadonlySet<string> = new Set(["causeway", "litestream"]);

/** Lists which of {@link WORKING} a machine runs at this moment, by name. */
export async function listWorking({ pid }: Pick<RelayerProcess, "pid">): Promise<readonly string[]> {
  // Process group, state and name of every process; one that has ended and is not waited for yet is a zombie.
  const { stdout } = await runOnce("ps", ["-eo", "pgid=,stat=,comm="]);
  return stdout.split("\n").flatMap((line) => {
    const [group, state, name = ""] = line.trim().split(/\s+/);
    return group === `${pid}` && !state?.startsWith("Z") && WORKING.has(name) ? [name] : [];
  }).toSorted();
}

/** The first line of that event, when it was written. */
export function lineAt(process: RelayerProcess, event: string): RelayerLine | undefined {
  return process.lines.find(({ record }) => record?.event === event);
}

/** Seconds with one decimal. */
export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

/** Kills all that a machine runs. */
async function killGroup(process: RelayerProcess): Promise<void> {
  await runOnce("kill", ["-KILL", "--", `-${process.pid}`]);
  await waitUntil("the machine is dead", () => !process.isRunning);
}

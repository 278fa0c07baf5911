/**
 * A devnet with compiled consensus relayers on it: nobody else tells the hub of the chains. Every configuration holds
 * secrets wherever one can be, and every scene ends with the checks of `consensus_checks.ts`.
 * Start reading at {@link playConsensus}.
 */
import {
  type ConsensusChanges,
  consensusConfig,
  type ConsensusEndpoints,
} from "../../../devnet/programs/consensus_config.ts";
import { dirname } from "node:path";
import { type Devnet, type DevnetChain, type DevnetOptions, startDevnet } from "../../../devnet/devnet.ts";
import { waitUntil } from "../../../devnet/traffic/messages.ts";
import type { ChainKind } from "../../../devnet/chains/proven_chains.ts";
import {
  assertConsensus,
  type ConsensusLimits,
  factsFromNow,
  type FactsSince,
  readConsensusFacts,
  readPeakMb,
  type RunFacts,
} from "./consensus_checks.ts";
import { asRule, type LineMatch, type RelayerProcess, startRelayer } from "./relayer_process.ts";
import { foundSecrets, withSecrets } from "./secrets.ts";
import { REPOSITORY } from "../../../devnet/programs/repository.ts";
import { runOnce, type RunResult } from "./run_once.ts";
import { fromHex, toHash256 } from "../../../src/core/encoding/bytes.ts";
import {
  parseStateMachine,
  toConsensusClientId,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import type { NewConsensusClient } from "../../../devnet/hub/pallets/ismp.ts";
import assert from "node:assert/strict";
import * as z from "zod";

/** Plays steps on a devnet on which only the relayers of the scene tell the hub of anything, then checks. */
export async function playConsensus(
  t: Deno.TestContext,
  options: DevnetOptions,
  play: (scene: ConsensusScene) => Promise<void>,
): Promise<void> {
  await using devnet = await startDevnet({
    hubBlockTimeMs: 400,
    ...options,
    startsOracle: false,
  });
  await using scene = new ConsensusScene(t, devnet, await factsFromNow(devnet));
  await play(scene);
  await scene.step("what is common to all scenarios holds", () => scene.finish());
}

interface Run {
  readonly process: RelayerProcess;
  readonly name: string;
  peakMb: number | undefined;
}

/** See the head of the file. */
export class ConsensusScene implements AsyncDisposable {
  readonly #t: Deno.TestContext;
  readonly #runs: Run[] = [];
  readonly #expected: LineMatch[] = [];
  readonly #since: FactsSince;
  #limits: ConsensusLimits = {};
  #hasFailed = false;

  /** Not for callers: use {@link playConsensus}. */
  constructor(t: Deno.TestContext, readonly devnet: Devnet, since: FactsSince) {
    this.#t = t;
    this.#since = since;
  }

  /** One step. After the first that fails the others are left out: each needs what those before it did. */
  async step(name: string, play: () => Promise<void>): Promise<void> {
    if (this.#hasFailed) return;
    this.#hasFailed = !await this.#t.step(name, async () => {
      try {
        await play();
      } catch (error) {
        const said = error instanceof Error ? error.message : String(error);
        throw new Error(`${said}\n${this.describe()}`, { cause: error });
      }
    });
  }

  /** What the checks at the end do not ask for. */
  limit(limits: ConsensusLimits): void {
    this.#limits = { ...this.#limits, ...limits };
  }

  /** Error lines that belong to the scenario. */
  expect(line: LineMatch): void {
    this.#expected.push(line);
  }

  /** The chain of this kind. */
  chain(kind: ChainKind): DevnetChain {
    const found = this.devnet.chains.find(({ proven }) => proven.kind === kind);
    if (found === undefined) throw new RangeError(`No ${kind} chain on this devnet`);
    return found;
  }

  /** What configurations name. */
  get endpoints(): ConsensusEndpoints {
    return this.devnet.consensusEndpoints;
  }

  /** Starts a relayer and waits until it relays. */
  async start(
    changes: ConsensusChanges = {},
    extraArguments: readonly string[] = [],
  ): Promise<RelayerProcess> {
    const process = await startRelayer({
      program: "causeway-consensus",
      config: withSecrets(consensusConfig(this.endpoints, changes)),
      folder: await Deno.makeTempDir({ prefix: "consensus-" }),
      extraArguments,
    });
    this.#runs.push({ process, name: `relayer ${this.#runs.length + 1}`, peakMb: undefined });
    await process.waitForLine("program_started");
    return process;
  }

  /** Ends it as a crash does. */
  async kill(process: RelayerProcess): Promise<void> {
    await this.#measure(process);
    await process.kill();
  }

  /** Ends it in order. @throws {Error} when its status is not 0. */
  async stop(process: RelayerProcess): Promise<void> {
    await this.#measure(process);
    const code = await process.terminate();
    if (code !== 0) throw new Error(`The relayer ended with status ${code}`);
  }

  async #measure(process: RelayerProcess): Promise<void> {
    const run = this.#runs.find((each) => each.process === process);
    if (run !== undefined && process.isRunning) run.peakMb = await readPeakMb(process.pid);
  }

  /** Newest height of a chain that the hub knows; 0: none. */
  hubHeight(kind: ChainKind): bigint {
    return this.devnet.hub.latestHeight(this.devnet.idOnHub(this.chain(kind))) ?? 0n;
  }

  /** Newest height of a chain. */
  head(kind: ChainKind): Promise<bigint> {
    return this.chain(kind).host.reader.getBlockNumber();
  }

  /** Waits until the hub knows a height of at least `height`. */
  async untilHubHas(kind: ChainKind, height: bigint): Promise<void> {
    await waitUntil(
      `the hub has block ${height} of ${kind} (it has ${this.hubHeight(kind)})`,
      () => this.hubHeight(kind) >= height,
    );
  }

  /** Waits until the hub has learned so many newer heights of each of these chains. */
  async untilGrown(kinds: readonly ChainKind[], times = 1): Promise<void> {
    await Promise.all(kinds.map(async (kind) => {
      for (let time = 0; time < times; time++) {
        await this.untilHubHas(kind, this.hubHeight(kind) + 1n);
      }
    }));
  }

  /** What was printed from now on: an index for `waitForLine`. */
  now(process: RelayerProcess): number {
    return process.lines.length;
  }

  /** Replaces the chain's client on the hub with the one that the compiled program prints. */
  async renewClient(kind: ChainKind): Promise<void> {
    const command = consensusCommands(this, {});
    const args = ["--log-format=json", "log-consensus-state", this.chain(kind).stateMachine];
    const { code, stdout, stderr } = await command(...args);
    assert.equal(code, 0, stderr);
    await this.devnet.hub.createConsensusClient(parseClient(stdout));
  }

  /** The common end: relayers are stopped in order, then everything is checked. */
  async finish(): Promise<void> {
    for (const { process } of this.#runs) if (process.isRunning) await this.stop(process);
    const facts = await readConsensusFacts(
      this.devnet,
      this.#runs.map((run) => this.#factsOf(run)),
      this.#since,
    );
    assertConsensus(facts, this.#limits);
  }

  #factsOf({ process, name, peakMb }: Run): RunFacts {
    const errors = process.errorLines.filter((line) => !this.#expected.some((match) => asRule(match)(line)));
    return { name, peakMb, errors: errors.map(({ text }) => text), secrets: foundSecrets(process.text) };
  }

  /** What can be seen of the relayers, for messages of failed tests. */
  describe(): string {
    const heights = this.devnet.chains.map(({ proven }) => `${proven.kind} ${this.hubHeight(proven.kind)}`);
    const runs = this.#runs.map(({ process, name }) => {
      const lines = process.lines.slice(-40).map(({ text }) => text.slice(0, 600));
      return `-- ${name} (${process.isRunning ? "runs" : "ended"}):\n${lines.join("\n")}`;
    });
    const refusals = this.devnet.hub.rejections.slice(-5)
      .map(({ stage, code, ismp, detail }) =>
        `-- the hub refused (${stage}): ${code} ${ismp ?? ""} ${detail}`
      );
    return [`-- heights on the hub: ${heights.join(", ")}`, ...runs, ...refusals].join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process } of this.#runs) {
      await process.kill();
      await Deno.remove(dirname(process.configPath), { recursive: true });
    }
  }
}

/** What runs commands. */
type ConsensusCommands = (...args: readonly string[]) => Promise<RunResult>;

/** Commands with a configuration of their own. */
export function consensusCommands(scene: ConsensusScene, changes: ConsensusChanges): ConsensusCommands {
  return async (...args) => {
    const folder = await Deno.makeTempDir({ prefix: "command-" });
    try {
      const config = `${folder}/consensus.toml`;
      const text = withSecrets(consensusConfig(scene.endpoints, changes));
      await Deno.writeTextFile(config, text, { mode: 0o600 });
      return await runOnce(`${REPOSITORY}/build/causeway-consensus`, [`--config=${config}`, ...args]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  };
}

const printed = z.strictObject({
  stateMachine: z.string(),
  consensusState: z.string(),
  consensusClientId: z.string(),
  consensusStateId: z.string(),
  unbondingPeriodSec: z.string(),
  challengePeriodsSec: z.record(z.string(), z.string()),
  stateMachineCommitments: z.array(z.strictObject({
    stateMachine: z.string(),
    consensusStateId: z.string(),
    height: z.string(),
    timestampSec: z.string(),
    overlayRoot: z.null(),
    stateRoot: z.string(),
  })),
  furtherCalls: z.array(
    z.strictObject({ call: z.string(), arguments: z.string(), otherwise: z.string() }),
  ).optional(),
});

/** The client that the program prints. Challenge periods are none, as everywhere on the devnet. */
function parseClient(text: string): NewConsensusClient {
  const json = printed.parse(JSON.parse(text));
  const chains = Object.keys(json.challengePeriodsSec);
  return {
    stateId: toConsensusStateId(json.consensusStateId),
    clientId: toConsensusClientId(json.consensusClientId),
    unbondingPeriodSec: BigInt(json.unbondingPeriodSec),
    challengePeriodsSec: new Map(chains.map((chain) => [parseStateMachine(chain), 0n])),
    state: fromHex(json.consensusState),
    commitments: json.stateMachineCommitments.map((entry) => ({
      id: {
        stateMachine: parseStateMachine(entry.stateMachine),
        consensusStateId: toConsensusStateId(entry.consensusStateId),
      },
      at: {
        height: BigInt(entry.height),
        commitment: {
          timestampSec: BigInt(entry.timestampSec),
          overlayRoot: undefined,
          stateRoot: toHash256(entry.stateRoot),
        },
      },
    })),
  };
}

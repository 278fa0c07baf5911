/**
 * What watching costs: answers of the status server beside a database with 100,000 messages, and the processor time of
 * a relayer that is scraped every second beside one without a server.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import type { StateMachine } from "../../src/core/ismp/state_machine.ts";
import { type Ledger, neverMs } from "../../src/messaging/ledger/ledger.ts";
import { openLedger } from "../../src/messaging/ledger/open.ts";
import { type RelayerProcess, startRelayer } from "../scenario/support/relayer_process.ts";
import { hashOf, newDelivery, newMessage, newSubmission } from "../support/ledger_rows.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { atMost, type Measure, median } from "./report.ts";
import { updateAll } from "./stage.ts";
import { sendWaiting, timeRelayer, type WaitingMessages } from "./timed_relayer.ts";

const MESSAGES = 100_000;
const MAX_ANSWER_MS = 200;
/** Messages of a recorded transaction. */
const PER_TRANSACTION = 50;
/** Time in which they were found: a day, of which the page tells. */
const SPAN_MS = 24 * 3_600_000;
/** Answers of each page: the snapshot is read again for each. */
const LOOKS = 6;
/** More than the age up to which a snapshot is shown again. */
const LOOK_EVERY_MS = 5_500;

const DELIVERED = 2_000;
/** Pairs of a relayer that is scraped and one that is not, in turns. */
const PAIRS = 4;
const SCRAPE_EVERY_MS = 1_000;
const MAX_SHARE = 0.03;

const never = new AbortController().signal;

/** See the head of the file. */
export const page: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false });
  await updateAll(devnet);
  return [...await measureAnswers(deps, devnet), ...await measureCost(deps, devnet)];
};

async function measureAnswers(deps: BenchDeps, devnet: Devnet): Promise<readonly Measure[]> {
  const folder = `${deps.folder}/answers`;
  await Deno.mkdir(folder, { recursive: true });
  fillDatabase(`${folder}/relayer.db`, devnet);
  await using relayer = await startRelayer({
    executable: deps.executable,
    folder,
    config: relayerConfig(devnet.endpoints, { disableFeeAccumulation: true }),
    logLevel: "info",
    extraArguments: ["--listen=127.0.0.1:0"],
  });
  const base = await addressOf(relayer);
  await relayer.waitForLine("program_started");
  const measures: Measure[] = [];
  for (const path of ["/", "/status.json", "/metrics"]) {
    const times: number[] = [];
    const cpuTimes: number[] = [];
    for (let look = 0; look < LOOKS; look++) {
      await systemClock.sleep(LOOK_EVERY_MS, never);
      const cpuBeforeMs = readCpuMs(relayer.pid);
      times.push(await timeAnswer(`${base}${path}`));
      cpuTimes.push(readCpuMs(relayer.pid) - cpuBeforeMs);
    }
    deps.say(`   ${path}: ${times.map((ms) => ms.toFixed(0)).join(", ")} ms`);
    const name = `page, ${MESSAGES} messages, ${path}:`;
    const shown = (ms: number): string => `${ms.toFixed(0)} ms`;
    measures.push(
      atMost(`${name} slowest of ${LOOKS} answers`, Math.max(...times), MAX_ANSWER_MS, shown),
      { name: `${name} processor time of an answer`, value: shown(median(cpuTimes)) },
    );
  }
  await relayer.terminate();
  return measures;
}

/**
 * Half of the messages were delivered within the last day and paid for, the others wait for an operator, so that the
 * relayer is idle.
 */
function fillDatabase(path: string, devnet: Devnet): void {
  let nowMs = systemClock.now() - SPAN_MS;
  const ledger = openLedger(path, { clock: { now: () => nowMs } });
  try {
    const hub = devnet.hub.identity.stateMachine;
    const [{ stateMachine: chain } = { stateMachine: hub }] = devnet.chains;
    ledger.bindHub(hub);
    for (let first = 1; first < MESSAGES; first += 2 * PER_TRANSACTION) {
      ledger.transaction(() => {
        recordDelivered(ledger, { first, source: hub, target: chain });
        recordHeld(ledger, { first: first + PER_TRANSACTION, source: chain, target: hub });
      });
      nowMs += SPAN_MS / (MESSAGES / PER_TRANSACTION / 2);
    }
  } finally {
    ledger.close();
  }
}

/** Messages with consecutive numbers on one leg. */
interface Stretch {
  readonly first: number;
  readonly source: StateMachine;
  readonly target: StateMachine;
}

function recordDelivered(ledger: Ledger, { first, source, target }: Stretch): void {
  const numbers = Array.from({ length: PER_TRANSACTION }, (_, index) => first + index);
  for (const number of numbers) {
    ledger.messages.record(
      newMessage(number, { source, target, requestSource: source, requestDest: target }),
    );
    ledger.messages.transition(hashOf(number), target, { to: "delivered", reason: "handled_by_us" });
    ledger.deliveries.record(newDelivery(number, { source, dest: target, fee: 1_000_000n }));
  }
  const id = ledger.submissions.record({
    submission: newSubmission(first, { chain: target, gasPriceWei: 10n ** 9n }),
    kind: "delivery",
    items: numbers.map((number) => ({
      commitment: hashOf(number),
      requestCommitment: hashOf(number),
      target,
    })),
  });
  ledger.submissions.update(id, { state: "included", block: { height: 5n, hash: hashOf(5) } });
  const gas = { gasUsed: 20_000n, gasPriceWei: 10n ** 9n, dataCostWei: 0n };
  ledger.spending.note(id, { result: "delivered", gas, price27: 10n ** 27n, revenueUsd18: 10n ** 18n });
  ledger.submissions.update(id, { state: "final" });
}

function recordHeld(ledger: Ledger, { first, source, target }: Stretch): void {
  for (let number = first; number < first + PER_TRANSACTION; number++) {
    ledger.messages.record(newMessage(number, {
      source,
      target,
      requestSource: source,
      requestDest: target,
      state: "held",
      reason: number % 2 === 0 ? "unprofitable" : "held_by_operator",
      nextAttemptAtMs: neverMs,
    }));
  }
}

async function addressOf(relayer: RelayerProcess): Promise<string> {
  return `http://${(await relayer.waitForLine("status_server_started")).record?.address}`;
}

/** Time until the whole answer is there, ms. @throws {Error} when it is not 200 */
async function timeAnswer(url: string): Promise<number> {
  const startMs = performance.now();
  const answer = await fetch(url);
  await answer.text();
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status}`);
  return performance.now() - startMs;
}

/** The same messages are delivered again and again, by a relayer that is scraped and by one that is not. */
async function measureCost(deps: BenchDeps, devnet: Devnet): Promise<readonly Measure[]> {
  const b = devnet.chain("B");
  const waiting = await sendWaiting(devnet, b, DELIVERED);
  const run = async (folder: string, isScraped: boolean): Promise<number> => {
    const snapshot = await b.host.node.snapshot();
    const { cpuMs } = await timeRelayer(deps, devnet, {
      folder,
      ...waiting,
      ...isScraped && {
        extraArguments: ["--listen=127.0.0.1:0"],
        beside: (relayer: RelayerProcess) => scrape(relayer),
      },
    });
    await b.host.node.revert({ id: snapshot });
    return cpuMs;
  };
  await run("warm-up", false);
  const plain: number[] = [];
  const scraped: number[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    // In turns, so that a machine that slows down slows both.
    plain.push(await run(`plain-${pair}`, false));
    scraped.push(await run(`scraped-${pair}`, true));
  }
  const shown = (times: readonly number[]): string => times.map((ms) => ms.toFixed(0)).join(", ");
  deps.say(`   processor time, ms: without ${shown(plain)}; scraped ${shown(scraped)}`);
  return costOf(waiting, plain, scraped);
}

function costOf(
  { leg, count }: WaitingMessages,
  plain: readonly number[],
  scraped: readonly number[],
): readonly Measure[] {
  const share = median(scraped) / median(plain) - 1;
  const each = (times: readonly number[]): string => `${(median(times) / count).toFixed(2)} ms a message`;
  return [
    { name: `page, ${leg}: processor time without --listen`, value: each(plain) },
    { name: `page, ${leg}: with it, scraped every second`, value: each(scraped) },
    atMost(`page, ${leg}: what watching adds`, share, MAX_SHARE, (value) => `${(value * 100).toFixed(1)} %`),
  ];
}

/** Asks for the metrics every second until it is disposed of. */
function scrape(relayer: RelayerProcess): AsyncDisposable {
  const stop = new AbortController();
  const done = (async () => {
    const base = await addressOf(relayer);
    while (!stop.signal.aborted) {
      await timeAnswer(`${base}/metrics`);
      await systemClock.sleep(SCRAPE_EVERY_MS, stop.signal).catch(() => undefined);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await done;
    },
  };
}

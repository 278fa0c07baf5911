/**
 * What watching costs: answers of the status server beside a database with 100,000 messages, and the processor time of
 * a relayer that is scraped every second beside one without a server.
 */
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { pause } from "../../devnet/waiting.ts";
import { type RelayerProcess } from "../scenario/support/relayer_process.ts";
import { fillLedger } from "./large_ledger.ts";
import type { BenchDeps, Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { type Figure, figure, figuresOf } from "./report.ts";
import { updateAll } from "./stage.ts";
import { startSubject } from "./subject.ts";
import { sendWaiting, timeRelayer } from "./timed_relayer.ts";

const MESSAGES = 100_000;
const MAX_ANSWER_MS = 200;
/** Answers of each page: the snapshot is read again for each. */
const LOOKS = 4;
/** More than the age up to which a snapshot is shown again. */
const LOOK_EVERY_MS = 5_500;
const DELIVERED = 2_000;
/** Pairs of a relayer that is scraped and one that is not, in turns. */
const PAIRS = 3;
const SCRAPE_EVERY_MS = 1_000;
const MAX_SHARE = 1.03;
const LISTEN = ["--listen=127.0.0.1:0"];

/** See the head of the file. */
export const page: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false });
  await updateAll(devnet);
  return [...await measureAnswers(deps, devnet), ...await measureScraping(deps, devnet)];
};

async function measureAnswers(deps: BenchDeps, devnet: Devnet): Promise<readonly Figure[]> {
  const folder = `${deps.folder}/answers`;
  await Deno.mkdir(folder, { recursive: true });
  fillLedger(`${folder}/relayer.db`, {
    rows: MESSAGES,
    chains: devnet.chains.map(({ stateMachine }) => stateMachine),
    hub: devnet.hub.identity.stateMachine,
    nowMs: Date.now(),
    held: "pending",
  });
  await using relayer = await startSubject(deps, devnet.endpoints, {
    folder: "answers",
    changes: { disableFeeAccumulation: true },
    legs: 4,
    extraArguments: LISTEN,
  });
  const base = await addressOf(relayer);
  const figures: Figure[] = [];
  for (const path of ["/", "/status.json", "/metrics"]) {
    const looks: { readonly ms: number; readonly cpuMs: number }[] = [];
    while (looks.length < LOOKS) {
      await pause(LOOK_EVERY_MS);
      const cpuMs = readCpuMs(relayer.pid);
      const ms = await timeAnswer(`${base}${path}`);
      looks.push({ ms, cpuMs: readCpuMs(relayer.pid) - cpuMs });
    }
    figures.push(...figuresOf(looks, [
      ["ms", `page, ${MESSAGES} messages, ${path}: an answer`, "ms", { most: MAX_ANSWER_MS }],
      ["cpuMs", `page, ${MESSAGES} messages, ${path}: processor time of an answer`, "ms"],
    ]));
  }
  await relayer.terminate();
  return figures;
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
async function measureScraping(deps: BenchDeps, devnet: Devnet): Promise<readonly Figure[]> {
  const b = devnet.chain("B");
  const waiting = await sendWaiting(devnet, b, DELIVERED);
  const run = async (folder: string, isScraped: boolean): Promise<number> => {
    const snapshot = await b.host.node.snapshot();
    const work = { folder, ...waiting, ...isScraped && { extraArguments: LISTEN, beside: scrape } };
    const { cpuMs } = await timeRelayer(deps, devnet, work);
    await b.host.node.revert({ id: snapshot });
    return cpuMs / DELIVERED;
  };
  await run("warm-up", false);
  const plain: number[] = [];
  const scraped: number[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    // In turns, so that a machine that slows down slows both.
    plain.push(await run(`plain-${pair}`, false));
    scraped.push(await run(`scraped-${pair}`, true));
  }
  const ratios = scraped.map((ms, pair) => ms / (plain[pair] ?? NaN));
  return [
    figure("page: processor time of a message, without a status server", "ms", plain),
    figure("page: the same, scraped every second", "ms", scraped),
    figure("page: scraped / without", "", ratios, { most: MAX_SHARE }),
  ];
}

/** Asks for the metrics every second until it is disposed of. */
function scrape(relayer: RelayerProcess): AsyncDisposable {
  const stop = new AbortController();
  const done = (async () => {
    const base = await addressOf(relayer);
    while (!stop.signal.aborted) {
      await timeAnswer(`${base}/metrics`);
      await pause(SCRAPE_EVERY_MS, stop.signal);
    }
  })();
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await done;
    },
  };
}

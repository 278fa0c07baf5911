/** What watching costs: answers of the status server beside a database with 100,000 messages. */
import { startDevnet } from "../../devnet/devnet.ts";
import { pause } from "../../devnet/waiting.ts";
import { fillLedger } from "./large_ledger.ts";
import type { Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { type Figure, figuresOf } from "./report.ts";
import { updateAll } from "./stage.ts";
import { startSubject } from "./subject.ts";

const MESSAGES = 100_000;
const MAX_ANSWER_MS = 200;
/** Answers of each page: the snapshot is read again for each. */
const LOOKS = 4;
/** More than the age up to which a snapshot is shown again. */
const LOOK_EVERY_MS = 5_500;

/** See the head of the file. */
export const page: Part = async (deps) => {
  await using devnet = await startDevnet({ startsOracle: false });
  await updateAll(devnet);
  await Deno.mkdir(`${deps.folder}/relayer`);
  fillLedger(`${deps.folder}/relayer/relayer.db`, {
    rows: MESSAGES,
    chains: devnet.chains.map(({ stateMachine }) => stateMachine),
    hub: devnet.hub.identity.stateMachine,
    nowMs: Date.now(),
    held: "pending",
  });
  await using relayer = await startSubject(deps, devnet.endpoints, {
    changes: { disableFeeAccumulation: true },
    legs: 4,
    extraArguments: ["--listen=127.0.0.1:0"],
  });
  const { record } = await relayer.waitForLine("status_server_started");
  const figures: Figure[] = [];
  for (const path of ["/", "/status.json", "/metrics"]) {
    const looks: { readonly ms: number; readonly cpuMs: number }[] = [];
    while (looks.length < LOOKS) {
      await pause(LOOK_EVERY_MS);
      const cpuMs = readCpuMs(relayer.pid);
      const ms = await timeAnswer(`http://${record?.address}${path}`);
      looks.push({ ms, cpuMs: readCpuMs(relayer.pid) - cpuMs });
    }
    figures.push(...figuresOf(looks, [
      ["ms", `page, ${MESSAGES} messages, ${path}: an answer`, "ms", { most: MAX_ANSWER_MS }],
      ["cpuMs", `page, ${MESSAGES} messages, ${path}: processor time of an answer`, "ms"],
    ]));
  }
  await relayer.terminate();
  return figures;
};

/** Time until the whole answer is there, ms. @throws {Error} when it is not 200 */
async function timeAnswer(url: string): Promise<number> {
  const startMs = performance.now();
  const answer = await fetch(url);
  await answer.text();
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status}`);
  return performance.now() - startMs;
}

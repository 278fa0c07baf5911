/** What both programs expose once something of everything has happened. */
import { ConsensusWatch } from "../../../src/consensus/status/consensus_watch.ts";
import type { Worker } from "../../../src/core/runtime/worker.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import type { FakeClock } from "../../support/fake_clock.ts";
import { makeSampleRelayer } from "./sample_relayer.ts";

/** The expositions of both programs, one after the other. */
export async function exposeSamples(): Promise<string> {
  const { watch, ledger, clock } = await makeSampleRelayer();
  watch.noteRestart("EVM-1 -> POLKADOT-3367");
  await runALittle(watch.workers(new RecordedLog()), clock);
  const relayer = await watch.sources().metrics();
  ledger.close();
  return `${relayer}\n${await exposeConsensus(clock)}`;
}

async function exposeConsensus(clock: FakeClock): Promise<string> {
  const watch = new ConsensusWatch(clock, "POLKADOT-3367");
  const route = { chain: "EVM-1", target: "POLKADOT-3367" };
  const update = { kind: "update", bytes: 5_000, findMs: 100, submitMs: 9_000, detail: "block 7" } as const;
  watch.updates.noteUpdate(route, { ...update, result: "accepted" });
  watch.updates.noteUpdate(route, { ...update, result: "lost" });
  watch.open();
  await runALittle(watch.watchers(), clock);
  return await watch.sources().metrics();
}

/** Lets the event loop be measured. */
async function runALittle(workers: readonly Worker[], clock: FakeClock): Promise<void> {
  const stop = new AbortController();
  const running = workers.find(({ name }) => name === "event loop")?.run(stop.signal).catch(() => {});
  await clock.advance(10_000);
  stop.abort();
  await running;
}

/** Names of metrics in queries; those of the parts of a histogram are its own. */
export function findMetricNames(queries: string): ReadonlySet<string> {
  return new Set([...queries.matchAll(/\bcauseway_[a-z_]+\b/g)].map(([name]) => name));
}

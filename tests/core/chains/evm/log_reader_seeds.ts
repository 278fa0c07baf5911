/**
 * Reads the requests of a host through the EVM adapter while its endpoints lag, miss logs, answer empty, refuse wide
 * ranges or take too long. A failing seed is run alone with
 * SEED=123 deno test -A tests/core/chains/evm/log_reader_seeds_test.ts
 */
import type { ChainEvent } from "../../../../src/core/chains/reads.ts";
import type { EvmChain } from "../../../../src/core/chains/evm/evm_chain.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../../../src/core/rpc/call.ts";
import { Draw } from "../../../support/draw.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import type { RecordedLine, RecordedLog } from "../../../support/recorded_log.ts";
import { chainUnderTest, never } from "./chain_fixture.ts";
import { FIRST_BLOCK, LogEndpoints } from "./log_reader_node.ts";
import { type LogPlan, logPlanOf } from "./log_reader_plan.ts";
import { host } from "./scripted_node.ts";

/** Blocks below the head that are read: the hub knows no newer ones. */
const KNOWN_LAG = 2;
/** Time after the trouble in which everything must be read, seconds. */
const MAX_CALM_SEC = 2_400;

/** What a seed came to. */
export interface LogCourse {
  readonly log: RecordedLog;
  readonly endpoints: LogEndpoints;
  /** What is wrong; empty for a good seed. */
  readonly violations: readonly string[];
}

/** Runs the seeds from `first` to `last`; a failure is told with the line that replays it. */
export async function* findLogFailures(
  first: number,
  last: number,
): AsyncGenerator<{ readonly seed: number; readonly failure: string | undefined }> {
  for (let seed = first; seed <= last; seed++) {
    const { violations } = await readLogs(logPlanOf(seed), seed);
    const replay = `SEED=${seed} deno test -A tests/core/chains/evm/log_reader_seeds_test.ts`;
    const failure = `Seed ${seed} failed. Run it alone:\n${replay}\n${violations.slice(0, 10).join("\n")}`;
    yield { seed, failure: violations.length === 0 ? undefined : failure };
  }
}

/** Reads the requests of a plan as a leg does, to the end. */
export async function readLogs(plan: LogPlan, seed: number): Promise<LogCourse> {
  const clock = new FakeClock();
  const endpoints = new LogEndpoints(plan, clock, new Draw(seed ^ 0x5eed));
  const place = { ismpHost: host, stateMachine: evmStateMachine(1) };
  const { chain, log } = chainUnderTest(endpoints.urls, place, clock, endpoints.fetch);
  const reader = new Reader(plan, endpoints, clock, chain);
  await reader.run();
  const violations = [
    ...reader.violations,
    ...leftOut(plan, endpoints, reader, log),
    ...wronglyLogged(endpoints, log),
  ];
  return { log, endpoints, violations };
}

/** A leg that reads its source. */
class Reader {
  readonly violations: string[] = [];
  /** Nonces in the order in which they were reported first. */
  readonly reported: number[] = [];
  #cursor = FIRST_BLOCK - 1;
  readonly #plan: LogPlan;
  readonly #endpoints: LogEndpoints;
  readonly #clock: FakeClock;
  readonly #chain: EvmChain;

  constructor(plan: LogPlan, endpoints: LogEndpoints, clock: FakeClock, chain: EvmChain) {
    this.#plan = plan;
    this.#endpoints = endpoints;
    this.#clock = clock;
    this.#chain = chain;
  }

  /** Reads until the trouble is over and all blocks with requests are passed. */
  async run(): Promise<void> {
    const { calmAfterSec, pollSec } = this.#plan;
    const last = Math.max(...this.#endpoints.requests.map(({ block }) => block));
    const untilSec = calmAfterSec + pollSec;
    while (this.#endpoints.nowSec < untilSec || this.#cursor < last) {
      if (this.#endpoints.nowSec > calmAfterSec + MAX_CALM_SEC) {
        this.violations.push(`The cursor stands at ${this.#cursor}, the last request is in ${last}`);
        return;
      }
      while (await this.#read());
      await this.#clock.advance(pollSec * 1_000);
    }
  }

  /** One read; true when there is more to be read at once. */
  async #read(): Promise<boolean> {
    const from = this.#cursor + 1;
    const to = Math.min(this.#endpoints.head - KNOWN_LAG, this.#cursor + this.#plan.width);
    if (from > to) return false;
    try {
      const events = await this.#clock.run(this.#chain.events.fetchEvents(BigInt(from), BigInt(to), never));
      this.#take(events, { from, to });
      this.#cursor = to;
      return true;
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      return false;
    }
  }

  #take(events: readonly ChainEvent[], { from, to }: { readonly from: number; readonly to: number }): void {
    const nonces = events.flatMap((event) =>
      event.kind === "message" && event.message.kind === "post" ? [Number(event.message.request.nonce)] : []
    );
    const isInOrder = nonces.every((nonce, index) => index === 0 || nonce > (nonces[index - 1] ?? nonce));
    if (!isInOrder) this.violations.push(`Blocks ${from} to ${to} came as ${nonces}`);
    this.reported.push(...nonces.filter((nonce) => !this.reported.includes(nonce)));
    const passed = this.#endpoints.requestsIn(from, to).filter(({ nonce }) =>
      !this.reported.includes(nonce) && nonce !== lostNonce(this.#plan)
    );
    for (const { block, nonce } of passed) {
      this.violations.push(`The cursor went to ${to} past request ${nonce} of block ${block}`);
    }
  }
}

function lostNonce({ earlier, lost }: LogPlan): number | undefined {
  return lost === undefined ? undefined : earlier + lost;
}

/** Every request is reported in the end, in order; what is lost is logged instead. */
function* leftOut(
  plan: LogPlan,
  { requests }: LogEndpoints,
  { reported }: Reader,
  log: RecordedLog,
): Iterable<string> {
  const lost = lostNonce(plan);
  const wanted = requests.map(({ nonce }) => nonce).filter((nonce) => nonce !== lost);
  if (reported.join() !== wanted.join()) yield `Reported were ${reported}, there are ${wanted}`;
  const given = log.linesOf("messages_skipped.not_served").map(rangeText);
  const expected = lost === undefined ? "" : `${lost} to ${lost}`;
  if (given.join() !== expected) yield `Given up were ${given}, lost was ${expected}`;
}

function rangeText({ fields }: RecordedLine): string {
  return `${fields.first_nonce} to ${fields.last_nonce}`;
}

/** Each gap that could be seen has one line, each line a gap; an endpoint is warned of once in a while. */
function* wronglyLogged({ incomplete }: LogEndpoints, log: RecordedLog): Iterable<string> {
  const lines = log.linesOf("endpoint_data_invalid.logs");
  const given = log.linesOf("messages_skipped.not_served");
  const keyOf = ({ fields }: RecordedLine): string =>
    `${fields.endpoint} ${fields.from_block} to ${fields.to_block}`;
  const served = new Map<string, number>();
  const seen = new Map<string, number>();
  for (const { from, host, isSeen, to } of incomplete) {
    const key = `${host} ${from} to ${to}`;
    served.set(key, (served.get(key) ?? 0) + 1);
    if (isSeen) seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  const told = new Map<string, number>();
  for (const line of lines) told.set(keyOf(line), (told.get(keyOf(line)) ?? 0) + 1);
  for (const [key, count] of told) {
    if (count > (served.get(key) ?? 0)) {
      yield `${count} lines tell of a gap at ${key}, which was served less often`;
    }
  }
  for (const [key, count] of seen) {
    const [, from, , to] = key.split(" ");
    const isGivenUp = given.some(({ fields }) =>
      String(fields.from_block) === from && String(fields.to_block) === to
    );
    if ((told.get(key) ?? 0) < count && !isGivenUp) yield `No line tells of the gap at ${key}`;
  }
}

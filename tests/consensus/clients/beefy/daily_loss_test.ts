/** `maximum_daily_loss` of the consensus relayer: what is counted, for how long, and what it leaves. */
import { deepEqual, equal, match } from "node:assert/strict";
import { DailyLoss } from "../../../../src/consensus/clients/beefy/daily_loss.ts";
import { memoryText, type PersistedText } from "../../../../src/consensus/persisted_text.ts";
import type { SignedSubmission } from "../../../../src/core/chains/submission.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import type { NativePrice } from "../../../../src/core/evm/native_price.ts";
import { evmStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";

const never = new AbortController().signal;
const HOUR_MS = 3_600_000;
const GWEI = 10n ** 9n;
/** A million gas at one gwei costs two dollars. */
const known: NativePrice = {
  kind: "known",
  price27: 2_000n * 10n ** 27n,
  origin: "etherscan",
  readAtMs: 0,
  isRemembered: false,
  failures: [],
};

interface Limited {
  readonly loss: DailyLoss;
  readonly clock: FakeClock;
  readonly log: RecordedLog;
  readonly made: { price: NativePrice };
}

function limited(limitUsd: bigint, text: PersistedText = memoryText(), clock = new FakeClock()): Limited {
  const log = new RecordedLog();
  const made: Limited["made"] = { price: known };
  const price = { fetchPrice: () => Promise.resolve(made.price) };
  const loss = new DailyLoss({ clock, log, price, text }, limitUsd * 1_000_000n);
  return { loss, clock, log, made };
}

function submission(nonce: bigint, gweiPerGas: bigint, gasLimit = 1_000_000n): SignedSubmission {
  return {
    hash: toHash256(new Uint8Array(32)),
    chain: evmStateMachine(1),
    raw: new Uint8Array(),
    account: "0x",
    nonce,
    gasPriceWei: gweiPerGas * GWEI,
    gasLimit,
    madeAtHeight: 1n,
  };
}

const million = { gasLimit: 1_000_000n, dataCostWei: 0n };

Deno.test("daily loss: what is signed counts for a day with the most that it can cost", async () => {
  const { loss, clock } = limited(50n);
  equal(await loss.boundWei(million, never), 25n * GWEI);
  await loss.note(submission(1n, 10n), never);
  equal(await loss.boundWei(million, never), 15n * GWEI);
  await clock.advance(12 * HOUR_MS);
  await loss.note({ ...submission(2n, 14n), dataCostWei: 10n ** 15n }, never);
  equal(await loss.boundWei(million, never), 0n);
  equal(await loss.boundWei({ ...million, gasLimit: 0n }, never), 0n);
  await clock.advance(12 * HOUR_MS);
  equal(await loss.boundWei(million, never), 10n * GWEI);
  equal(await loss.boundWei({ ...million, dataCostWei: 10n ** 15n }, never), 9n * GWEI);
});

Deno.test("daily loss: of the transactions of one nonce the dearest counts, and a replacement has what the first had", async () => {
  const { loss } = limited(50n);
  await loss.note(submission(1n, 20n), never);
  equal(await loss.boundWei(million, never), 5n * GWEI);
  equal(await loss.boundWei({ ...million, nonce: 1n }, never), 25n * GWEI);
  await loss.note(submission(1n, 22n), never);
  await loss.note(submission(1n, 25n, 21_000n), never);
  equal(await loss.boundWei(million, never), 3n * GWEI);
});

Deno.test("daily loss: without a price of the native token nothing may be signed", async () => {
  const { loss, made } = limited(50n);
  made.price = { kind: "unknown", failures: [] };
  equal(await loss.boundWei(million, never), 0n);
});

Deno.test("daily loss: the sum survives a restart, and a file that is cut off is reported", async () => {
  const text = memoryText();
  const clock = new FakeClock();
  const first = limited(50n, text, clock);
  await first.loss.note(submission(1n, 20n), never);
  await clock.advance(HOUR_MS);
  equal(await limited(50n, text, clock).loss.boundWei(million, never), 5n * GWEI);
  await clock.advance(23 * HOUR_MS);
  equal(await limited(50n, text, clock).loss.boundWei(million, never), 25n * GWEI);
  for (const broken of [text.read()?.slice(0, -3) ?? "", "{}", '[{"atMs":1,"nonce":1,"microUsd":"-5"}]']) {
    text.write(broken);
    const { loss, log } = limited(50n, text, clock);
    equal(await loss.boundWei(million, never), 25n * GWEI);
    deepEqual(log.lines.map(({ event }) => event), ["cache_fault.losses_unreadable"]);
  }
});

Deno.test("daily loss: a reached limit is a warning with what was spent, the limit and the end, once an hour", async () => {
  const { loss, clock, log } = limited(50n);
  await loss.note(submission(1n, 20n), never);
  await clock.advance(HOUR_MS);
  await loss.note(submission(2n, 5n), never);
  match(loss.refuse("gas costs 9 wei now, 0 wei may be paid"), /^maximum_daily_loss: 50 of 50 dollars/);
  loss.refuse("");
  const [warning, ...more] = log.linesOf("loss_limit_reached");
  deepEqual(more.map(({ level }) => level), ["debug"]);
  equal(warning?.level, "warn");
  const until = new Date(clock.now() + 23 * HOUR_MS).toISOString();
  deepEqual(warning?.fields, { lostUsd: "50", limitUsd: "50", until });
  await clock.advance(HOUR_MS);
  loss.refuse("");
  equal(log.events("warn").length, 2);
  await clock.advance(23 * HOUR_MS);
  await loss.note(submission(3n, 1n), never);
  equal(log.linesOf("loss_limit_cleared").length, 1);
});

Deno.test("daily loss: a transaction that what is left does not cover is a warning with the reason", async () => {
  const { loss, log } = limited(50n);
  await loss.note(submission(1n, 20n), never);
  loss.refuse("gas costs 9 wei now, 5 wei may be paid");
  const [warning] = log.linesOf("loss_limit_reached");
  equal(
    warning?.fields.because,
    "what is left does not cover the next transaction: gas costs 9 wei now, 5 wei may be paid",
  );
  deepEqual([warning?.fields.lostUsd, warning?.fields.limitUsd], ["40", "50"]);
});

/** What becomes of a transaction with proofs, with a chain whose every answer is scripted. */
import assert from "node:assert/strict";
import { DailyLoss } from "../../../../src/consensus/clients/beefy/daily_loss.ts";
import { type SendingChain, sendProofs } from "../../../../src/consensus/clients/beefy/send_proofs.ts";
import type { SubmitResult } from "../../../../src/consensus/deliver_update.ts";
import { memoryText } from "../../../../src/consensus/persisted_text.ts";
import type {
  BroadcastResult,
  SignedSubmission,
  SubmissionOutcome,
} from "../../../../src/core/chains/submission.ts";
import type { GasPrice } from "../../../../src/core/chains/evm/gas.ts";
import { toHash256 } from "../../../../src/core/encoding/bytes.ts";
import { ShutdownRequested } from "../../../../src/core/runtime/app.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { idOf } from "../../../support/memory_target.ts";
import { faultOf } from "../../../support/rpc_faults.ts";
import { RecordedLog } from "../../../support/recorded_log.ts";

/** A chain with a pool of one nonce. */
class OneNonce implements SendingChain {
  readonly id = idOf("EVM-1/ETH0");
  readonly log: string[] = [];
  readonly prices = new Map<string, bigint>();
  outcome: (submission: SignedSubmission) => SubmissionOutcome = () => ({ kind: "pending" });
  broadcasting: () => BroadcastResult = () => ({ kind: "sent" });
  nonce = 7n;
  latestNonce = 7n;
  faults = 0;
  /** `maximum_gas_price`. */
  maximumWei: bigint | undefined;
  #made = 0;

  get simulator(): this {
    return this;
  }

  get sender(): this {
    return this;
  }

  get outcomes(): this {
    return this;
  }

  get replacement(): this {
    return this;
  }

  #submission(priceWei: bigint): SignedSubmission {
    const hash = toHash256(new Uint8Array(32).fill(++this.#made));
    this.prices.set(hash, priceWei);
    return {
      hash,
      chain: this.id.stateMachine,
      raw: new Uint8Array(),
      account: "0x",
      nonce: this.nonce,
      gasPriceWei: priceWei,
      gasLimit: 1n,
      madeAtHeight: 1n,
    };
  }

  simulate: SendingChain["simulator"]["simulate"] = () => {
    const zero = { gasUsed: 1n, gasLimit: 1n, gasPriceWei: 1n, dataCostWei: 0n };
    return Promise.resolve({ kind: "accepted", handled: [], messageGas: [], ...zero });
  };
  sign: SendingChain["sender"]["sign"] = (_, { maxGasPriceWei }) => {
    if (maxGasPriceWei !== undefined && maxGasPriceWei < 100n) {
      const detail = `gas costs 100 wei now, ${maxGasPriceWei} wei may be paid`;
      return Promise.resolve({ kind: "refused", refusal: { code: "too_expensive", detail } });
    }
    this.log.push("sign");
    return Promise.resolve({ kind: "signed", submission: this.#submission(100n) });
  };
  broadcast: SendingChain["sender"]["broadcast"] = (submission) => {
    this.log.push(`send at ${this.prices.get(submission.hash)}`);
    return Promise.resolve(this.broadcasting());
  };
  fetchOutcome: SendingChain["outcomes"]["fetchOutcome"] = (submission) => {
    if (this.faults > 0) {
      this.faults--;
      return Promise.reject(faultOf("timeout"));
    }
    return Promise.resolve(this.outcome(submission));
  };
  fetchReplacementState: SendingChain["replacement"]["fetchReplacementState"] = (submission) => {
    const priceOf = (gasPriceWei: bigint): GasPrice => ({ type: "legacy", gasPriceWei });
    return Promise.resolve({
      offered: priceOf(this.prices.get(submission.hash) ?? 0n),
      market: priceOf(100n),
      nonces: { latest: this.latestNonce, pending: this.latestNonce + 1n },
      balanceWei: 10n ** 18n,
      dataCostWei: 0n,
      isHandlerReplaced: false,
      maximumWei: this.maximumWei,
    });
  };
  resign: SendingChain["replacement"]["resign"] = (_, price) => {
    this.log.push("resign");
    return Promise.resolve(this.#submission(price.type === "legacy" ? price.gasPriceWei : 0n));
  };
  cancel: SendingChain["replacement"]["cancel"] = (_, price) => {
    this.log.push("cancel");
    return Promise.resolve(this.#submission(price.type === "legacy" ? price.gasPriceWei : 0n));
  };
}

const mined: SubmissionOutcome = {
  kind: "included",
  block: { height: 9n, hash: toHash256(new Uint8Array(32)) },
  isFinal: false,
  succeeded: true,
  handled: [],
  refusal: undefined,
};

class Scene {
  readonly chain = new OneNonce();
  readonly clock = new FakeClock();
  readonly stop = new AbortController();
  readonly log = new RecordedLog();
  readonly #loss: DailyLoss | undefined;
  isNews = true;

  /** @param limitMicroUsd `maximum_daily_loss`; a wei is a micro-dollar here */
  constructor(limitMicroUsd?: bigint) {
    const quote = { kind: "known", price27: 10n ** 39n, origin: "fixed", readAtMs: 0 } as const;
    const price = { fetchPrice: () => Promise.resolve({ ...quote, isRemembered: false, failures: [] }) };
    const deps = { clock: this.clock, log: this.log, price, text: memoryText() };
    this.#loss = limitMicroUsd === undefined ? undefined : new DailyLoss(deps, limitMicroUsd);
  }

  send(): Promise<SubmitResult> {
    const { clock, log, chain } = this;
    const isStillNeeded = (): Promise<boolean> => Promise.resolve(this.isNews);
    const work = { proofs: [Uint8Array.of(1)], isStillNeeded };
    return sendProofs({ clock, log, chain, loss: this.#loss }, work, this.stop.signal);
  }
}

Deno.test("beefy: nothing is signed once the host knows the proofs", async () => {
  const made = new Scene();
  made.isNews = false;
  assert.deepEqual(await made.send(), { kind: "overtaken" });
  assert.deepEqual(made.chain.log, []);
  assert.equal(made.clock.pending, 0);
});

Deno.test("beefy: a transaction is followed through faults of endpoints to its block", async () => {
  const made = new Scene();
  made.chain.faults = 3;
  const sending = made.send();
  await made.clock.advance(7_000);
  made.chain.outcome = () => mined;
  const result = await made.clock.run(sending);
  assert.equal(result.kind, "accepted");
  assert.deepEqual(made.chain.log, ["sign", "send at 100"]);
});

Deno.test("beefy: what a transaction with proofs cost is reported with its outcome", async () => {
  const made = new Scene();
  const spent = { gasUsed: 400_000n, gasPriceWei: 10n ** 9n, dataCostWei: 5n };
  made.chain.outcome = () => ({ ...mined, advancedClient: false, spent });
  await made.clock.run(made.send());
  const [line] = made.log.lines.filter(({ event }) => event === "proofs_gas_spent");
  assert.partialDeepStrictEqual(line?.fields, {
    result: "wasted",
    gas: 400_000n,
    spent: "0.000400000000000005",
  });
});

Deno.test("beefy: what waits too long is replaced at a higher price, at most three times, and then cancelled", async () => {
  const made = new Scene();
  const sending = made.send();
  await made.clock.advance(600_000);
  const { log } = made.chain;
  assert.deepEqual(log.filter((line) => !line.startsWith("send")), [
    "sign",
    "resign",
    "resign",
    "resign",
    "cancel",
    "cancel",
  ]);
  const prices = log.filter((line) => line.startsWith("send")).map((line) => Number(line.split(" ").at(-1)));
  assert.deepEqual(prices, prices.toSorted((a, b) => a - b));
  const firstCancel = [...made.chain.prices.keys()].at(-2);
  made.chain.outcome = ({ hash }) => hash === firstCancel ? mined : { kind: "replaced" };
  assert.deepEqual(await made.clock.run(sending), { kind: "lost", reason: "it was cancelled" });
});

Deno.test("beefy: nothing is signed that maximum_daily_loss does not cover, with all that was signed before", async () => {
  const made = new Scene(250n);
  made.chain.outcome = () => mined;
  for (let sent = 0; sent < 2; sent++) {
    // A nonce of its own for each.
    made.chain.nonce = BigInt(sent);
    assert.equal((await made.clock.run(made.send())).kind, "accepted");
  }
  made.chain.nonce = 2n;
  const refused = await made.clock.run(made.send());
  assert.ok(refused.kind === "refused" && refused.refusal.code === "too_expensive");
  assert.match(refused.refusal.detail ?? "", /^maximum_daily_loss: 0.0002 of 0.00025 dollars/);
  assert.equal(made.chain.log.filter((line) => line === "sign").length, 2);
  await made.clock.advance(86_400_000);
  assert.equal((await made.clock.run(made.send())).kind, "accepted");
});

Deno.test("beefy: replacements and cancellations stay within maximum_gas_price and maximum_daily_loss", async () => {
  for (
    const [limitMicroUsd, maximumWei] of [[140n, undefined], [undefined, 140n], [
      10n ** 9n,
      140n,
    ]] as const
  ) {
    const made = new Scene(limitMicroUsd);
    made.chain.maximumWei = maximumWei;
    const sent = made.send();
    await made.clock.advance(1_000_000);
    made.chain.outcome = () => mined;
    await made.clock.run(sent);
    const prices = [...made.chain.prices.values()];
    assert.equal(prices.length > 1, true);
    assert.deepEqual(prices.filter((price) => price > 140n), []);
  }
});

Deno.test("beefy: while a chain stands still, the price of a cancellation stays near the market's", async () => {
  const made = new Scene();
  const sending = made.send();
  await made.clock.advance(6 * 3_600_000);
  const highest = [...made.chain.prices.values()].reduce((a, b) => a > b ? a : b);
  assert.ok(highest <= 1_000n, `${highest} wei, and 100 wei is the market's price`);
  const made6h = made.chain.log.filter((line) => line === "cancel").length;
  assert.ok(made6h >= 2 && made6h < 12, `${made6h} cancellations`);
  made.chain.outcome = ({ hash }) =>
    hash === [...made.chain.prices.keys()].at(-1) ? mined : { kind: "replaced" };
  assert.deepEqual(await made.clock.run(sending), { kind: "lost", reason: "it was cancelled" });
});

Deno.test("beefy: what waits too long and is no longer needed is cancelled at once, and an older one may still be mined", async () => {
  const made = new Scene();
  const sending = made.send();
  await made.clock.advance(60_000);
  made.isNews = false;
  await made.clock.advance(90_000);
  assert.deepEqual(made.chain.log.filter((line) => !line.startsWith("send")), ["sign", "cancel"]);
  const [first] = made.chain.prices.keys();
  made.chain.outcome = ({ hash }) => hash === first ? mined : { kind: "replaced" };
  assert.equal((await made.clock.run(sending)).kind, "accepted");
});

Deno.test("beefy: a transaction that no node knows any more is sent again", async () => {
  const made = new Scene();
  made.chain.outcome = () => ({ kind: "unknown" });
  const sending = made.send();
  const sent = (): number => made.chain.log.filter((line) => line === "send at 100").length;
  await made.clock.advance(40_000);
  assert.equal(sent(), 2);
  await made.clock.advance(60_000);
  assert.equal(sent(), 4);
  made.chain.outcome = () => mined;
  assert.equal((await made.clock.run(sending)).kind, "accepted");
});

Deno.test("beefy: a nonce that another program has used is a loss, not a fault; a pool's word for it is none", async () => {
  const replaced = new Scene();
  replaced.chain.outcome = () => ({ kind: "replaced" });
  assert.equal((await replaced.clock.run(replaced.send())).kind, "lost");
  const used = new Scene();
  used.chain.broadcasting = () => ({ kind: "nonceUsed" });
  used.chain.outcome = () => mined;
  assert.equal((await used.clock.run(used.send())).kind, "accepted");
});

Deno.test("beefy: a failed transaction is reported with its reason", async () => {
  const made = new Scene();
  const refusal = { code: "unknown_authority_set", detail: "UnknownAuthoritySet()" } as const;
  made.chain.outcome = () => ({ ...mined, succeeded: false, refusal });
  assert.deepEqual(await made.clock.run(made.send()), { kind: "refused", refusal });
});

Deno.test("beefy: a stopping program waits some seconds for what it has sent", async () => {
  const made = new Scene();
  const sending = made.send();
  await made.clock.advance(3_000);
  made.stop.abort(new ShutdownRequested("SIGTERM"));
  await made.clock.advance(2_000);
  made.chain.outcome = () => mined;
  assert.equal((await made.clock.run(sending)).kind, "accepted");
  const late = new Scene();
  const waiting = late.send();
  await late.clock.advance(3_000);
  late.stop.abort(new ShutdownRequested("SIGTERM"));
  await assert.rejects(late.clock.run(waiting), ShutdownRequested);
  assert.equal(late.clock.pending, 0);
  const [told] = late.log.lines.filter(({ level }) => level === "info");
  assert.equal(told?.event, "proofs_failed.interrupted");
  assert.deepEqual(told.fields, { transaction: [...late.chain.prices.keys()][0] });
});

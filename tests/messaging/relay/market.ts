/** Fees, prices and legs with a profit rule; workers of one leg that run until a test ends. */
import assert from "node:assert/strict";
import { createPriceSource } from "../../../src/core/pricing/price_source.ts";
import type { Message, PostRequest } from "../../../src/core/ismp/message.ts";
import type { LegProfit, LegRun } from "../../../src/messaging/relay/leg.ts";
import { legWorker } from "../../../src/messaging/relay/leg_worker.ts";
import { settleWorker } from "../../../src/messaging/relay/settle/settle_worker.ts";
import { type Fixture, names, type Relayer } from "./fixture.ts";

/** Dollars x 10^18 that a message costs on a chain whose gas costs {@link PRICE_WEI}, at {@link PRICE_27}. */
export const COST_18 = 200_000_000_000_000_000n;
/** 2,000 dollars. */
export const PRICE_27 = 2_000n * 10n ** 27n;
export const PRICE_WEI = 10n ** 9n;

/** Profit of `percent` on the way to the second chain; counts how often the price was asked for; `none`: nobody knows it. */
export function profitOf(
  relayer: Relayer,
  percent: number,
  price27: bigint | "none" = PRICE_27,
): LegProfit & { readonly asked: () => number } {
  let asked = 0;
  const quotes = [{
    origin: "router" as const,
    ask: () => {
      asked++;
      return Promise.resolve(
        price27 === "none"
          ? { kind: "failed" as const, code: "no_pool" as const }
          : { kind: "price" as const, price27 },
      );
    },
  }];
  return {
    minimumPercent: percent,
    feeChains: new Map([[names.one, relayer.one], [names.two, relayer.two]]),
    price: createPriceSource({ clock: relayer.deps.clock }, { quotes }),
    asked: () => asked,
  };
}

/** Records that a message carries a payment of ours. */
export function recordPayment({ ledger, address }: Relayer, { commitment }: Message, amount: bigint): void {
  ledger.withdrawals.record({
    chain: names.two,
    address,
    nonce: 0n,
    beneficiary: undefined,
    amount,
    hubBlock: 1n,
    state: "dispatched",
    dispatch: { commitment, encoded: new Uint8Array(), hubBlock: 1n },
  });
}

/** A message for each fee. */
type Paid<F extends readonly bigint[]> = { -readonly [Index in keyof F]: Message };

/** Messages with these fees on their source, which have arrived at the hub. */
export async function pay<const F extends readonly bigint[]>(
  fixture: Fixture,
  fees: F,
  changes: Partial<PostRequest> = {},
): Promise<Paid<F>> {
  fixture.two.priceWei = PRICE_WEI;
  const messages = fees.map(() => fixture.message(changes));
  for (const [index, message] of messages.entries()) {
    const source = changes.source === names.two ? fixture.two : fixture.one;
    source.dispatch(message, fees[index]);
    fixture.hub.dispatch(message);
  }
  await fixture.blocks(1);
  return messages as Paid<F>;
}

/** The same, known to the second chain. */
export async function payAndUpdate<const F extends readonly bigint[]>(
  fixture: Fixture,
  fees: F,
  changes: Partial<PostRequest> = {},
): Promise<Paid<F>> {
  const messages = await pay(fixture, fees, changes);
  await fixture.update(fixture.hub, fixture.two);
  return messages;
}

/** The hub accepts a proof of everything that is final now. */
export async function prove(fixture: Fixture, kind: "messaging" | "rotation" = "messaging"): Promise<void> {
  await fixture.blocks(2);
  fixture.hub.acceptProof(kind);
  await fixture.blocks(3);
}

/** Kinds of the steps of each transaction on the second chain, oldest first. */
export function stepsOf({ two }: Fixture): string[][] {
  return two.transactions().map(({ delivery }) => delivery.steps.map(({ kind }) => kind));
}

/** Runs a leg and its settling until it is disposed of; no worker may fail. */
export function running(relayer: Relayer, leg: LegRun): AsyncDisposable {
  const settling = {
    target: leg.target,
    sources: [leg.source],
    everyMs: 2_000,
    wake: leg.settleWake,
    legs: [leg.wake],
  };
  const faults: unknown[] = [];
  const ends = [
    legWorker(leg),
    settleWorker({ ...relayer.on(leg.target), ...settling }),
  ].map((worker) => worker.run(relayer.signal).catch((error: unknown) => faults.push(error)));
  return {
    [Symbol.asyncDispose]: async () => {
      relayer.kill();
      await Promise.all(ends);
      const isKill = (fault: unknown): boolean => fault instanceof Error && fault.message === "killed";
      assert.ok(faults.every(isKill), String(faults));
    },
  };
}

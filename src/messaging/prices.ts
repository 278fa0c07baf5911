/**
 * Prices of the configured chains' native tokens; their sources are listed in `pricing/price_quotes.ts`. The last valid
 * price is kept in the ledger, with the time at which it was read, so that it survives a restart.
 */
import { type GoodPrice, ONE_DOLLAR_27 } from "../core/evm/native_price.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import type { Fetch } from "../core/rpc/http.ts";
import type { Clock } from "../core/runtime/clock.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { HubConfig } from "./config/schema.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { PriceContext } from "../core/pricing/price_quote.ts";
import { listPriceQuotes } from "../core/pricing/price_quotes.ts";
import { createPriceSource, type PriceSource } from "../core/pricing/price_source.ts";
import { toTokenUnits } from "../core/encoding/bytes.ts";
import * as z from "zod";

/** Dependencies of price sources. */
export interface PriceDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly log: Log;
  readonly ledger: Pick<Ledger, "meta" | "transaction">;
}

/**
 * Dollars per whole token of the hub x 10^27; `undefined`: unknown. Neither explorers nor routers price this token, so
 * the operator configures it. Tokens of a test hub (`KUSAMA-`) count as one dollar, as native tokens do there.
 */
export function hubTokenPrice27(hub: Pick<HubConfig, "stateMachine" | "tokenPrice">): bigint | undefined {
  if (hub.tokenPrice !== undefined) return toTokenUnits(hub.tokenPrice, 27);
  return hub.stateMachine.startsWith("KUSAMA-") ? ONE_DOLLAR_27 : undefined;
}

/** Creates the price source of an EVM chain. */
export function createNativePriceSource(
  deps: PriceDeps,
  facts: Pick<PriceContext, "config" | "router" | "hub">,
): PriceSource {
  const { stateMachine } = facts.config;
  const quotes = listPriceQuotes({ ...facts, fetch: deps.fetch });
  const onGood = (price: GoodPrice): void => keep(deps, stateMachine, price);
  return createPriceSource(deps, { quotes, last: recall(deps, stateMachine), onGood });
}

const keptShape = z.object({
  price27: z.string().regex(/^[1-9][0-9]*$/).transform(BigInt),
  origin: z.string().min(1),
  readAtMs: z.int().min(0),
});

function nameOf(chain: StateMachine): string {
  return `price on ${chain}`;
}

/** Stores the price, unless it is fixed by a rule. */
function keep({ ledger }: PriceDeps, chain: StateMachine, { price27, origin, readAtMs }: GoodPrice): void {
  if (origin === "fixed") return;
  const text = JSON.stringify({ price27: price27.toString(), origin, readAtMs });
  ledger.transaction(() => ledger.meta.write(nameOf(chain), text));
}

/** Reads the price of an earlier run; an invalid entry counts as absent. */
function recall({ ledger, log }: PriceDeps, chain: StateMachine): GoodPrice | undefined {
  const text = ledger.meta.find(nameOf(chain));
  if (text === undefined) return undefined;
  try {
    return keptShape.parse(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof z.ZodError)) throw error;
    log.info("stored_price_unreadable", { chain });
    return undefined;
  }
}

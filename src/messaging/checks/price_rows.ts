/** Rows about the sources of a native token's price: every source is asked by itself. */
import type { CheckRow } from "../../core/checks/check_row.ts";
import { formatDecimal } from "../../core/encoding/bytes.ts";
import type { PriceFailureCode, Quotation } from "../../core/evm/native_price.ts";
import type { PriceQuote } from "../../core/pricing/price_quote.ts";

/** A source with its answer. */
export interface AskedQuote {
  readonly origin: string;
  readonly quotation: Quotation;
}

/** Asks every source. */
export function askQuotes(
  quotes: readonly PriceQuote[],
  signal: AbortSignal,
): Promise<readonly AskedQuote[]> {
  return Promise.all(quotes.map(async ({ origin, ask }) => ({ origin, quotation: await ask(signal) })));
}

/** Rows of the answers, in the order in which the relayer asks. */
export function judgeQuotes(chain: string, asked: readonly AskedQuote[]): readonly CheckRow[] {
  const hasPrice = asked.some(({ quotation }) => quotation.kind === "price");
  return asked.map(({ origin, quotation }): CheckRow => {
    const row = { chain, endpoint: origin, check: "price" } as const;
    if (quotation.kind === "price") {
      const dollars = formatDecimal(quotation.price27 / 10n ** 21n, 6);
      return { ...row, result: "ok", found: `$${dollars} per native token` };
    }
    const consequence = hasPrice ? "the other source is used" : "no delivery counts as profitable";
    return {
      ...row,
      result: hasPrice ? "warning" : "failed",
      found: `no price: ${quotation.code}; ${consequence}`,
      advice: adviseOnPrice(quotation.code),
    };
  });
}

function adviseOnPrice(code: PriceFailureCode): string {
  switch (code) {
    case "bad_key":
      return "correct etherscan_api_key";
    case "throttled":
      return "use an etherscan_api_key of your own for each relayer";
    case "no_pool":
      return "set etherscan_api_key: the host's router does not price this chain's token";
    default:
      return "check the connection to the source, or set etherscan_api_key";
  }
}

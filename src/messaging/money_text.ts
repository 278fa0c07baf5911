/**
 * Formatting of dollar amounts: integers with 18 decimals printed with a decimal point (docs/protocol/messaging.md
 * section 19.1).
 */

const one = 10n ** 18n;

/** Formats an amount, e.g. `12.5`, `0.000000000000000001`, `-3`; exact, no trailing zeros. */
export function formatUsd18(amount: bigint): string {
  const size = amount < 0n ? -amount : amount;
  const fraction = (size % one).toString().padStart(18, "0").replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${size / one}${fraction === "" ? "" : `.${fraction}`}`;
}

/**
 * Decimal texts as exact integers, and back. Pure. Floating point never touches a price or a fee.
 */

/** Accepted texts: 40 digits before the point and 80 after it are more than any source sends. */
const PLAIN_DECIMAL = /^([0-9]{1,40})(?:\.([0-9]{1,80}))?$/;

/**
 * `text` x 10^`decimals`; digits beyond that are cut off (rounds down). `undefined` for everything that is not
 * plain digits with at most one point between them: signs, exponents, separators, blanks and empty texts.
 */
export function parseDecimal(text: string, decimals: number): bigint | undefined {
  const parts = PLAIN_DECIMAL.exec(text);
  if (parts === null) return undefined;
  const [, whole = "", fraction = ""] = parts;
  return BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
}

/** `amount` / 10^`decimals` as text; exact, no trailing zeros. */
export function formatDecimal(amount: bigint, decimals: number): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** `amount` with `from` decimals as one with `to` decimals; rounds down where digits are lost. */
export function rescale(amount: bigint, from: number, to: number): bigint {
  return to >= from ? amount * 10n ** BigInt(to - from) : amount / 10n ** BigInt(from - to);
}

/**
 * Converts whole currency units to units of a token with the given decimals. The part that the token cannot express is
 * rounded up, so that the result is never below the threshold.
 * @throws {RangeError} for amounts below 1 that only an exponent can write, and for those that are not finite.
 */
export function toTokenUnits(amount: number, decimals: number): bigint {
  const parts = /^(\d+)(?:\.(\d+))?$/.exec(
    Number.isInteger(amount) ? BigInt(amount).toString() : String(amount),
  );
  if (parts === null) throw new RangeError("Expected a finite amount of at least 0");
  const [, whole = "", fraction = ""] = parts;
  const scaled = BigInt(whole + fraction.slice(0, decimals).padEnd(decimals, "0"));
  return /[1-9]/.test(fraction.slice(decimals)) ? scaled + 1n : scaled;
}

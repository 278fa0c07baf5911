/** Acting by hand: lines such as `A B 5` on standard input, while a program of the devnet runs. */
import { stdin } from "node:process";
import { createInterface } from "node:readline";
import { parseUnits } from "viem";
import type { IsmpHost } from "../evm/deploy.ts";
import { freezeHost } from "../evm/host_admin.ts";

/** Messages to send. */
interface SendLine {
  readonly from: string;
  readonly to: string;
  readonly count: number;
  /** Of each message, in units of a fee token of 18 decimals. */
  readonly fee: bigint;
}

/** A chain whose host is frozen, or accepts messages again. */
interface FreezeLine {
  readonly chain: string;
  readonly isFrozen: boolean;
}

/** How such a line is written. */
export const SEND_LINE_HELP =
  "Send messages: type `A B 5` (from, to, how many), `A B 5 0.1` (each pays 0.1 fee tokens) or `B hub`, and press " +
  "Enter. `freeze B` and `unfreeze B` have the host of a chain refuse messages. Ctrl-C ends everything.";

/** Maximum of messages of one line. */
const MAX_AT_ONCE = 1000;

/** Reads a line; the text of the complaint if it is none. Empty lines ask for nothing. */
export function readSendLine(
  line: string,
  chains: readonly string[],
): SendLine | FreezeLine | string | undefined {
  const [from, to, count = "1", fee = "0", ...rest] = line.trim().split(/\s+/);
  if (from === undefined || from === "") return undefined;
  const isChain = (name: string | undefined): boolean =>
    name !== undefined && chains.includes(name.toUpperCase());
  const isTarget = isChain(to) || to?.toLowerCase() === "hub";
  if (/^(?:un)?freeze$/i.test(from) && isChain(to) && to !== undefined && count === "1") {
    return { chain: to.toUpperCase(), isFrozen: from.toLowerCase() === "freeze" };
  }
  const number = Number(count);
  if (!isChain(from) || !isTarget || to === undefined || rest.length > 0) {
    return `Not understood. ${SEND_LINE_HELP}`;
  }
  if (!Number.isInteger(number) || number < 1 || number > MAX_AT_ONCE) {
    return `How many: a number from 1 to ${MAX_AT_ONCE}`;
  }
  if (!/^\d+(?:\.\d{1,18})?$/.test(fee)) return "Fee: a number of fee tokens, e.g. 0.1";
  return {
    from: from.toUpperCase(),
    to: to.toLowerCase() === "hub" ? "hub" : to.toUpperCase(),
    count: number,
    fee: parseUnits(fee, 18),
  };
}

/** Freezes or unfreezes the host of a chain; returns what to say of it. */
export async function freezeByLine(
  chains: readonly { readonly name: string; readonly host: IsmpHost }[],
  { chain, isFrozen }: FreezeLine,
): Promise<string> {
  const host = chains.find(({ name }) => name === chain)?.host;
  if (host === undefined) return `${chain} has no host contract that can be frozen`;
  await freezeHost(host, isFrozen ? "all" : "none");
  return `The host of ${chain} ${isFrozen ? "accepts nothing now" : "accepts messages again"}`;
}

/** Calls `onLine` for each line of standard input until it ends or `signal` is aborted. */
export async function followStandardInput(
  onLine: (line: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for await (const line of createInterface({ input: stdin, signal })) await onLine(line);
}

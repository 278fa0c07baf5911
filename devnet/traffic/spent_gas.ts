/**
 * What relayers paid for on the EVM chains of a devnet, and what of it was for nothing. Read from the chains alone,
 * which know nothing of the program and its ledger. Start reading at {@link readSpentGas}.
 */
import { type Abi, createPublicClient, http, toFunctionSelector } from "viem";
import * as z from "zod";
import { evmHostAbi, handlerV2Abi } from "../../src/core/evm/host_abi.ts";
import type { Anvil } from "../evm/anvil.ts";
import { DEVNET_ACCOUNTS } from "../evm/accounts.ts";
import type { IsmpHost } from "../evm/deploy.ts";

/** Names the file to which every devnet that stops appends its {@link GasTotals}; without it nothing is read. */
export const SPENT_GAS_FILE = "CAUSEWAY_TEST_SPENT_GAS";

/** Why gas was for nothing. */
export type WasteReason =
  /** The transaction failed. */
  | "reverted"
  /** Nothing but the nonce was used: a transaction that cancels another. */
  | "cancelling"
  /** The application failed or was not there: the host took its receipt back. */
  | "not executed"
  /** The host knew what the consensus proof proves. */
  | "known proof";

/** Sums over transactions. */
export interface GasTotals {
  readonly transactions: number;
  readonly gas: bigint;
  /** Gas for nothing; what a transaction is for and what it carries for nothing are distinguished. */
  readonly wasted: ReadonlyMap<WasteReason, bigint>;
}

/** The part of a chain that is read. */
export interface SpendingChain {
  readonly node: Pick<Anvil, "rpcUrl" | "resume">;
  readonly host: Pick<IsmpHost, "addresses">;
}

/** A call in an answer of the callTracer. Source: ethereum/go-ethereum: eth/tracers/native/call.go. */
export interface CallFrame {
  readonly to?: string | undefined;
  readonly input?: string | undefined;
  readonly gasUsed: string;
  readonly error?: string | undefined;
  readonly logs?: readonly { readonly address: string }[] | undefined;
  readonly calls?: readonly CallFrame[] | undefined;
}

const frameShape: z.ZodType<CallFrame> = z.lazy(() =>
  z.object({
    to: z.string().optional(),
    input: z.string().optional(),
    gasUsed: z.string(),
    error: z.string().optional(),
    logs: z.array(z.object({ address: z.string() })).optional(),
    calls: z.array(frameShape).optional(),
  })
);

const consensusCalls = selectorsOf(handlerV2Abi, "handleConsensus");
const consensusStores = selectorsOf(evmHostAbi, "storeConsensusState");
const dispatches = selectorsOf(evmHostAbi, "dispatchIncoming", "dispatchTimeOut");

/** Accounts that relay. */
const relayers = new Set(
  [DEVNET_ACCOUNTS.relayer, DEVNET_ACCOUNTS.relayer2].map(({ address }) => address.toLowerCase()),
);

/** Blocks that are asked for at once, each alone: proofs make them large, and viem takes no answer above 10 MB. */
const AT_ONCE = 20;

/** All transactions of relayers on these chains, from the first block on. */
export async function readSpentGas(chains: readonly SpendingChain[]): Promise<GasTotals> {
  return sumSpentGas((await Promise.all(chains.map(readChain))).flat());
}

/** The sum of several. */
export function sumSpentGas(parts: readonly GasTotals[]): GasTotals {
  const wasted = new Map<WasteReason, bigint>();
  for (const [reason, gas] of parts.flatMap((part) => [...part.wasted])) {
    wasted.set(reason, (wasted.get(reason) ?? 0n) + gas);
  }
  return {
    transactions: parts.reduce((sum, part) => sum + part.transactions, 0),
    gas: parts.reduce((sum, part) => sum + part.gas, 0n),
    wasted,
  };
}

/** `wasted gas: N of M in K transactions (reasons)`. */
export function describeSpentGas({ transactions, gas, wasted }: GasTotals): string {
  const reasons = [...wasted].sort(([, a], [, b]) => Number(b - a)).map(([reason, part]) =>
    `${reason} ${part}`
  );
  const sum = [...wasted.values()].reduce((total, part) => total + part, 0n);
  return `wasted gas: ${sum} of ${gas} in ${transactions} transactions (${reasons.join(", ") || "none"})`;
}

/** Gas for nothing in one transaction of which this is the trace, on the chain of this host. */
export function classifyTrace(top: CallFrame, gas: bigint, host: string): ReadonlyMap<WasteReason, bigint> {
  if (top.error !== undefined) return new Map([["reverted", gas]]);
  const parts = partsOf(top, host.toLowerCase());
  if (parts.length === 0) return new Map([["cancelling", gas]]);
  const inVain = parts.filter(({ isTaken }) => !isTaken);
  const wasted = new Map<WasteReason, bigint>();
  const first = inVain.find(({ reason }) => reason === "not executed") ?? inVain[0];
  // With nothing that took effect all of the transaction was for nothing, its own costs and proofs of messages too.
  if (first !== undefined && inVain.length === parts.length) return wasted.set(first.reason, gas);
  for (const { reason, gasUsed } of inVain) wasted.set(reason, (wasted.get(reason) ?? 0n) + gasUsed);
  return wasted;
}

interface Part {
  readonly reason: WasteReason;
  readonly gasUsed: bigint;
  readonly isTaken: boolean;
}

/** What the transaction is for: consensus proofs and messages. */
function partsOf(frame: CallFrame, host: string): readonly Part[] {
  const selector = frame.input?.slice(0, 10) ?? "";
  const gasUsed = BigInt(frame.gasUsed);
  if (consensusCalls.has(selector)) {
    const isTaken = (frame.calls ?? []).some(({ to, input }) =>
      to?.toLowerCase() === host && consensusStores.has(input?.slice(0, 10) ?? "")
    );
    return [{ reason: "known proof", gasUsed, isTaken }];
  }
  if (frame.to?.toLowerCase() === host && dispatches.has(selector)) {
    // The host reports what the application took, and nothing else.
    return [{ reason: "not executed", gasUsed, isTaken: (frame.logs ?? []).length > 0 }];
  }
  return (frame.calls ?? []).flatMap((call) => partsOf(call, host));
}

/**
 * Appends a line with the sums of these chains to the file that {@link SPENT_GAS_FILE} names, if it names one.
 * @throws {Error} when a chain cannot be read: then the sum would be untrue.
 */
export async function noteSpentGas(chains: readonly SpendingChain[]): Promise<void> {
  const file = Deno.env.get(SPENT_GAS_FILE);
  if (file === undefined) return;
  const { transactions, gas, wasted } = await readSpentGas(chains);
  const line = JSON.stringify({
    test: Deno.mainModule.split("/").at(-1),
    transactions,
    gas: `${gas}`,
    wasted: Object.fromEntries([...wasted].map(([reason, part]) => [reason, `${part}`])),
  });
  await Deno.writeTextFile(file, `${line}\n`, { append: true });
}

const lineShape = z.object({
  test: z.string(),
  transactions: z.number(),
  gas: z.coerce.bigint(),
  wasted: z.partialRecord(
    z.enum(["reverted", "cancelling", "not executed", "known proof"]),
    z.coerce.bigint(),
  ),
});

/** What {@link noteSpentGas} has written, line by line. */
export function parseSpentGas(text: string): readonly (GasTotals & { readonly test: string })[] {
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const { wasted, ...sums } = lineShape.parse(JSON.parse(line));
    const reasons: WasteReason[] = ["reverted", "cancelling", "not executed", "known proof"];
    return {
      ...sums,
      wasted: new Map(reasons.flatMap((reason) => {
        const part = wasted[reason];
        return part === undefined ? [] : [[reason, part] as const];
      })),
    };
  });
}

async function readChain({ node, host }: SpendingChain): Promise<readonly GasTotals[]> {
  node.resume();
  const reader = createPublicClient({ transport: http(node.rpcUrl, { timeout: 60_000 }) });
  const head = Number(await reader.getBlockNumber());
  const blocks = [];
  for (let first = 1; first <= head; first += AT_ONCE) {
    const heights = Array.from(
      { length: Math.min(AT_ONCE, head + 1 - first) },
      (_, at) => BigInt(first + at),
    );
    blocks.push(
      ...await Promise.all(
        heights.map((blockNumber) => reader.getBlock({ blockNumber, includeTransactions: true })),
      ),
    );
  }
  const ours = blocks.flatMap(({ transactions }) => transactions)
    .filter(({ from }) => relayers.has(from.toLowerCase()));
  const all: GasTotals[] = [];
  for (const { hash } of ours) {
    const { gasUsed: gas } = await reader.getTransactionReceipt({ hash });
    const trace = frameShape.parse(
      await reader.request<TraceSchema>({
        method: "debug_traceTransaction",
        params: [hash, { tracer: "callTracer", tracerConfig: { withLog: true } }],
      }),
    );
    all.push({ transactions: 1, gas, wasted: classifyTrace(trace, gas, host.addresses.host) });
  }
  return all;
}

interface TraceSchema {
  readonly Method: "debug_traceTransaction";
  readonly Parameters: readonly [string, unknown];
  readonly ReturnType: unknown;
}

function selectorsOf(abi: Abi, ...names: readonly string[]): ReadonlySet<string> {
  return new Set(
    abi.filter((item) => item.type === "function").filter(({ name }) => names.includes(name))
      .map((item) => toFunctionSelector(item)),
  );
}

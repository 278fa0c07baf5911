/** The wait for the first answers of chains: what is missing after a few seconds is named, long before time is up. */
import { describeFault } from "../checks/run_checks.ts";
import type { RpcFault } from "../rpc/fault.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../telemetry/log.ts";

/** Time after which chains that have not answered are named, ms. */
const TOLD_AFTER_MS = 3_000;

/** Lists the hosts of a chain that owe an answer now. */
export type ListAsked = (chain: string) => readonly string[];

/** Chains that are being asked, with the latest fault of each. */
export class AwaitedAnswers {
  readonly #asked = new Map<string, { count: number; fault: RpcFault | undefined }>();

  /** Runs `work`, which asks a chain. */
  async during<T>(chain: string, work: () => Promise<T>): Promise<T> {
    const entry = this.#asked.get(chain) ?? { count: 0, fault: undefined };
    this.#asked.set(chain, entry);
    entry.count++;
    try {
      return await work();
    } finally {
      if (--entry.count === 0) this.#asked.delete(chain);
    }
  }

  /** Notes that an endpoint of a chain gave no usable answer; it is asked again. */
  noteFault(chain: string, fault: RpcFault): void {
    const entry = this.#asked.get(chain);
    if (entry !== undefined) entry.fault = fault;
  }

  /** Describes every chain that is still asked: what an endpoint said last, or which ones say nothing. */
  describe(listAsked: ListAsked): readonly string[] {
    return [...this.#asked].map(([chain, { fault }]) => {
      if (fault !== undefined) return `${chain} via ${fault.where.endpointHost}: ${describeFault(fault)}`;
      const hosts = listAsked(chain).join(", ");
      return `${chain}${hosts === "" ? "" : ` via ${hosts}`}: no answer yet`;
    });
  }
}

/** Runs `work`, which asks chains; logs once which of them have not answered when it takes long. */
export async function tellAwaited<T>(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  listAsked: ListAsked,
  work: (awaited: AwaitedAnswers) => Promise<T>,
): Promise<T> {
  const awaited = new AwaitedAnswers();
  const over = new AbortController();
  const told = clock.sleep(TOLD_AFTER_MS, over.signal).then(
    () => log.info("first_answers_awaited", { waitsFor: awaited.describe(listAsked).join("; ") }),
    () => undefined, // everything was answered before
  );
  try {
    return await work(awaited);
  } finally {
    over.abort();
    await told;
  }
}

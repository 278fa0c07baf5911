/**
 * Maximum number of blocks of one `eth_getLogs`, learned per endpoint: plans and nodes differ by factors of a
 * thousand. Pure.
 */

/** Consecutive successful queries after which a learned width is doubled again. */
const SUCCESSES_BEFORE_GROWTH = 16;

/** Learned widths, by host of the endpoint. */
export class LogWidths {
  readonly #learned = new Map<string, { readonly blocks: bigint; readonly successes: number }>();

  /** Maximum number of blocks of the next query of an endpoint; `undefined`: it has not rejected any yet. */
  of(host: string): bigint | undefined {
    return this.#learned.get(host)?.blocks;
  }

  /** Records that an endpoint rejected `blocks` blocks in one query. */
  narrow(host: string, blocks: bigint): void {
    const half = blocks / 2n;
    this.#learned.set(host, { blocks: half > 0n ? half : 1n, successes: 0 });
  }

  /** Records that an endpoint answered `blocks` blocks in one query. */
  noteSuccess(host: string, blocks: bigint): void {
    const known = this.#learned.get(host);
    if (known === undefined || blocks < known.blocks) return;
    const successes = known.successes + 1;
    const isEnough = successes >= SUCCESSES_BEFORE_GROWTH;
    this.#learned.set(
      host,
      isEnough ? { blocks: known.blocks * 2n, successes: 0 } : { ...known, successes },
    );
  }
}

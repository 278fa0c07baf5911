/**
 * Claims of a range of L1 blocks, read so that a lagging log index hides none: logs are compared with the contract's
 * own state, and read at every endpoint before an empty result is accepted.
 */
import { RpcFault } from "../../core/rpc/fault.ts";
import type { Log } from "../../core/telemetry/log.ts";
import type { L1Range } from "./spec/l1_range.ts";
import type { EvmReader } from "../evm_reader.ts";
import type { ClaimScan } from "./claim_search.ts";

/** Completeness of the found claims by the contract's state. `unknown`: inconclusive. */
export type Completeness = "complete" | "incomplete" | "unknown";

/** Input of a scan. */
export interface ScanInput<Claim> {
  readonly l1: EvmReader;
  readonly log: Log;
  readonly range: L1Range;
  /** Place of a claim among others, e.g. the L1 block of its log. */
  readonly orderOf: (claim: Claim) => bigint;
  /** Returns the unique key of a claim. */
  readonly keyOf: (claim: Claim) => string;
  readonly fetch: (reader: EvmReader) => Promise<readonly Claim[]>;
  /** Compares all claims found in the range, in order, with the state. */
  readonly judge: (claims: readonly Claim[]) => Promise<Completeness>;
}

/**
 * Reads the range at one endpoint after the other until the state confirms that nothing is missing. @throws {RpcFault}
 * when no endpoint serves logs.
 */
export async function scanCompletely<Claim>(
  input: ScanInput<Claim>,
): Promise<ClaimScan<Claim>> {
  const found = new Map<string, Claim>();
  const add = (claims: readonly Claim[]): void => {
    for (const claim of claims) found.set(input.keyOf(claim), claim);
  };
  add(await input.fetch(input.l1));
  let verdict = await judge(input, found);
  for (const reader of isOpen(verdict, found) ? input.l1.each() : []) {
    let claims: readonly Claim[];
    try {
      claims = await input.fetch(reader);
    } catch (fault) {
      if (fault instanceof RpcFault) continue; // the others may succeed
      throw fault;
    }
    const own = await judge(input, new Map(claims.map((claim) => [input.keyOf(claim), claim])));
    if (own === "incomplete") {
      input.log.warn(
        "endpoint_logs_incomplete",
        {
          endpoint: reader.hosts.join(", "),
          from_block: input.range.from,
          to_block: input.range.to,
          found: claims.length,
        },
      );
    }
    add(claims);
    verdict = await judge(input, found);
    if (!isOpen(verdict, found)) break;
  }
  return { claims: inOrder(input, found), isFinal: !isOpen(verdict, found) };
}

/** True while the scan is incomplete: claims are missing, or none were found and nothing confirms that. */
function isOpen(verdict: Completeness, found: ReadonlyMap<string, unknown>): boolean {
  return verdict === "incomplete" || (verdict === "unknown" && found.size === 0);
}

async function judge<Claim>(
  input: ScanInput<Claim>,
  found: ReadonlyMap<string, Claim>,
): Promise<Completeness> {
  try {
    return await input.judge(inOrder(input, found));
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    input.log.debug("rollup_claims_uncounted", { error: fault });
    return "unknown";
  }
}

function inOrder<Claim>(
  { orderOf }: ScanInput<Claim>,
  found: ReadonlyMap<string, Claim>,
): readonly Claim[] {
  return [...found.values()].toSorted((a, b) => {
    const [left, right] = [orderOf(a), orderOf(b)];
    return left === right ? 0 : left < right ? -1 : 1;
  });
}

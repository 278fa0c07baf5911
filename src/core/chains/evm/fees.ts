/** Fees of a host: those paid for requests, and their token. Source: docs/protocol/evm-host.md section 3. */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { feeTokenDecimals, hostReads } from "../../evm/host_reads.ts";
import type { FaultPlace, RpcFault } from "../../rpc/fault.ts";
import type { EvmContext } from "./evm_context.ts";
import { contractRead } from "./queries.ts";
import { faultAt, RpcBatch } from "./rpc_batch.ts";
import type { ChainFees } from "../fees.ts";

/** Maximum decimals of a fee that can be compared with costs: both are scaled to 18 decimals. */
export const MAX_DECIMALS = 18;

/** Fees of the host's requests. */
export class EvmFees implements ChainFees {
  readonly #context: EvmContext;

  constructor(context: EvmContext) {
    this.#context = context;
  }

  /** Fetches the fee per commitment; `undefined` if the host did not dispatch the request. One request. */
  async fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly (bigint | undefined)[]> {
    if (commitments.length === 0) return [];
    const { endpoints, host } = this.#context.at;
    const batch = new RpcBatch(endpoints);
    const found = commitments.map((commitment) =>
      batch.add(contractRead(host, hostReads.requestCommitments, commitment))
    );
    await batch.send({ signal });
    return found.map((metadata) => metadata()?.fee);
  }

  /** Fetches the decimals of the fee token. One request an hour (with cached host parameters). */
  async fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return await fetchDecimals(this.#context, (await this.#context.hostParams.read(signal)).feeToken, signal);
  }
}

/** Fetches the decimals of a token. One request, none once they are known. */
export async function fetchDecimals(
  context: EvmContext,
  token: Address,
  signal: AbortSignal,
): Promise<number> {
  return await context.feeTokenDecimals(token, async () => {
    const batch = new RpcBatch(context.at.endpoints);
    const decimals = batch.add(contractRead(token, feeTokenDecimals));
    const check = (place: FaultPlace): RpcFault | undefined =>
      decimals() <= MAX_DECIMALS
        ? undefined
        : faultAt("malformed", place, `fee token ${token} has ${decimals()} decimals`);
    await batch.send({ signal, check });
    return decimals();
  });
}

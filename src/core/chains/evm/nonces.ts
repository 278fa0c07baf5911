/**
 * Nonces of our account: as endpoints count them, and the one that is signed next. A nonce that only one endpoint names
 * is not signed: above it nothing is mined until all lower ones are used.
 */
import type { Address } from "../../evm/address.ts";
import { RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { AccountNonces } from "../replacement.ts";
import type { SigningInput } from "../submission.ts";
import { lowest } from "./gas.ts";
import { accountNonce } from "./queries.ts";
import { askWitnesses, RpcBatch, WITNESS_TIMEOUT_MS } from "./rpc_batch.ts";

/**
 * Time for which nothing is signed while endpoints and journal name different nonces, ms. Then the lowest one is taken:
 * pools refuse it where it is used, which costs nothing.
 */
const DISPUTED_FOR_MS = 60_000;

/** Adds the nonces of an account to a batch; a node that does not expose its mempool counts mined transactions. */
export function addNonces(account: Address, batch: RpcBatch): () => AccountNonces {
  const latest = batch.add(accountNonce(account));
  const pending = batch.addOptional(accountNonce(account, "pending"));
  return () => {
    const found = pending();
    const isUsable = !(found instanceof RpcFault) && found > latest();
    return { latest: latest(), pending: isUsable ? found : latest() };
  };
}

/** Reads the nonces of an account. One request. */
export async function askNonces(
  account: Address,
  endpoints: RpcEndpointSet,
  signal: AbortSignal,
): Promise<AccountNonces> {
  const batch = new RpcBatch(endpoints);
  const nonces = addNonces(account, batch);
  await batch.send({ signal, timeoutMs: WITNESS_TIMEOUT_MS });
  return nonces();
}

/** What one endpoint counts. */
export interface SeenNonces {
  readonly nonces: AccountNonces;
  /** Host of the endpoint. */
  readonly host: string;
}

/** Choice of the next nonce. */
export class NonceChoice {
  #disputedSinceMs: number | undefined;

  constructor(
    readonly at: { readonly endpoints: RpcEndpointSet; readonly clock: Clock; readonly sender: Address },
  ) {}

  /**
   * Chooses the lowest nonce that nothing holds; transactions of a wallet in the mempool are left in front. No request
   * where the journal expects the same one. @returns the nonces named, when they differ
   */
  async choose(
    seen: SeenNonces,
    { nonceAtLeast, heldNonces }: Pick<SigningInput, "nonceAtLeast" | "heldNonces">,
    signal: AbortSignal,
  ): Promise<bigint | { readonly named: readonly bigint[] }> {
    const held = new Set(heldNonces);
    const findFree = ({ pending }: AccountNonces): bigint => {
      let nonce = heldNonces === undefined && pending < (nonceAtLeast ?? 0n) ? nonceAtLeast ?? 0n : pending;
      while (held.has(nonce)) nonce++;
      return nonce;
    };
    const found = findFree(seen.nonces);
    const all = this.at.endpoints.each();
    const others = all.filter(({ hosts }) => !hosts.includes(seen.host));
    // Where there is no other endpoint, the same one is asked again for what the journal does not expect.
    const asked = found === nonceAtLeast ? [] : nonceAtLeast === undefined ? others : [...others, ...all];
    const read = (endpoint: RpcEndpointSet): Promise<AccountNonces> =>
      askNonces(this.at.sender, endpoint, signal);
    const [other] = await askWitnesses(asked, read, 1);
    const named = other === undefined ? found : findFree(other);
    if (named === found || named === nonceAtLeast) {
      this.#disputedSinceMs = undefined;
      return named;
    }
    const nowMs = this.at.clock.now();
    this.#disputedSinceMs ??= nowMs;
    if (nowMs - this.#disputedSinceMs < DISPUTED_FOR_MS) return { named: [found, named] };
    return lowest(found, named);
  }
}

/** Selection of the proofs that a host needs: pure decisions, and the verification before gas is spent. */
import type { RecoverAuthority } from "./spec/authorities.ts";
import { type CheckedProof, checkProof } from "./spec/check_proof.ts";
import type { BeefyClientState } from "../../../core/evm/beefy_client_state.ts";
import type { UsableHostView } from "./host_usability.ts";

/** A proof with its effect. */
export interface BatchedProof {
  readonly bytes: Uint8Array;
  readonly checked: CheckedProof;
}

/**
 * Verifies proofs in order and drops those that change nothing. @param recover finds the signer of a vote @throws
 * {BeefyError} of the first proof that the client would refuse
 */
export function* verifyInOrder(
  trusted: BeefyClientState,
  proofs: readonly Uint8Array[],
  recover?: RecoverAuthority,
): Generator<undefined, readonly BatchedProof[], undefined> {
  const fresh: BatchedProof[] = [];
  let state = trusted;
  for (const bytes of proofs) {
    const checked = yield* checkProof(state, bytes, recover);
    if (checked.isStale) continue;
    fresh.push({ bytes, checked });
    state = checked.state;
  }
  return fresh;
}

/**
 * True when a host still needs all of the proofs: it has accepted none that turns one of them into a paid no-op. A
 * rotation can be proved by any block of a session, so a known rotation also makes proofs of other blocks useless.
 * @param counting `pool`: proofs pending in the mempool count as accepted
 */
export function areStillNeeded(
  proofs: readonly BatchedProof[],
  { state, pendingHeight, pendingSetId }: Pick<UsableHostView, "state" | "pendingHeight" | "pendingSetId">,
  counting: "blocks" | "pool",
): boolean {
  const [height, setId] = counting === "pool"
    ? [pendingHeight, pendingSetId]
    : [state.latestHeight, state.current.id];
  return proofs.every(({ checked }) =>
    checked.blockNumber > height && (!checked.rotates || checked.state.current.id > setId)
  );
}

/**
 * True when proofs that were made for messages prove a height that the host has learned in the meantime, from any
 * block. @param before hub height that the host knew when they were found.
 */
export function isHeightDelivered(
  proofs: readonly BatchedProof[],
  paraId: number,
  { before, now }: { readonly before: bigint; readonly now: bigint },
): boolean {
  if (now <= before || proofs.some(({ checked }) => checked.rotates)) return false;
  const height = hubHeightOf(proofs, paraId);
  return height !== undefined && height <= now;
}

/** Height of the hub that a host will know after these proofs; `undefined`: they prove none. */
export function hubHeightOf(proofs: readonly BatchedProof[], paraId: number): bigint | undefined {
  let newest: bigint | undefined;
  for (const { checked } of proofs) {
    for (const height of checked.heights) {
      if (height.paraId === paraId && (newest === undefined || height.height > newest)) {
        newest = height.height;
      }
    }
  }
  return newest;
}

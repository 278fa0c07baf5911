/**
 * Diagnosis of proofs that cannot be built although the node may be right: the configuration or the host's client does
 * not match the relay chain. Source: docs/protocol/hub-consensus.md section 5.4.
 */
import type { BeefyError } from "../../../core/beefy/beefy_error.ts";
import { decoded } from "../../../core/beefy/commitment.ts";
import { parachainIdsCodec, relayBeefyKeys } from "./spec/relay_storage.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";
import type { RelayBlock } from "../../relay_chain/relay_chain.ts";
import { type ProofRelay, readHeads } from "./naive_proof_input.ts";

/** A mismatch that the operator or governance has to fix. */
export class RelayMismatch extends Error {
  override readonly name = "RelayMismatch";

  /**
   * @param code `no_head`, `not_listed`, `no_ismp`: of parachains in `[hub.prover].para_ids`; `other_leaves`: the
   * client counts from another first block @param detail a sentence without a full stop
   */
  constructor(
    readonly code: "no_head" | "not_listed" | "no_ismp" | "other_leaves",
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}

/** A proof that could not be built. */
export interface FailedProof {
  readonly cause: BeefyError;
  /** Relay chain block to prove. */
  readonly block: RelayBlock;
  readonly hubParaId: number;
  /** Parachains whose heads to prove. */
  readonly paraIds: readonly number[];
  /** Block from which the client counts leaves. */
  readonly activationBlock: bigint;
}

/** Finds the mismatch behind a proof that could not be built; `undefined`: the node is presumably wrong. */
export async function diagnoseMismatch(
  relay: ProofRelay,
  failed: FailedProof,
  signal: AbortSignal,
): Promise<RelayMismatch | undefined> {
  const { cause } = failed;
  const at = `block ${failed.block.header.number} of the relay chain behind ${relay.host}`;
  switch (cause.code) {
    case "out_of_bounds_leaves": {
      const detail = `the host's state does not match the relay chain: its client counts from block ` +
        `${failed.activationBlock} on, and ${at} has another number of leaves; the client must be created again, ` +
        "unless [hub.prover].relay_rpc_ws is another relay chain";
      return new RelayMismatch("other_leaves", detail, { cause });
    }
    case "head_missing":
    case "invalid_mmr_proof": {
      const missing = await idsWithoutHead(relay, failed, signal);
      if (missing.length > 0) {
        const detail =
          `[hub.prover].para_ids: no head of ${missing.join(", ")} is known in ${at}; remove what is ` +
          "no parachain there";
        return new RelayMismatch("no_head", detail, { cause });
      }
      const unlisted = await unlistedIds(relay, failed, signal);
      if (unlisted.length === 0) return undefined;
      const detail =
        `[hub.prover].para_ids: the relay chain does not list ${unlisted.join(", ")} as parachains, ` +
        `and what is signed of ${at} does not cover their heads; remove them`;
      return new RelayMismatch("not_listed", detail, { cause });
    }
    case "timestamp_not_found": {
      const others = failed.paraIds.filter((id) => id !== failed.hubParaId);
      if (others.length === 0) return undefined;
      const detail =
        `[hub.prover].para_ids: a head in ${at} holds no timestamp, as heads of parachains without ISMP; ` +
        `remove those among ${others.join(", ")}`;
      return new RelayMismatch("no_ismp", detail, { cause });
    }
    default:
      return undefined;
  }
}

async function idsWithoutHead(
  relay: ProofRelay,
  { block, paraIds }: FailedProof,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const found = await readHeads(relay, { block: block.header.parentHash, paraIds }, signal);
  return paraIds.filter((id) => !found.some(({ paraId }) => paraId === id));
}

/**
 * Returns ids that are neither listed nor proved. On-demand parachains are not listed, but may be covered, as the hub
 * is.
 */
async function unlistedIds(
  relay: ProofRelay,
  { block, paraIds, hubParaId }: FailedProof,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const place = { key: relayBeefyKeys.parachains, block: block.header.parentHash };
  const [stored] = await relay.fetchStored([place], signal);
  const listed = decoded(() => decodeStrict(parachainIdsCodec, stored ?? Uint8Array.of(0), "Parachains"));
  return paraIds.filter((id) => id !== hubParaId && !listed.includes(id));
}

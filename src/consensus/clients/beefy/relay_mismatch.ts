/**
 * Why no proof can be made out of a relay chain although its node may be right: what the operator or the host expects of
 * the relay chain does not fit it. Source: docs/protocol/hub-consensus.md section 5.4.
 */
import type { BeefyError } from "../../../core/beefy/beefy_error.ts";
import { decoded } from "../../../core/beefy/commitment.ts";
import { parachainIdsCodec, relayBeefyKeys } from "./spec/relay_storage.ts";
import { decodeStrict } from "../../../core/encoding/scale.ts";
import type { RelayBlock } from "../../relay_chain/relay_chain.ts";
import { type ProofRelay, readHeads } from "./naive_proof_input.ts";

/** What does not fit, and what to do: somebody has to fix it. */
export class RelayMismatch extends Error {
  override readonly name = "RelayMismatch";

  /**
   * @param code `no_head`, `not_listed`, `no_ismp`: of parachains of `[hub.prover].para_ids`; `other_leaves`: the client counts from
   * another first block
   * @param detail a sentence without a full stop
   */
  constructor(
    readonly code: "no_head" | "not_listed" | "no_ismp" | "other_leaves",
    readonly detail: string,
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}

/** What was to be proved. */
export interface MismatchContext {
  /** The relay chain block that a proof was to be made of. */
  readonly block: RelayBlock;
  readonly hubParaId: number;
  /** Parachains whose heads were to be proved. */
  readonly paraIds: readonly number[];
  /** Most storage keys of one request. */
  readonly batchSize: number;
  /** What the client counts leaves from. */
  readonly activationBlock: bigint;
}

/** What may be behind a proof that could not be made; `undefined`: the node is wrong, as far as can be told. */
export async function diagnoseMismatch(
  relay: ProofRelay,
  cause: BeefyError,
  context: MismatchContext,
  signal: AbortSignal,
): Promise<RelayMismatch | undefined> {
  const at = `block ${context.block.header.number} of the relay chain behind ${relay.host}`;
  switch (cause.code) {
    case "out_of_bounds_leaves": {
      const detail = `the host's state does not fit the relay chain: its client counts from block ` +
        `${context.activationBlock} on, and ${at} has another number of leaves; the client must be created anew, ` +
        "unless [hub.prover].relay_rpc_ws is another relay chain";
      return new RelayMismatch("other_leaves", detail, { cause });
    }
    case "undecodable_data": {
      const missing = await idsWithoutHead(relay, context, signal);
      if (missing.length === 0) return undefined;
      const detail =
        `[hub.prover].para_ids: no head of ${missing.join(", ")} is known in ${at}; remove what is ` +
        "no parachain there";
      return new RelayMismatch("no_head", detail, { cause });
    }
    case "invalid_mmr_proof": {
      const unlisted = await unlistedIds(relay, context, signal);
      if (unlisted.length === 0) return undefined;
      const detail =
        `[hub.prover].para_ids: the relay chain does not list ${unlisted.join(", ")} as parachains, ` +
        `and what is signed of ${at} does not cover their heads; remove them`;
      return new RelayMismatch("not_listed", detail, { cause });
    }
    case "timestamp_not_found": {
      const others = context.paraIds.filter((id) => id !== context.hubParaId);
      if (others.length === 0) return undefined;
      const detail =
        `[hub.prover].para_ids: a head in ${at} tells no time, as those of parachains without ISMP; ` +
        `remove such ones among ${others.join(", ")}`;
      return new RelayMismatch("no_ismp", detail, { cause });
    }
    default:
      return undefined;
  }
}

async function idsWithoutHead(
  relay: ProofRelay,
  { block, paraIds, batchSize }: MismatchContext,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const found = await readHeads(relay, block.header.parentHash, { paraIds, batchSize }, signal);
  return paraIds.filter((id) => !found.some(({ paraId }) => paraId === id));
}

/** Those on demand are not listed, and may be covered all the same: the hub is. */
async function unlistedIds(
  relay: ProofRelay,
  { block, paraIds, hubParaId }: MismatchContext,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const place = { key: relayBeefyKeys.parachains, block: block.header.parentHash };
  const [stored] = await relay.fetchStored([place], signal);
  const listed = decoded(() => decodeStrict(parachainIdsCodec, stored ?? Uint8Array.of(0), "Parachains"));
  return paraIds.filter((id) => id !== hubParaId && !listed.includes(id));
}

/**
 * Consensus proofs of the hub in memory: what the hub accepts and keeps, and what an EVM host's client makes of them.
 * Sources: polytope-labs/hyperbridge: evm/src/consensus/BeefyV1.sol, modules/pallets/beefy-consensus-proofs.
 */
import type { AcceptedProof } from "../../src/core/chains/hub.ts";
import type { RefusalCode } from "../../src/core/chains/submission.ts";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { Counterparty } from "./memory_host.ts";

/** What a host's client knows of the hub's authorities, and the counterparties beside it. */
export interface ClientState {
  readonly counterparties: Map<string, Counterparty>;
  /** Current authority set; `undefined`: the host has another client. */
  setId: bigint | undefined;
}

/** The hub's side: every proof it accepted. */
export interface AcceptedProofs {
  readonly list: (AcceptedProof & { readonly atBlock: bigint })[];
  /** Set handed over to, and the height whose proof does it; only those that are still kept. */
  readonly rotations: Map<bigint, bigint>;
  /** Set that signs now. */
  setId: bigint;
}

/** What a proof says. */
interface Statement {
  /** Key of the hub's consensus id among the host's counterparties. */
  readonly source: string;
  readonly height: bigint;
  readonly root: Hash256;
  readonly signedBy: bigint;
  readonly newSetId: bigint | undefined;
}

/** Commitments of one counterparty that are kept. */
const KEPT_HEIGHTS = 64;

/** Bytes that a host understands, behind the byte of a kind. */
export function encodeProof({ source, height, root, signedBy, newSetId }: Statement): Uint8Array {
  return new TextEncoder().encode(`\u0001${[source, height, root, signedBy, newSetId ?? ""].join("|")}`);
}

/** The same proof in so many bytes, as a proof with many signatures. */
export function padProof(proof: Uint8Array, bytes: number): Uint8Array {
  const padded = new Uint8Array(bytes).fill(0x7c);
  padded.set(proof);
  return padded;
}

/** What the bytes say; `undefined`: they are not a proof. */
export function decodeProof(bytes: Uint8Array): Statement | undefined {
  const [source, height, root, signedBy, newSetId] = new TextDecoder().decode(bytes.subarray(1)).split("|");
  if (source === undefined || height === undefined || root === undefined || signedBy === undefined) {
    return undefined;
  }
  return {
    source,
    height: BigInt(height),
    root: toHash256(root),
    signedBy: BigInt(signedBy),
    newSetId: newSetId === undefined || newSetId === "" ? undefined : BigInt(newSetId),
  };
}

/** What a step did: it moved the client, it was too old and did nothing, or it is refused. */
export type ConsensusEffect =
  | { readonly kind: "moved"; readonly height: bigint; readonly newSetId: bigint | undefined }
  | { readonly kind: "idle" }
  | { readonly kind: "refused"; readonly code: RefusalCode };

/** Hands a proof to the client. A proof about an old height is taken in silence and stores nothing. */
export function takeProof(state: ClientState, bytes: Uint8Array, nowSec: bigint): ConsensusEffect {
  const said = decodeProof(bytes);
  if (said === undefined || state.setId === undefined) return { kind: "refused", code: "bad_proof" };
  const old = state.counterparties.get(said.source) ?? { latest: 0n, heights: new Map() };
  if (said.height <= old.latest) return { kind: "idle" };
  if (said.signedBy !== state.setId) return { kind: "refused", code: "unknown_authority_set" };
  const heights = [...old.heights, [said.height, { root: said.root, updatedAtSec: nowSec }] as const];
  state.counterparties.set(said.source, {
    latest: said.height,
    heights: new Map(heights.slice(-KEPT_HEIGHTS)),
  });
  state.setId = said.newSetId ?? state.setId;
  return { kind: "moved", height: said.height, newSetId: said.newSetId };
}

/** Notes a proof that the hub accepts in block `atBlock`; a rotation hands over to the next set. */
export function noteAccepted(
  proofs: AcceptedProofs,
  { height, atBlock, isRotation }: {
    readonly height: bigint;
    readonly atBlock: bigint;
    readonly isRotation: boolean;
  },
): void {
  const newSetId = isRotation ? ++proofs.setId : undefined;
  proofs.list.push({ height, newSetId, atBlock });
  if (newSetId !== undefined) proofs.rotations.set(newSetId, height);
}

/** The set that signed a proof: the one before a rotation, else the one that was current. */
export function signerOf(
  proofs: AcceptedProofs,
  { height, newSetId }: AcceptedProof,
): bigint {
  if (newSetId !== undefined) return newSetId - 1n;
  const before = proofs.list.filter((proof) => proof.height < height && proof.newSetId !== undefined);
  return before.at(-1)?.newSetId ?? 0n;
}

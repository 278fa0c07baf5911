/**
 * Consensus proofs of the hub in memory: what the hub accepts and keeps, and what an EVM host's client makes of them.
 * Sources: polytope-labs/hyperbridge: evm/src/consensus/BeefyV1.sol, modules/pallets/beefy-consensus-proofs.
 */
import type { AcceptedProof } from "../../src/core/chains/hub.ts";
import type { RefusalCode } from "../../src/core/chains/submission.ts";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { BeefyError } from "../../src/core/beefy/commitment.ts";
import { decodeNaiveProof, encodeNaiveProof } from "../../src/core/beefy/naive_proof.ts";
import { parseStateMachine, type StateMachine } from "../../src/core/ismp/state_machine.ts";
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

/** Bytes that a host understands: a proof by signatures, as wide as the real one, whose one head is the statement. */
export function encodeProof({ source, height, root, signedBy, newSetId }: Statement): Uint8Array {
  const header = new TextEncoder().encode([source, height, root, signedBy, newSetId ?? ""].join("|"));
  const leaf = {
    version: 0,
    parentNumber: 0,
    parentHash: root,
    nextAuthoritySet: { id: signedBy + 1n, length: 3, root },
    extra: root,
  };
  return encodeNaiveProof({
    relay: {
      commitment: { blockNumber: Number(height), validatorSetId: signedBy, payload: [] },
      votes: [],
      leaf,
      leafIndex: 0n,
      mmrProof: [],
      authoritiesProof: [],
    },
    parachain: { heads: [{ index: 0, paraId: 1, header }], proof: [], leafCount: 1 },
  });
}

/** The same proof in so many bytes, as a proof with many signatures. */
export function padProof(proof: Uint8Array, bytes: number): Uint8Array {
  const padded = new Uint8Array(bytes);
  padded.set(proof);
  return padded;
}

const decoded = new WeakMap<Uint8Array, Statement>();

/** What the bytes say; `undefined`: they are not a proof. */
export function decodeProof(bytes: Uint8Array): Statement | undefined {
  const found = decoded.get(bytes);
  if (found !== undefined) return found;
  let header: Uint8Array | undefined;
  try {
    header = decodeNaiveProof(bytes).parachain.heads[0]?.header;
  } catch (error) {
    if (error instanceof BeefyError) return undefined;
    throw error;
  }
  const [source, height, root, signedBy, newSetId] = new TextDecoder().decode(header).split("|");
  if (source === undefined || height === undefined || root === undefined || signedBy === undefined) {
    return undefined;
  }
  const statement = {
    source,
    height: BigInt(height),
    root: toHash256(root),
    signedBy: BigInt(signedBy),
    newSetId: newSetId === undefined || newSetId === "" ? undefined : BigInt(newSetId),
  };
  decoded.set(bytes, statement);
  return statement;
}

/** What a step did: it moved the client, it was too old and did nothing, or it is refused. */
export type ConsensusEffect =
  | {
    readonly kind: "moved";
    readonly source: StateMachine;
    readonly height: bigint;
    readonly newSetId: bigint | undefined;
  }
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
  const source = parseStateMachine(said.source.split("/")[0] ?? "");
  return { kind: "moved", source, height: said.height, newSetId: said.newSetId };
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

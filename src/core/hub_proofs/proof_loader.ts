/**
 * Loads the bytes of consensus proofs that the hub has accepted, from the offchain database of its node. Proofs of a kind
 * that this version does not know are skipped. Source: docs/protocol/hub-consensus.md sections 5.6 and 5.9.
 */
import { hasKnownKind } from "../beefy/naive_proof.ts";
import type { AcceptedProof, AcceptedProofIndex, AcceptedProofs } from "../chains/hub.ts";
import { toHex } from "../encoding/bytes.ts";
import type { Clock } from "../runtime/clock.ts";
import { dropOldest } from "../runtime/slices.ts";
import type { Log } from "../telemetry/log.ts";

/** A proof with its bytes. */
export interface LoadedProof extends AcceptedProof {
  readonly bytes: Uint8Array;
}

/** Maximum number of proofs that are remembered: those that are sent or simulated together, and those tried for one. */
const MAX_KEPT = 17;

/** Maximum size of a proof, bytes: the hub accepts no larger one. */
const MAX_PROOF_BYTES = 1_048_576;

/** Time for which bytes and kinds are remembered, ms: they are the word of one node. */
const KEPT_MS = 60_000;

/** Dependencies of a loader. */
export interface ProofLoaderDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

/** Loads proofs. Methods may throw an `RpcFault`: `missing_method` where the node hides its offchain database. */
export class ProofLoader {
  readonly #hub: Pick<AcceptedProofs, "fetchProofBytes">;
  readonly #deps: ProofLoaderDeps;
  /** Proofs that were read, `undefined` for those of an unknown kind. */
  readonly #kept = new Map<string, { readonly proof: LoadedProof | undefined; readonly untilMs: number }>();
  readonly #loggedKinds = new Set<string>();

  constructor(hub: Pick<AcceptedProofs, "fetchProofBytes">, deps: ProofLoaderDeps) {
    this.#hub = hub;
    this.#deps = deps;
  }

  /** True for a proof that was skipped because its kind is unknown. */
  isSkipped(proof: AcceptedProof): boolean {
    const known = this.#kept.get(keyOf(proof));
    return known !== undefined && known.proof === undefined;
  }

  /** Loads these rotations up to the first one without usable bytes. */
  async loadRotations(
    steps: readonly RotationStep[],
    signal: AbortSignal,
  ): Promise<readonly LoadedProof[]> {
    const found = await Promise.all(steps.map((step) => this.#load(step, signal)));
    const end = found.indexOf(undefined);
    return found.slice(0, end === -1 ? found.length : end).flatMap((proof) => proof ?? []);
  }

  /** Loads the first of these proofs for messages whose bytes are usable; `undefined`: none is. */
  async loadFirst(heights: readonly bigint[], signal: AbortSignal): Promise<LoadedProof | undefined> {
    for (const height of heights) {
      const found = await this.#load({ height, newSetId: undefined }, signal);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #load(proof: AcceptedProof, signal: AbortSignal): Promise<LoadedProof | undefined> {
    const key = keyOf(proof);
    const nowMs = this.#deps.clock.now();
    const known = this.#kept.get(key);
    if (known !== undefined && nowMs < known.untilMs) return known.proof;
    this.#kept.delete(key);
    const bytes = await this.#hub.fetchProofBytes(proof, signal);
    if (bytes === undefined || bytes.length > MAX_PROOF_BYTES) return undefined;
    const loaded = hasKnownKind(bytes) ? { ...proof, bytes } : undefined;
    if (loaded === undefined) this.#reportKind(toHex(bytes.subarray(0, 1)));
    this.#kept.set(key, { proof: loaded, untilMs: nowMs + KEPT_MS });
    dropOldest(this.#kept, MAX_KEPT);
    return loaded;
  }

  #reportKind(kind: string): void {
    if (this.#loggedKinds.has(kind)) return;
    this.#loggedKinds.add(kind);
    this.#deps.log.warn("proofs_unavailable.unknown_kind", { kind });
  }
}

function keyOf({ height, newSetId }: AcceptedProof): string {
  return `${height} ${newSetId ?? ""}`;
}

/** Rotation: the next authority set, and the proven height of the hub. */
export interface RotationStep {
  readonly height: bigint;
  readonly newSetId: bigint;
}

/** Rotations that a chain still needs, ascending. */
type RotationPlan =
  | { readonly kind: "rotations"; readonly steps: readonly RotationStep[] }
  /** The hub no longer keeps the rotation to this set: the chain cannot catch up. */
  | { readonly kind: "gap"; readonly missing: bigint };

/** Plans all rotations above the chain's authority set. */
export function planRotations({ rotations }: AcceptedProofIndex, setId: bigint): RotationPlan {
  const needed = [...rotations].filter(([set]) => set > setId).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const steps: RotationStep[] = [];
  for (const [set, height] of needed) {
    const expected = setId + BigInt(steps.length) + 1n;
    if (set !== expected) return { kind: "gap", missing: expected };
    steps.push({ height, newSetId: set });
  }
  return { kind: "rotations", steps };
}

/** Maximum number of proofs for messages that are tried where the bytes of newer ones are not to be had. */
const MAX_TRIED = 8;

/** Proven heights above `known` that are no rotations, newest first: one of them is enough. */
export function newerHeights({ messaging }: AcceptedProofIndex, known: bigint): readonly bigint[] {
  return messaging.filter((height) => height > known).toReversed().slice(0, MAX_TRIED);
}

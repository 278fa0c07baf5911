/**
 * Heads of parachains as the hub's client reads them out of a relay chain's state. Written for the hub alone: a mistake of
 * the relayer's verifier is none of the hub's.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/consensus.rs (verify_consensus),
 * modules/ismp/state-machines/substrate/src/lib.rs (read_proof_check_for_parachain, fetch_overlay_root_and_timestamp).
 */
import { type Hash256, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  type ConsensusStateId,
  type IntermediateState,
  parseStateMachine,
  type StateCommitment,
  type StateMachine,
} from "../../../src/core/ismp/state_machine.ts";
import { parachainHeadKey } from "../../../src/core/substrate/parachain_heads.ts";
import { ClientRefusal, ProofRefusal } from "./refusals.ts";
import { readSubstrateState } from "./substrate_state.ts";

/** What the client knows. */
export interface HeadsView {
  readonly chain: StateMachine;
  readonly consensusStateId: ConsensusStateId;
  readonly coprocessor: StateMachine;
  readonly relayStateRoot: Hash256;
  /** Parachains that it follows. */
  readonly paraIds: readonly number[];
  /** Milliseconds of a parachain's slots, where governance has set them. */
  readonly slotMs: (paraId: number) => bigint | undefined;
}

/** Polkadot Hub: the one parachain that is dated by its slots, and stored as an EVM chain by the relay chain's name. */
const ASSET_HUB = 1000;
const EVM_NAMES: Readonly<Record<string, string>> = {
  KUSAMA: "EVM-420420417",
  POLKADOT: "EVM-420420419",
};

/** The commitments that a proof leads to: of each followed parachain that it is about. @throws {ClientRefusal} */
export function readFollowedHeads(
  nodes: readonly Uint8Array[],
  view: HeadsView,
): readonly IntermediateState[] {
  const [relay = ""] = view.chain.split("-");
  if (EVM_NAMES[relay] === undefined) throw new ClientRefusal("not_a_parachain");
  // Proves nothing by itself, but refuses proofs that have not even the root.
  stored(nodes, view.relayStateRoot, new Uint8Array(0), "heads_proof");
  return view.paraIds.flatMap((paraId): IntermediateState[] => {
    const value = stored(nodes, view.relayStateRoot, parachainHeadKey(paraId), undefined);
    if (value === undefined) return [];
    const header = readHeader(unwrapped(value));
    const slotMs = paraId === ASSET_HUB ? view.slotMs(paraId) : 0n;
    if (slotMs === undefined) throw new ClientRefusal("slot_duration_missing");
    const name = parseStateMachine(`${relay}-${paraId}`);
    const commitment = commitmentOf(header, { slotMs, isCoprocessor: name === view.coprocessor });
    const stateMachine = paraId === ASSET_HUB ? parseStateMachine(EVM_NAMES[relay] ?? "") : name;
    const id = { stateMachine, consensusStateId: view.consensusStateId };
    return [{ height: { id, height: BigInt(header.number) }, commitment }];
  });
}

/** @param missing refusal of a proof without the nodes; `undefined`: then there is no value. */
function stored(
  nodes: readonly Uint8Array[],
  root: Hash256,
  key: Uint8Array,
  missing: string | undefined,
): Uint8Array | undefined {
  try {
    return readSubstrateState({ root, hasher: "Blake2", nodes, keys: [key] }).get(toHex(key));
  } catch (cause) {
    if (!(cause instanceof ProofRefusal)) throw cause;
    if (cause.code === "missing_node" && missing === undefined) return undefined;
    throw new ClientRefusal(missing ?? "heads_proof", { cause });
  }
}

interface DigestLog {
  readonly kind: number;
  readonly engine: string;
  readonly data: Uint8Array;
}

interface Head {
  readonly number: number;
  readonly stateRoot: Hash256;
  readonly logs: readonly DigestLog[];
}

/** Bytes one after the other. */
class Bytes {
  #at = 0;
  constructor(readonly all: Uint8Array) {}

  take(count: number): Uint8Array {
    const taken = this.all.slice(this.#at, this.#at + count);
    if (taken.length !== count) throw new ClientRefusal("undecodable_header");
    this.#at += count;
    return taken;
  }

  /** Little endian. */
  uint(count: number): bigint {
    return this.take(count).reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
  }

  compact(): number {
    const first = Number(this.uint(1));
    const bytes = [0, 1, 3][first & 3];
    if (bytes === undefined) {
      if (first !== 3) throw new ClientRefusal("undecodable_header");
      return Number(this.uint(4));
    }
    return Number((this.uint(bytes) * 256n + BigInt(first)) >> 2n);
  }

  text(count: number): string {
    return String.fromCharCode(...this.take(count));
  }
}

function unwrapped(value: Uint8Array): Uint8Array {
  const bytes = new Bytes(value);
  return bytes.take(bytes.compact());
}

const PRE_RUNTIME = 6;
const CONSENSUS = 4;
const SEAL = 5;
const OTHER = 0;
const UPDATED = 8;

function readHeader(encoded: Uint8Array): Head {
  const bytes = new Bytes(encoded);
  bytes.take(32);
  const number = bytes.compact();
  const stateRoot = toHash256(bytes.take(32));
  bytes.take(32);
  const logs = Array.from({ length: bytes.compact() }, (): DigestLog => {
    const kind = Number(bytes.uint(1));
    if (kind === UPDATED) return { kind, engine: "", data: new Uint8Array(0) };
    if (![OTHER, CONSENSUS, SEAL, PRE_RUNTIME].includes(kind)) throw new ClientRefusal("undecodable_header");
    const engine = kind === OTHER ? "" : bytes.text(4);
    return { kind, engine, data: bytes.take(bytes.compact()) };
  });
  return { number, stateRoot, logs };
}

/** What BABE's leaders show for their slot: output and proof. */
const VRF_BYTES = 96;
const U64_MAX = 2n ** 64n - 1n;
const ZERO = toHash256(new Uint8Array(32));

function commitmentOf(
  { logs, stateRoot }: Head,
  { slotMs, isCoprocessor }: { readonly slotMs: bigint; readonly isCoprocessor: boolean },
): StateCommitment {
  let mmrRoot = ZERO;
  let childRoot = ZERO;
  let timestampSec = 0n;
  let slot = 0n;
  for (const { kind, engine, data } of logs) {
    const bytes = new Bytes(data);
    if (kind === CONSENSUS && engine === "ISTM") timestampSec = bytes.uint(8);
    if (kind === CONSENSUS && engine === "ISMP") {
      mmrRoot = toHash256(bytes.take(32));
      childRoot = toHash256(bytes.take(32));
    }
    if (kind === PRE_RUNTIME && engine === "aura") slot = bytes.uint(8);
    if (kind === PRE_RUNTIME && engine === "BABE") {
      const variant = bytes.uint(1);
      if (variant < 1n || variant > 3n) throw new ClientRefusal("undecodable_header");
      bytes.take(4);
      slot = bytes.uint(8);
      if (variant !== 2n) bytes.take(VRF_BYTES);
    }
  }
  if (timestampSec === 0n) {
    const ms = slot * slotMs;
    timestampSec = (ms > U64_MAX ? U64_MAX : ms) / 1000n;
  }
  if (timestampSec === 0n) throw new ClientRefusal("timestamp_missing");
  return isCoprocessor
    ? { timestampSec, overlayRoot: mmrRoot, stateRoot: childRoot }
    : { timestampSec, overlayRoot: childRoot, stateRoot };
}

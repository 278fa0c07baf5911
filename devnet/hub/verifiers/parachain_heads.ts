/**
 * Heads of parachains as the hub's client reads them out of a relay chain's state. Written for the hub alone: a mistake of
 * the relayer's verifier is none of the hub's.
 * Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/consensus.rs (verify_consensus),
 * modules/ismp/state-machines/substrate/src/lib.rs (read_proof_check_for_parachain, fetch_overlay_root_and_timestamp).
 */
import { type Hash256, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  type ConsensusStateId,
  type IntermediateState,
  parseStateMachine,
  type StateCommitment,
  type StateMachine,
} from "../../../src/core/ismp/state_machine.ts";
import {
  bytes,
  decodePrefix,
  hash256,
  ScaleError,
  Tuple,
  u32,
  u64,
  u8,
} from "../../../src/core/encoding/scale.ts";
import { type SubstrateHeader, substrateHeaderCodec } from "../../../src/core/substrate/header.ts";
import { parachainHeadKey } from "../../../src/core/substrate/parachain_heads.ts";
import { zeroHash } from "../block_history.ts";
import { ClientRefusal, converted, ProofRefusal, require } from "./refusals.ts";
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
    const header = orRefused(() => readHead(value));
    const slotMs = paraId === ASSET_HUB ? view.slotMs(paraId) : 0n;
    if (slotMs === undefined) throw new ClientRefusal("slot_duration_missing");
    const name = parseStateMachine(`${relay}-${paraId}`);
    const isCoprocessor = name === view.coprocessor;
    const commitment = orRefused(() => commitmentOf(header, { slotMs, isCoprocessor }));
    const stateMachine = paraId === ASSET_HUB ? parseStateMachine(EVM_NAMES[relay] ?? "") : name;
    const id = { stateMachine, consensusStateId: view.consensusStateId };
    return [{ height: { id, height: BigInt(header.number) }, commitment }];
  });
}

function orRefused<T>(read: () => T): T {
  return converted(ScaleError, (cause) => new ClientRefusal("undecodable_header", { cause }), read);
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

/** Reads the head that a relay chain stores: a list of bytes that begins with a header. @throws {ScaleError} */
function readHead(value: Uint8Array): SubstrateHeader {
  return decodePrefix(substrateHeaderCodec, decodePrefix(bytes, value, "HeadData"), "Header");
}

/** What BABE's leaders show for their slot, except plain secondary ones: output and proof. */
const VRF_BYTES = 96;
const SECONDARY_PLAIN = 2;
const babeClaim = Tuple(u8, u32, u64);
const BABE_CLAIM_BYTES = 13;

/** Slot of a header's author. @throws {ScaleError} {ClientRefusal} */
function babeSlot(data: Uint8Array): bigint {
  const [variant, , slot] = decodePrefix(babeClaim, data, "PreDigest");
  const isWhole = variant === SECONDARY_PLAIN || data.length >= BABE_CLAIM_BYTES + VRF_BYTES;
  require(variant >= 1 && variant <= 3 && isWhole, "undecodable_header");
  return slot;
}

const U64_MAX = 2n ** 64n - 1n;
const rootsCodec = Tuple(hash256, hash256);

function commitmentOf(
  { digest, stateRoot }: SubstrateHeader,
  { slotMs, isCoprocessor }: { readonly slotMs: bigint; readonly isCoprocessor: boolean },
): StateCommitment {
  let [mmrRoot, childRoot] = [zeroHash, zeroHash];
  let timestampSec = 0n;
  let slot = 0n;
  for (const item of digest) {
    const name = "engine" in item ? `${item.kind} ${item.engine}` : item.kind;
    const data = "data" in item ? item.data : new Uint8Array();
    if (name === "consensus ISTM") timestampSec = decodePrefix(u64, data, name);
    if (name === "consensus ISMP") [mmrRoot, childRoot] = decodePrefix(rootsCodec, data, name);
    if (name === "preRuntime aura") slot = decodePrefix(u64, data, name);
    if (name === "preRuntime BABE") slot = babeSlot(data);
  }
  if (timestampSec === 0n) {
    const ms = slot * slotMs;
    timestampSec = (ms > U64_MAX ? U64_MAX : ms) / 1000n;
  }
  require(timestampSec !== 0n, "timestamp_missing");
  return isCoprocessor
    ? { timestampSec, overlayRoot: mmrRoot, stateRoot: childRoot }
    : { timestampSec, overlayRoot: childRoot, stateRoot };
}

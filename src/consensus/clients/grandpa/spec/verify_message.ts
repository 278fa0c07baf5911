/**
 * The GRANDPA client of the hub's counterparties: verifies a message and returns the result or the broken rule. Rules
 * and their order: polytope-labs/hyperbridge: modules/consensus/grandpa/verifier/src/lib.rs,
 * modules/ismp/clients/grandpa/src/consensus.rs.
 */
import { ScaleError } from "../../../../core/encoding/scale.ts";
import { clientDecoder, mapError } from "../../../spec/client_error.ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  type ConsensusStateId,
  formatStateMachine,
  type IntermediateState,
  type StateCommitment,
  type StateMachine,
  type StateMachineId,
  stateMachineParts,
} from "../../../../core/ismp/state_machine.ts";
import { TrieError } from "../../../../core/merkle/trie_nodes.ts";
import { decodeHeadData, provenHeads } from "../../../../core/substrate/parachain_heads.ts";
import {
  decodeSubstrateHeader,
  hashSubstrateHeader,
  type SubstrateHeader,
} from "../../../../core/substrate/header.ts";
import { readCommitment } from "../../../spec/header_commitment.ts";
import {
  type GrandpaConsensusState,
  grandpaConsensusStateCodec,
  GrandpaError,
  type GrandpaFinalityProof,
  type GrandpaMessage,
  grandpaMessageCodec,
  messageVariantOf,
  type ParachainHeaders,
  scheduledAuthorities,
} from "./message.ts";
import {
  decodeGrandpaJustification,
  requireRule,
  verifyGrandpaJustification,
} from "./verify_justification.ts";

/** State of the verifying chain besides the trusted state. */
export interface GrandpaView {
  /** Id under which it stores the client and the commitments. */
  readonly consensusStateId: ConsensusStateId;
  /** Its hub: the family of its parachains is that of the `Polkadot` messages. */
  readonly coprocessor: StateMachine | undefined;
  /** Chains that it follows, with the duration of their slots in milliseconds. */
  readonly supported: ReadonlyMap<StateMachine, bigint>;
}

/** Result of an accepted message. */
export interface VerifiedGrandpaMessage {
  readonly consensusState: GrandpaConsensusState;
  readonly commitments: readonly IntermediateState[];
}

/** Decodes the consensus proof of a message. @throws {GrandpaError} `undecodable_message` */
export const decodeGrandpaMessage = clientDecoder(grandpaMessageCodec, GrandpaError, "undecodable_message");

/** Decodes a stored state. @throws {GrandpaError} `undecodable_state` */
export const decodeGrandpaState = clientDecoder(
  grandpaConsensusStateCodec,
  GrandpaError,
  "undecodable_state",
);

/** A message whose finality proof is valid. */
export interface FinalMessage {
  readonly message: GrandpaMessage;
  /** Result of {@link verifyFinality} for the message's proof. */
  readonly finality: VerifiedFinality;
}

/**
 * Verifies the remaining rules for a message whose finality proof is valid on the same state: votes of hundreds of
 * validators are checked once. @throws {GrandpaError}
 */
export function verifyCommitments(
  trusted: GrandpaConsensusState,
  { message, finality: { consensusState, target, route } }: FinalMessage,
  view: GrandpaView,
): VerifiedGrandpaMessage {
  requireVariant(trusted, message);
  const commitments = message.tag === "StandaloneChain"
    ? [standaloneCommitment(trusted.stateMachine, target, view)]
    : readHeads(message.value.parachainHeaders, message.value.finalityProof, route)
      .flatMap((head) => parachainCommitment(head, message.tag, view));
  return { consensusState, commitments };
}

function requireVariant({ stateMachine }: GrandpaConsensusState, { tag }: GrandpaMessage): void {
  requireRule(messageVariantOf(stateMachine) === tag, "wrong_variant");
}

function standaloneCommitment(
  stateMachine: StateMachine,
  header: SubstrateHeader,
  view: GrandpaView,
): IntermediateState {
  const slotMs = view.supported.get(stateMachine);
  requireRule(slotMs !== undefined, "not_supported");
  return intermediate({ ...view, stateMachine }, header, commitmentOf(header, slotMs, false));
}

/** Returns the commitment of a parachain; none where the verifying chain does not follow it. */
function parachainCommitment(
  { paraId, header }: ParachainHeader,
  tag: "Polkadot" | "Relaychain",
  view: GrandpaView,
): readonly IntermediateState[] {
  if (tag === "Relaychain") {
    const stateMachine = formatStateMachine({
      tag: "Relay",
      value: { relay: view.consensusStateId, paraId },
    });
    const slotMs = view.supported.get(stateMachine);
    if (slotMs === undefined) return [];
    return [intermediate({ ...view, stateMachine }, header, commitmentOf(header, slotMs, false))];
  }
  const slotMs = families.map((family) =>
    view.supported.get(formatStateMachine({ tag: family, value: paraId }))
  )
    .find((found) => found !== undefined);
  if (slotMs === undefined) return [];
  const family = view.coprocessor === undefined ? undefined : stateMachineParts(view.coprocessor).tag;
  requireRule(family === "Polkadot" || family === "Kusama", "coprocessor_missing");
  const stateMachine = formatStateMachine({ tag: family, value: paraId });
  const isHub = stateMachine === view.coprocessor;
  return [intermediate({ ...view, stateMachine }, header, commitmentOf(header, slotMs, isHub))];
}

/** Families of parachains under which the verifying chain looks up the duration of slots. */
const families = ["Polkadot", "Kusama"] as const;

function intermediate(
  { stateMachine, consensusStateId }: StateMachineId,
  header: SubstrateHeader,
  commitment: StateCommitment,
): IntermediateState {
  return { height: { id: { stateMachine, consensusStateId }, height: BigInt(header.number) }, commitment };
}

/** A valid finality proof. */
export interface VerifiedFinality {
  readonly consensusState: GrandpaConsensusState;
  readonly target: SubstrateHeader;
  /** Hashes from the target down to the trusted block. */
  readonly route: ReadonlySet<Hash256>;
}

/** Verifies the rules about the finalized chain itself, in steps that may be interrupted. @throws {GrandpaError} */
export function* verifyFinality(
  trusted: GrandpaConsensusState,
  proof: GrandpaFinalityProof,
): Generator<undefined, VerifiedFinality, undefined> {
  const headers = new Map<Hash256, SubstrateHeader>();
  for (const header of proof.unknownHeaders) {
    yield;
    headers.set(hashSubstrateHeader(header), header);
  }
  const { highest: target, lowest: base } = endsOf(proof.unknownHeaders);
  requireRule(hashSubstrateHeader(target) === proof.block, "target_mismatch");
  yield;
  const justification = decodeGrandpaJustification(proof.justification);
  yield;
  requireRule(justification.commit.targetHash === proof.block, "justification_mismatch");
  if (base.number < trusted.latestHeight) {
    requireRule(findRoute(headers, trusted.latestHash, hashSubstrateHeader(base)) !== undefined, "ancestry");
  }
  const route = findRoute(headers, proof.block, trusted.latestHash);
  requireRule(route !== undefined, "ancestry");
  yield* verifyGrandpaJustification(justification, trusted.currentAuthorities, trusted.currentSetId);
  const next = scheduledAuthorities(target);
  const consensusState = {
    ...trusted,
    latestHash: proof.block,
    latestHeight: target.number,
    ...next === undefined ? {} : { currentAuthorities: next, currentSetId: trusted.currentSetId + 1n },
  };
  return { consensusState, target, route };
}

/** Returns the last of the highest headers and the first of the lowest ones. */
function endsOf(
  headers: readonly SubstrateHeader[],
): { readonly highest: SubstrateHeader; readonly lowest: SubstrateHeader } {
  const [first] = headers;
  requireRule(first !== undefined, "headers_empty");
  return {
    highest: headers.reduce((found, header) => header.number >= found.number ? header : found, first),
    lowest: headers.reduce((found, header) => header.number < found.number ? header : found, first),
  };
}

function findRoute(
  headers: ReadonlyMap<Hash256, SubstrateHeader>,
  from: Hash256,
  to: Hash256,
): ReadonlySet<Hash256> | undefined {
  const route = new Set([from]);
  for (let hash = from; hash !== to;) {
    const header = headers.get(hash);
    if (header === undefined) return undefined;
    hash = header.parentHash;
    route.add(hash);
  }
  return route;
}

/** A proved head of a parachain. */
interface ParachainHeader {
  readonly paraId: number;
  readonly header: SubstrateHeader;
}

function readHeads(
  proofs: ParachainHeaders,
  { unknownHeaders }: GrandpaFinalityProof,
  route: ReadonlySet<Hash256>,
): readonly ParachainHeader[] {
  const headers = new Map(unknownHeaders.map((header) => [hashSubstrateHeader(header), header]));
  return [...proofs].filter(([hash]) => route.has(hash)).flatMap(([hash, { stateProof, paraIds }]) => {
    const relay = headers.get(hash);
    requireRule(relay !== undefined, "relay_header_missing");
    const heads = mapError(
      TrieError,
      () => provenHeads(stateProof, relay.stateRoot, paraIds),
      (cause) => new GrandpaError("heads_proof", { cause }),
    );
    return [...heads].map(([paraId, stored]) => {
      requireRule(stored !== undefined, "parachain_missing");
      const header = mapError(
        ScaleError,
        () => decodeSubstrateHeader(decodeHeadData(stored)),
        (cause) => new GrandpaError("undecodable_header", { cause }),
      );
      return { paraId, header };
    });
  });
}

/**
 * Commitment that the client stores for a header. @param isHub the hub is proved by its MMR, others by their child trie
 * and state. @throws {GrandpaError} `timestamp_missing`, `undecodable_header`
 */
export function commitmentOf(header: SubstrateHeader, slotMs: bigint, isHub: boolean): StateCommitment {
  return readCommitment(header, {
    slotMs,
    isHub,
    refuse: (code, options) => new GrandpaError(code, options),
  });
}

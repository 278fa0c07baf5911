/**
 * Answers to GET requests on the hub in memory: which it takes, and what it makes of them.
 * Source: polytope-labs/hyperbridge: modules/pallets/state-coprocessor.
 */
import type { ChainEvent, EventPosition } from "../../src/core/chains/reads.ts";
import type { Refusal, RefusalCode } from "../../src/core/chains/submission.ts";
import { fromHex, type Hash256, keccak256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import { getMessage, getResponseMessage } from "../../src/core/ismp/message.ts";
import type { GetRequestsWithProof } from "../../src/core/ismp/ismp_message.ts";
import { type StateMachineHeight, stateMachineIdKey } from "../../src/core/ismp/state_machine.ts";
import { type HostState, sealOf } from "./memory_host.ts";

/** Seal of a proof of state values: it names the block and exactly these keys, in any order. */
export function sealOfKeys(root: Hash256, keys: readonly Uint8Array[]): Uint8Array {
  const text = [root, ...new Set(keys.map(toHex).toSorted())].join();
  return keccak256(new TextEncoder().encode(text));
}

/** What the host's rules say besides its state. */
export interface AnswerRules {
  readonly challengePeriodSec: bigint;
  readonly failing: ReadonlySet<Hash256>;
  readonly nowSec: bigint;
}

/** Why the hub refuses an answer; `undefined`: it takes it. One bad request refuses all. */
export function refusalOfAnswer(
  rules: AnswerRules,
  state: HostState,
  answer: GetRequestsWithProof,
): Refusal | undefined {
  const code = codeOf(rules, state, answer);
  return code === undefined ? undefined : { code, detail: code };
}

function codeOf(
  rules: AnswerRules,
  state: HostState,
  { requests, source, response }: GetRequestsWithProof,
): RefusalCode | undefined {
  const messages = requests.map(getMessage);
  const commitments = messages.map(({ commitment }) => commitment);
  if (requests.length === 0 || new Set(commitments).size < requests.length) return "duplicate";
  if (commitments.some((commitment) => state.receipts.has(commitment))) return "duplicate";
  const isLate = ({ timeoutTimestampSec: end }: { readonly timeoutTimestampSec: bigint }): boolean =>
    end !== 0n && rules.nowSec >= end;
  if (requests.some(isLate)) return "timed_out";
  if (requests.some((request) => request.source !== source.height.id.stateMachine)) return "bad_destination";
  if (requests.some((request) => request.dest !== response.height.id.stateMachine)) return "bad_destination";
  if (requests.some((request) => request.height !== response.height.height)) return "bad_proof";
  const roots = [source.height, response.height].map((height) => maturedRoot(rules, state, height));
  const [sourceRoot, valuesRoot] = roots;
  if (sourceRoot === undefined || valuesRoot === undefined) return "not_ready";
  if (toHash256(source.proof) !== sealOf(sourceRoot, messages)) return "bad_proof";
  const keys = requests.flatMap((request) => request.keys);
  if (toHex(response.proof) !== toHex(sealOfKeys(valuesRoot, keys))) return "bad_proof";
  return commitments.some((commitment) => rules.failing.has(commitment)) ? "module_failed" : undefined;
}

function maturedRoot(rules: AnswerRules, state: HostState, at: StateMachineHeight): Hash256 | undefined {
  const stored = state.counterparties.get(stateMachineIdKey(at.id))?.heights.get(at.height);
  if (stored === undefined) return undefined;
  const { challengePeriodSec } = rules;
  const isMatured = challengePeriodSec === 0n || rules.nowSec - stored.updatedAtSec > challengePeriodSec;
  return isMatured ? stored.root : undefined;
}

/** Makes the responses; every key has the value of its own bytes. */
export function applyAnswer(
  state: HostState,
  { requests }: GetRequestsWithProof,
  by: { readonly relayer: Uint8Array; readonly at: EventPosition },
): readonly ChainEvent[] {
  return requests.flatMap((get): ChainEvent[] => {
    const keys = [...new Set(get.keys.map(toHex))].toSorted();
    const values = keys.map((key) => ({ key: fromHex(key), value: fromHex(key) }));
    const message = getResponseMessage({ get, values });
    state.receipts.set(message.requestCommitment, by.relayer);
    state.sent.set(message.commitment, BigInt(state.sent.size));
    const { relayer, at } = by;
    return [
      { kind: "handled", of: "get", commitment: message.requestCommitment, relayer, at },
      { kind: "message", message, at },
    ];
  });
}

/** Rows for tests of the ledger; a test names only what matters to it. */
import type { SignedSubmission } from "../../src/core/chains/submission.ts";
import type { NewDelivery, NewMessage, SubmissionItem } from "../../src/messaging/ledger/ledger.ts";
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { parseStateMachine, type StateMachine } from "../../src/core/ismp/state_machine.ts";

/** A chain of the tests. */
export const ethereum: StateMachine = parseStateMachine("EVM-1");
/** Another one. */
export const bsc: StateMachine = parseStateMachine("EVM-56");
/** The hub of the tests. */
export const hub: StateMachine = parseStateMachine("POLKADOT-3367");

/** The 32 bytes that end in `number`. */
export function hashOf(number: number): Hash256 {
  return toHash256(number.toString(16).padStart(64, "0"));
}

/** A post from Ethereum to BSC on its first leg. */
export function newMessage(number: number, change: Partial<NewMessage> = {}): NewMessage {
  return {
    commitment: hashOf(number),
    target: hub,
    source: ethereum,
    kind: "post",
    requestCommitment: hashOf(number),
    requestSource: ethereum,
    requestDest: bsc,
    module: new Uint8Array(20).fill(7),
    nonce: BigInt(number),
    timeoutSec: 0n,
    seenAtHeight: 100n,
    encoded: new Uint8Array([1, 2, 3]),
    state: "seen",
    ...change,
  };
}

/** A signed transaction to the hub. */
export function newSubmission(number: number, change: Partial<SignedSubmission> = {}): SignedSubmission {
  return {
    hash: hashOf(number),
    chain: hub,
    raw: new Uint8Array([number & 0xff]),
    account: "0xabc",
    nonce: BigInt(number),
    gasPriceWei: 10n ** 30n,
    gasLimit: 21_000n,
    madeAtHeight: 5n,
    ...change,
  };
}

/** The item of {@link newMessage}. */
export function itemOf(number: number): SubmissionItem {
  return { commitment: hashOf(number), requestCommitment: hashOf(number), target: hub };
}

/** A final delivery of ours on BSC. */
export function newDelivery(number: number, change: Partial<NewDelivery> = {}): NewDelivery {
  return {
    commitment: hashOf(number),
    dest: bsc,
    source: ethereum,
    relayer: new Uint8Array(20).fill(9),
    txHash: hashOf(number + 1_000_000),
    block: { height: BigInt(number), hash: hashOf(number + 2_000_000) },
    isFinal: true,
    ...change,
  };
}

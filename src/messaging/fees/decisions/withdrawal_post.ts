/**
 * Parsing of the requests with which the hub pays relayers, and matching of ours. Pure.
 * Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/withdrawal.rs, modules/pallets/ismp/src/dispatcher.rs;
 * docs/protocol/evm-host.md section 13 and docs/protocol/hub.md section 10.2.
 */
import { equalBytes, type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import { type Address, toAddress } from "../../../core/evm/address.ts";
import type { PostRequest } from "../../../core/ismp/message.ts";
import { isEvm, type StateMachine } from "../../../core/ismp/state_machine.ts";
import { u128 } from "../../../core/encoding/scale.ts";

/** Module of the hub that pays relayers: ASCII `ISMP-RLYR`. */
export const WITHDRAWAL_MODULE: Uint8Array = new TextEncoder().encode("ISMP-RLYR");

/** Content of a payment. */
export interface Payment {
  /** 20 bytes on EVM chains, 32 bytes on Substrate chains. */
  readonly beneficiary: Uint8Array;
  /** Units of the chain's fee token. */
  readonly amount: bigint;
  /** Token paid out, if the body names one. */
  readonly token: Address | undefined;
}

/** Substrate bodies start with 0 at HEAD and with 2 in July 2025; the rest is the same. */
const SUBSTRATE_VARIANTS: readonly number[] = [0, 2];

const WORD = 32;

/** Parses the payment in the body of a request to `chain`; `undefined` when the body is something else. */
export function readPayment(chain: StateMachine, body: Uint8Array): Payment | undefined {
  return isEvm(chain) ? readEvmPayment(body) : readSubstratePayment(body);
}

/**
 * `00`, then the words beneficiary, amount, and at HEAD the token; in July 2025 the third word was a flag (0 or 1),
 * the genesis runtimes had none.
 */
function readEvmPayment(body: Uint8Array): Payment | undefined {
  const words = (body.length - 1) / WORD;
  if (body[0] !== 0 || (words !== 2 && words !== 3)) return undefined;
  const beneficiary = addressOfWord(wordOf(body, 0));
  if (beneficiary === undefined) return undefined;
  const amount = BigInt(toHex(wordOf(body, 1)));
  if (words === 2) return { beneficiary, amount, token: undefined };
  const third = wordOf(body, 2);
  const token = addressOfWord(third);
  if (token === undefined) return undefined;
  return { beneficiary, amount, token: BigInt(toHex(third)) <= 1n ? undefined : toAddress(token) };
}

function wordOf(body: Uint8Array, index: number): Uint8Array {
  return body.slice(1 + index * WORD, 1 + (index + 1) * WORD);
}

function addressOfWord(word: Uint8Array): Uint8Array | undefined {
  return word.subarray(0, 12).every((byte) => byte === 0) ? word.slice(12) : undefined;
}

function readSubstratePayment(body: Uint8Array): Payment | undefined {
  const [variant = -1] = body;
  if (body.length !== 1 + 16 + 32 || !SUBSTRATE_VARIANTS.includes(variant)) return undefined;
  return { amount: u128.dec(body.slice(1, 17)), beneficiary: body.slice(17), token: undefined };
}

/** Payment dispatched by the hub, with the request that carries it. */
export interface PaymentPost {
  readonly commitment: Hash256;
  readonly request: PostRequest;
}

/** Parses the payment of a request, if it is one of the hub's to `chain`. */
export function parsePayment(
  request: PostRequest,
  facts: { readonly hub: StateMachine; readonly chain: StateMachine },
): Payment | undefined {
  if (request.source !== facts.hub || request.dest !== facts.chain) return undefined;
  return equalBytes(request.from, WITHDRAWAL_MODULE) ? readPayment(facts.chain, request.body) : undefined;
}

/** Withdrawal whose payment is expected. */
export interface ExpectedPayment {
  readonly id: number;
  /** Recipient: the beneficiary named in the request, or else the address that signed it. */
  readonly payee: Uint8Array;
  /** Balance at the time of the request; the payment may be higher, since fees may have been credited since. */
  readonly amount: bigint;
}

/** Payment matched to a withdrawal. */
export interface PaymentMatch {
  readonly id: number;
  readonly post: PaymentPost;
  readonly payment: Payment;
}

/** Our payments, matched and unexpected. */
export interface MatchedPayments {
  readonly matches: readonly PaymentMatch[];
  /** Payments to our own payees that no withdrawal expects: made elsewhere, or before the database was lost. */
  readonly unexpected: readonly { readonly post: PaymentPost; readonly payment: Payment }[];
}

/**
 * Assigns payments of one chain to the withdrawals that expect them: equal amounts first, then the smallest that is
 * large enough, oldest withdrawal first. Payments to others are left out. Posts must not be known already.
 */
export function matchPayments(
  expected: readonly ExpectedPayment[],
  posts: readonly PaymentPost[],
  facts: {
    readonly hub: StateMachine;
    readonly chain: StateMachine;
    isOwnPayee(account: Uint8Array): boolean;
  },
): MatchedPayments {
  const open = posts.flatMap((post) => {
    const payment = parsePayment(post.request, facts);
    return payment === undefined || !facts.isOwnPayee(payment.beneficiary) ? [] : [{ post, payment }];
  }).sort((a, b) => a.payment.amount < b.payment.amount ? -1 : a.payment.amount > b.payment.amount ? 1 : 0);
  const matches: PaymentMatch[] = [];
  const take = (row: ExpectedPayment, fits: (amount: bigint) => boolean): boolean => {
    const index = open.findIndex(({ payment }) =>
      equalBytes(payment.beneficiary, row.payee) && fits(payment.amount)
    );
    const [found] = index < 0 ? [] : open.splice(index, 1);
    if (found !== undefined) matches.push({ id: row.id, ...found });
    return found !== undefined;
  };
  const inexact = expected.toSorted((a, b) => a.id - b.id)
    .filter((row) => !take(row, (amount) => amount === row.amount));
  for (const row of inexact) take(row, (amount) => amount >= row.amount);
  return { matches, unexpected: open };
}

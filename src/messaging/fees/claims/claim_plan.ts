/**
 * Decides which delivered requests are claimed on the hub, in which groups, and for whom. Pure.
 * Rules: docs/protocol/messaging.md sections 14.2 and 14.3; polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/accumulate.rs. The hub's responses are handled in `claim_attempt.ts`.
 */
import { equalBytes, type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import type { DeliveryRow } from "../../ledger/ledger.ts";
import { partsOf } from "../../../core/runtime/slices.ts";

/** Maximum number of commitments per claim, as upstream. */
export const CLAIM_GROUP_SIZE = 50;

/** Fields of a delivery record needed for planning. */
export type ClaimRow = Pick<
  DeliveryRow,
  "commitment" | "source" | "dest" | "relayer" | "block" | "isFinal" | "claimState"
>;

/** State of one request on the chains. */
export interface ClaimedRequest {
  /** Fee on the source chain, units of its fee token; 0: none. */
  readonly fee: bigint;
  /** On the hub: still to be claimed, claimed in a final block or a newer one, or not (or no longer) known to it. */
  readonly onHub: "open" | "claimed" | "claimed_not_final" | "unknown";
}

/** Input of planning, besides the rows. */
export interface ClaimPlanInput {
  isConfigured(chain: StateMachine): boolean;
  /** Newest height of the chain on the hub whose challenge period is over; `undefined`: none. */
  maturedHeight(chain: StateMachine): bigint | undefined;
  /** State of the request; `undefined`: it could not be read now. */
  request(commitment: Hash256): ClaimedRequest | undefined;
  /** Our address on that source, to which its fees belong; `undefined`: no key is configured for it. */
  ownAddress(source: StateMachine): Uint8Array | undefined;
  /** True when the key of this delivering address is configured. */
  canSignAs(relayer: Uint8Array): boolean;
}

/** Account credited instead of the delivering one. Requires a signature of the delivering key. */
export interface ClaimBeneficiary {
  readonly account: Uint8Array;
  /** The hub counts `Relayer.Nonce` for this pair; read it right before signing each claim. */
  readonly nonceOf: { readonly address: Uint8Array; readonly chain: StateMachine };
}

/** One claim: one extrinsic, which the hub accepts or refuses as a whole. */
export interface ClaimGroup {
  readonly source: StateMachine;
  readonly dest: StateMachine;
  /** Relayer that the receipts must name. */
  readonly relayer: Uint8Array;
  /** At most {@link CLAIM_GROUP_SIZE}, oldest block first. */
  readonly commitments: readonly Hash256[];
  /** Heights known to the hub at which to prove. */
  readonly sourceHeight: bigint;
  readonly destHeight: bigint;
  readonly beneficiary: ClaimBeneficiary | undefined;
  /** Sum of the fees, units of the source's fee token. */
  readonly fee: bigint;
  /** Latest fee of each request, which its proof must show; requests without an entry accept any fee. */
  readonly minFees: ReadonlyMap<Hash256, bigint>;
}

/** Row that ends without a claim. */
export interface SettledClaim {
  readonly commitment: Hash256;
  readonly dest: StateMachine;
  readonly to: "claimed" | "no_fee" | "unclaimable";
  readonly why: "claimed_already" | "fee_is_zero" | "unknown_to_hub";
}

/** Plan for the rows. */
export interface ClaimPlan {
  /** By pair and relayer, oldest first. */
  readonly groups: readonly ClaimGroup[];
  readonly settled: readonly SettledClaim[];
  /** Rows to be claimed later. */
  readonly waiting: readonly ClaimRow[];
}

/** Plans claims for rows in any order and of any pairs; the same rows give the same plan whatever their order. */
export function planClaims(rows: readonly ClaimRow[], facts: ClaimPlanInput): ClaimPlan {
  const settled: SettledClaim[] = [];
  const waiting: ClaimRow[] = [];
  const byPair = new Map<string, PricedRow[]>();
  for (const row of rows.toSorted(compareRows)) {
    if (row.claimState !== "unclaimed" && row.claimState !== "claiming") continue;
    const judged = judgeRow(row, facts);
    if (judged.kind === "settle") settled.push({ commitment: row.commitment, dest: row.dest, ...judged.as });
    else if (judged.kind === "wait") waiting.push(row);
    else {
      const pair = `${row.source} ${row.dest} ${toHex(row.relayer)}`;
      const members = byPair.get(pair) ?? [];
      members.push({ row, fee: judged.fee });
      byPair.set(pair, members);
    }
  }
  const pairs = [...byPair].sort(([a], [b]) => a < b ? -1 : 1).map(([, members]) => members);
  return { groups: pairs.flatMap((members) => groupsOf(members, facts)), settled, waiting };
}

interface PricedRow {
  readonly row: ClaimRow;
  readonly fee: bigint;
}

type Judged =
  | { readonly kind: "claim"; readonly fee: bigint }
  | { readonly kind: "wait" }
  | { readonly kind: "settle"; readonly as: Pick<SettledClaim, "to" | "why"> };

/** Judges one row; it waits while a claim is under way, or what it needs is not final, configured, known or read. */
function judgeRow(row: ClaimRow, facts: ClaimPlanInput): Judged {
  const wait: Judged = { kind: "wait" };
  const isReady = row.claimState === "unclaimed" && row.isFinal && facts.isConfigured(row.source) &&
    facts.isConfigured(row.dest);
  const request = isReady ? facts.request(row.commitment) : undefined;
  if (request === undefined || request.onHub === "claimed_not_final") return wait;
  if (request.onHub === "claimed") {
    return { kind: "settle", as: { to: "claimed", why: "claimed_already" } };
  }
  if (request.fee === 0n) return { kind: "settle", as: { to: "no_fee", why: "fee_is_zero" } };
  if (request.onHub === "unknown") {
    return { kind: "settle", as: { to: "unclaimable", why: "unknown_to_hub" } };
  }
  const destHeight = facts.maturedHeight(row.dest);
  if (destHeight === undefined || destHeight < row.block.height) return wait;
  return facts.maturedHeight(row.source) === undefined ? wait : { kind: "claim", fee: request.fee };
}

function compareRows(a: ClaimRow, b: ClaimRow): number {
  if (a.block.height !== b.block.height) return a.block.height < b.block.height ? -1 : 1;
  if (a.commitment !== b.commitment) return a.commitment < b.commitment ? -1 : 1;
  return a.dest < b.dest ? -1 : a.dest > b.dest ? 1 : 0;
}

/** Groups rows of one pair and relayer. */
function groupsOf(members: readonly PricedRow[], facts: ClaimPlanInput): readonly ClaimGroup[] {
  const groups: ClaimGroup[] = [];
  for (const part of partsOf(members, CLAIM_GROUP_SIZE)) {
    const [first] = part;
    if (first === undefined) throw new Error("Empty group of claims");
    const { source, dest, relayer } = first.row;
    const sourceHeight = facts.maturedHeight(source);
    const destHeight = facts.maturedHeight(dest);
    if (sourceHeight === undefined || destHeight === undefined) throw new Error("A claim has no height");
    groups.push({
      source,
      dest,
      relayer,
      commitments: part.map(({ row }) => row.commitment),
      sourceHeight,
      destHeight,
      beneficiary: findBeneficiary(source, relayer, facts),
      fee: part.reduce((sum, { fee }) => sum + fee, 0n),
      minFees: new Map(part.map(({ row, fee }) => [row.commitment, fee])),
    });
  }
  return groups;
}

/**
 * Finds the account credited when it is not the delivering address itself: our address on the source, from which fees
 * are withdrawn. Without a key for both of them the fees stay with the delivering address.
 */
function findBeneficiary(
  source: StateMachine,
  relayer: Uint8Array,
  facts: Pick<ClaimPlanInput, "ownAddress" | "canSignAs">,
): ClaimBeneficiary | undefined {
  const account = facts.ownAddress(source);
  if (account === undefined || equalBytes(account, relayer) || !facts.canSignAs(relayer)) return undefined;
  return { account, nonceOf: { address: relayer, chain: source } };
}

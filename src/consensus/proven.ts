/** Result of proving by hand, as it travels over the control socket. */
import * as z from "zod";

/** What a transaction costs, or would cost at the price of the moment. Decimal text. */
const costShape = z.object({
  gas: z.string(),
  /** Native tokens, data on another chain included. */
  native: z.string(),
  /** False: an estimate, nothing was sent. */
  isPaid: z.boolean(),
});

/** Result of proving one chain to another. */
export const provenShape = z.object({
  chain: z.string(),
  /** Chain that stores the light client. */
  target: z.string(),
  outcome: z.enum(["nothing", "possible", "accepted", "overtaken", "refused", "lost"]),
  /** Sentence for the operator. */
  text: z.string(),
  /** What the updates contain: heights, sets of authorities. */
  summary: z.string().optional(),
  updates: z.number(),
  bytes: z.number(),
  /** Height that the target knows afterwards; absent: only a set of validators or authorities changes. */
  height: z.string().optional(),
  /** True when another update can follow at once. */
  hasMore: z.boolean(),
  /** Time for reading the chain, building and verifying, ms. */
  buildMs: z.number(),
  /** Transaction on the target; absent: none, or it is no EVM chain. */
  transaction: z.string().optional(),
  /** No gas: the target charges nothing. Absent: nothing was proved, refused or lost, or the node does not say. */
  cost: costShape.optional(),
});

/** Result of proving one chain to another. */
export type Proven = z.output<typeof provenShape>;

/** The part of it that does not name the chains. */
export type ProofResult = Omit<Proven, "chain" | "target">;

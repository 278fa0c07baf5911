/** Result of proving by hand: plain data, numbers that may not fit a double as text. */

/** Result of proving one chain to another. */
export interface Proven {
  readonly chain: string;
  /** Chain that stores the light client. */
  readonly target: string;
  readonly outcome: "nothing" | "possible" | "accepted" | "overtaken" | "refused" | "lost";
  /** Sentence for the operator. */
  readonly text: string;
  /** What the updates contain: heights, sets of authorities. */
  readonly summary?: string | undefined;
  readonly updates: number;
  readonly bytes: number;
  /** Height that the target knows afterwards; absent: only a set of validators or authorities changes. */
  readonly height?: string | undefined;
  /** True when another update can follow at once. */
  readonly hasMore: boolean;
  /** Time for reading the chain, building and verifying, ms. */
  readonly buildMs: number;
  /** Transaction on the target; absent: none, or it is no EVM chain. */
  readonly transaction?: string | undefined;
  /**
   * What the transaction costs, or would cost at the price of the moment; no gas: the target charges nothing. Absent:
   * nothing was proved, refused or lost, or the node does not say.
   */
  readonly cost?: {
    readonly gas: string;
    /** Native tokens, data on another chain included. */
    readonly native: string;
    /** False: an estimate, nothing was sent. */
    readonly isPaid: boolean;
  } | undefined;
}

/** The part of it that does not name the chains. */
export type ProofResult = Omit<Proven, "chain" | "target">;

/** What a JSON-RPC node may do to those who ask it: the vocabulary of the profiles of EVM and Substrate nodes. */
import type { NodeRefusal, Scaled } from "./profile.ts";

/** One way in which a node is unkind. */
export type RpcBehaviour =
  /** `eth_getLogs` over more blocks than this is refused. */
  | { readonly kind: "logRange"; readonly blocks: number | Scaled; readonly refusal: NodeRefusal }
  /** `eth_getLogs` with more results than this is refused. */
  | { readonly kind: "logResults"; readonly results: number | Scaled; readonly refusal: NodeRefusal }
  /** `eth_getLogs` takes its time for each block; what takes longer than the node allows is refused after that time. */
  | {
    readonly kind: "slowLogs";
    readonly msPerBlock: number;
    readonly timeoutMs: Scaled;
    readonly refusal: NodeRefusal;
  }
  /** The index of logs is behind the head by so many blocks, and says nothing of it. */
  | { readonly kind: "lateLogs"; readonly blocks: number }
  /** Methods that are not there; a `*` at the end stands for anything. */
  | {
    readonly kind: "missing";
    readonly methods: readonly string[];
    readonly refusal: NodeRefusal;
    /** False: `rpc_methods` does not list them. Default: it does, as where a gateway or a flag refuses them. */
    readonly areListed?: boolean;
  }
  /** `eth_call` without an address, which runs code that is not on the chain, is refused. */
  | { readonly kind: "codeCalls"; readonly refusal: NodeRefusal }
  /** `debug_traceCall` answers without logs although they were asked for. */
  | { readonly kind: "loglessTraces" }
  /** States of the newest blocks only. */
  | { readonly kind: "states"; readonly blocks: number | Scaled; readonly refusal: NodeRefusal }
  /** Proofs (`eth_getProof`) of the newest blocks only; other reads of old states work. */
  | { readonly kind: "proofs"; readonly blocks: number | Scaled; readonly refusal: NodeRefusal }
  /**
   * Several nodes behind one URL, each so many blocks behind: every request, or every call of a batch, is answered by
   * the next one.
   */
  | { readonly kind: "fleet"; readonly lags: readonly number[]; readonly spread: "request" | "call" }
  | { readonly kind: "requestBytes"; readonly bytes: number | Scaled; readonly refusal: NodeRefusal }
  | {
    readonly kind: "responseBytes";
    readonly bytes: number | Scaled;
    readonly refusal: NodeRefusal;
    /** What is said of a batch; default: the same. */
    readonly ofBatch?: NodeRefusal;
    /** Methods whose answers are as long whatever happens, so that a limit which is played smaller leaves them out. */
    readonly except?: readonly string[];
  }
  /** Batches of more calls are refused. 0: every batch is. */
  | { readonly kind: "batch"; readonly calls: number | Scaled; readonly refusal: NodeRefusal }
  /** So many calls in any second. */
  | { readonly kind: "rate"; readonly perSec: number | Scaled; readonly refusal: NodeRefusal }
  /** So many calls in a day; played with a day of its own length. */
  | {
    readonly kind: "quota";
    readonly calls: Scaled;
    readonly dayMs: number;
    readonly refusal: NodeRefusal;
  }
  /** Transactions with a lower tip than `takesWei` are refused, while the prices that are asked for hold less. */
  | {
    readonly kind: "lowestTip";
    readonly takesWei: bigint;
    readonly suggestsWei: bigint;
    readonly refusal: NodeRefusal;
  }
  /** It stands still at the block that was its newest when it was asked first, and passes no transaction on. */
  | { readonly kind: "standing" }
  /** A method has another result: in one of so many calls (default in each), so many times at most. */
  | {
    readonly kind: "changed";
    readonly method: string;
    readonly every?: number;
    readonly times?: number;
    readonly change: (result: unknown) => unknown;
  }
  /** Each so many requests one is refused, for no reason. */
  | { readonly kind: "hiccups"; readonly every: number; readonly refusal: NodeRefusal }
  /** Each so many questions for a block, receipt or transaction are answered with null. */
  | { readonly kind: "nullBlocks"; readonly every: number }
  /** Hex that the specification does not allow, and fields that are not there. */
  | {
    readonly kind: "oddHex";
    /** Quantities with zeros in front. */
    readonly leadingZeros?: boolean;
    /** Digits `A` to `F` in hashes, addresses and data. */
    readonly uppercase?: boolean;
    /** Left out of blocks, receipts and logs. */
    readonly withoutFields?: readonly string[];
    /** `"error": null` beside each result. */
    readonly nullError?: boolean;
  }
  /** WebSockets are closed after this time. */
  | { readonly kind: "cutSockets"; readonly afterMs: Scaled };

/** Creates a behaviour of a limit: as documented, as played, and what is said beyond it. */
type Limit = (real: number, played: number, refusal: NodeRefusal) => RpcBehaviour;

/** States of the newest blocks only. */
export const newestStates: Limit = (real, played, refusal) => ({
  kind: "states",
  blocks: { real, played },
  refusal,
});
/** Blocks of one `eth_getLogs`. */
export const logRange: Limit = (real, played, refusal) => {
  return { kind: "logRange", blocks: { real, played }, refusal };
};
/** Results of one `eth_getLogs`. */
export const logResults: Limit = (real, played, refusal) => {
  return { kind: "logResults", results: { real, played }, refusal };
};
/** Calls of a batch. */
export const batch: Limit = (real, played, refusal) => ({ kind: "batch", calls: { real, played }, refusal });
/** Calls in a second. */
export const rate: Limit = (real, played, refusal) => ({ kind: "rate", perSec: { real, played }, refusal });

/** One JSON-RPC call. */
export interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** One answer: either a result or an error. */
export interface Answer {
  readonly id: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Asks the node behind the proxy. */
export type Ask = (call: Call) => Promise<Answer>;

/** The methods that read a state, with the position of the block among their parameters. */
export const STATE_METHODS: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getProof: 2,
  eth_getStorageAt: 2,
  eth_getTransactionCount: 1,
  eth_simulateV1: 1,
  debug_traceCall: 1,
};

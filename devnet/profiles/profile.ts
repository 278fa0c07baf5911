/**
 * Profiles of nodes: how the nodes and providers behave that operators really use, as data. A proxy
 * ({@link file://./rpc_front.ts}, {@link file://./rest_front.ts}) applies a profile to a node of the devnet. Nothing
 * here knows a relayer.
 *
 * Numbers: where a limit is counted in thousands of blocks or in hours, a devnet that lives for two minutes would never
 * meet it. Such a limit stands twice: as documented (`real`) and as played (`played`).
 */

/** A limit as it is documented, and as the devnet plays it. */
export interface Scaled {
  readonly real: number;
  readonly played: number;
}

/**
 * What a node says instead of an answer. In texts `{max}`, `{width}`, `{from}`, `{to}`, `{last}`, `{count}`, `{block}` and
 * `{head}` stand for the numbers of the question.
 */
export interface NodeRefusal {
  /** HTTP status; sockets ignore it. Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON-RPC error. Without one the body is {@link page}. */
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
  /** A body that is no JSON-RPC, e.g. a page of a gateway. */
  readonly page?: string;
  /**
   * How a batch is refused: by one error outside of an array (`object`, the default), by an error for each call (`each`),
   * or by an array with an error for the first call alone (`first`), as Geth does.
   */
  readonly asBatch?: "object" | "each" | "first";
}

/** A refusal by a JSON-RPC error. */
export function error(code: number, message: string, data?: unknown): NodeRefusal {
  return { error: { code, message, ...data === undefined ? {} : { data } } };
}

/** What a program says when it starts with a node that cannot do what is needed. */
export interface StartRefusal {
  /** Part of the sentence that says what is missing. */
  readonly reason: string;
  /** Part of it that says what to use or change. */
  readonly cure: string;
  /** `ends`: nothing is started; `holds`: nothing is sent to the chain until another node is there. */
  readonly consequence: "ends" | "holds";
}

/** Everything that makes a node special. */
export interface Profile<Behaviour> {
  /** Lower-case words with hyphens. */
  readonly name: string;
  /** Which nodes, providers or plans behave so. */
  readonly imitates: string;
  /** Public documentation, node source (owner/repository: path) or threads (owner/repository#number). */
  readonly sources: readonly string[];
  readonly behaviours: readonly Behaviour[];
  /** What such a node cannot do alone, so that another endpoint stands beside it. */
  readonly needsSecond?: string;
  /** It is a node of this kind of chain alone; chains of other kinds have their node as it is. Default: of any. */
  readonly onlyOf?: "polygon";
  /** Such a node is refused at the start. Default: it serves. */
  readonly refusal?: StartRefusal;
}

/** One way in which a beacon node is unkind. Routes are paths in which `*` stands for anything. */
export type RestBehaviour =
  /** Routes that the node has not. */
  | { readonly kind: "absent"; readonly routes: readonly string[]; readonly refusal: NodeRefusal }
  /** Routes whose last part may not be a root (`0x` and 64 digits). */
  | { readonly kind: "notByRoot"; readonly routes: readonly string[]; readonly refusal: NodeRefusal }
  /** Routes that take their time. */
  | { readonly kind: "slow"; readonly routes: readonly string[]; readonly delayMs: Scaled }
  /** Routes that answer with JSON, whatever is asked for. */
  | { readonly kind: "jsonOnly"; readonly routes: readonly string[] }
  /** Each so many requests one is refused, for no reason. */
  | { readonly kind: "hiccups"; readonly every: number; readonly refusal: NodeRefusal };

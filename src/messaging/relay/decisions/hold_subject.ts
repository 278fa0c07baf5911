/**
 * What an operator holds and releases: a module, or a route from one chain to another. Pure. As text a module is
 * `0x...`, a route `EVM-1:EVM-56`, with `*` for any chain.
 */
import { fromHex, type Hex, toHex } from "../../../core/encoding/bytes.ts";
import { IdentifierError, parseStateMachine, type StateMachine } from "../../../core/ismp/state_machine.ts";

/** Messages that are meant. */
export type HoldSubject =
  /** Sent or received by this module, lower-case hex. */
  | { readonly kind: "module"; readonly module: Hex }
  /** Requests from one chain to another; `undefined`: any. */
  | {
    readonly kind: "route";
    readonly source: StateMachine | undefined;
    readonly dest: StateMachine | undefined;
  };

/** Parses a subject; `->` is accepted for the colon. `undefined`: the text is none. */
export function parseHoldSubject(text: string): HoldSubject | undefined {
  if (/^0x(?:[0-9a-fA-F]{2})+$/.test(text)) return { kind: "module", module: toHex(fromHex(text)) };
  const ends = text.split(/\s*(?::|->)\s*/);
  const [source, dest] = ends.map(parseEnd);
  if (ends.length !== 2 || source === undefined || dest === undefined) return undefined;
  return { kind: "route", source: source.chain, dest: dest.chain };
}

/** Formats a subject; the same subject always has the same text. */
export function formatHoldSubject(subject: HoldSubject): string {
  return subject.kind === "module" ? subject.module : `${subject.source ?? "*"}:${subject.dest ?? "*"}`;
}

function parseEnd(text: string): { readonly chain: StateMachine | undefined } | undefined {
  if (text === "*") return { chain: undefined };
  try {
    return { chain: parseStateMachine(text) };
  } catch (error) {
    if (!(error instanceof IdentifierError)) throw error;
    return undefined;
  }
}

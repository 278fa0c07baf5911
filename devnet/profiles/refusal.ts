/** Refusals as answers. */
import type { NodeRefusal } from "./profile.ts";
import type { Answer, Call } from "./rpc_behaviour.ts";

/** Numbers for the placeholders of a refusal's text. */
export type RefusalNumbers = Readonly<Record<string, bigint | number | string>>;

/** The refusal as answer to one call. @throws {TypeError} for one that is no JSON-RPC error. */
export function refuseCall(call: Call, refusal: NodeRefusal, numbers: RefusalNumbers = {}): Answer {
  if (refusal.error === undefined) throw new RefusedRequest(refusal, numbers);
  return { id: call.id, error: filled(refusal.error, numbers) };
}

/** The whole request is refused: thrown by whoever finds out while calls are answered. */
export class RefusedRequest extends Error {
  override readonly name = "RefusedRequest";
  /** @param isUnread the node has not read the request, so that its answer has no id */
  constructor(
    readonly refusal: NodeRefusal,
    readonly numbers: RefusalNumbers = {},
    readonly isUnread: boolean = false,
  ) {
    super(`Refused on purpose with ${refusal.status ?? 200}`);
  }
}

/** What goes over the wire. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The refusal of a whole request. */
export function refuseRequest(
  { refusal, numbers, isUnread }: Pick<RefusedRequest, "refusal" | "numbers" | "isUnread">,
  calls: readonly Call[],
  isBatch: boolean,
): Reply {
  const status = refusal.status ?? 200;
  if (refusal.error === undefined) {
    const type = /^\s*</.test(refusal.page ?? "") ? "text/html" : "text/plain";
    return { status, headers: { "content-type": type, ...refusal.headers }, body: refusal.page ?? "" };
  }
  const error = filled(refusal.error, numbers);
  const one = (id: unknown): unknown => ({ jsonrpc: "2.0", id, error });
  const single = (): unknown => one(isUnread ? null : calls[0]?.id ?? null);
  const body = isBatch ? refusedBatch(refusal, calls, one) : single();
  return {
    status,
    headers: { "content-type": "application/json", ...refusal.headers },
    body: JSON.stringify(body),
  };
}

function refusedBatch(
  { asBatch = "object" }: NodeRefusal,
  calls: readonly Call[],
  one: (id: unknown) => unknown,
): unknown {
  switch (asBatch) {
    case "object":
      return one(null);
    case "each":
      return calls.map(({ id }) => one(id));
    case "first":
      return calls.slice(0, 1).map(({ id }) => one(id));
  }
}

function filled(error: NonNullable<NodeRefusal["error"]>, numbers: RefusalNumbers): NodeRefusal["error"] {
  const fill = (text: string): string =>
    text.replaceAll(
      /\{(\w+)\}/g,
      (whole, name: string) => numbers[name] === undefined ? whole : `${numbers[name]}`,
    );
  const { code, message, data } = error;
  return {
    code,
    message: fill(message),
    ...data === undefined ? {} : { data: typeof data === "string" ? fill(data) : data },
  };
}

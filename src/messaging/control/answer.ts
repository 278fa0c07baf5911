/** The running relayer's side: answers the requests that arrive at its socket. */
import type { ControlSocket } from "../../core/runtime/control_socket.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { LedgerFault } from "../ledger/ledger.ts";
import { type OperationContext, OperationRefusal } from "./operation.ts";
import { operations } from "./operations.ts";
import { requestShape } from "./protocol.ts";

/** Creates the worker that answers at the socket. */
export function controlWorker(context: OperationContext, socket: ControlSocket): Worker {
  return {
    name: "control",
    run: (signal) => socket.serve((line, gone) => answerRequest(context, line, gone), signal),
  };
}

/** Answers one request; whatever is wrong with it becomes a text. */
export async function answerRequest(
  context: OperationContext,
  line: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    const output = await runRequest(context, line, signal);
    return JSON.stringify({ ok: true, output });
  } catch (error) {
    return JSON.stringify({ ok: false, text: explain(context, error) });
  }
}

async function runRequest(context: OperationContext, line: string, signal: AbortSignal): Promise<unknown> {
  const request = requestShape.safeParse(parseJson(line));
  if (!request.success) throw new OperationRefusal("The request is not one line of JSON of the known form.");
  const { operation: name, input } = request.data;
  const operation = operations.get(name);
  if (operation === undefined) {
    throw new OperationRefusal(
      `The running relayer does not know "${name}": it is another version of this program. Restart it.`,
    );
  }
  const level = operation.needs === "read" ? "debug" : "info";
  context.log[level]("operator_request", { operation: name, input });
  return await operation.answer(context, input, signal);
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function explain({ log }: OperationContext, error: unknown): string {
  if (error instanceof OperationRefusal || error instanceof LedgerFault) return error.message;
  log.warn("control_request_failed", { error });
  return `It failed: ${error instanceof Error ? error.message : String(error)}`;
}

/** The running relayer's side: answers the requests that arrive at its socket. */
import { answerRequest } from "../../core/commands/control_operation.ts";
import type { ControlSocket } from "../../core/runtime/control_socket.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { LedgerFault } from "../ledger/ledger.ts";
import type { OperationContext } from "./operation.ts";
import { operations } from "./operations.ts";

/** Creates the worker that answers at the socket. */
export function controlWorker(context: OperationContext, socket: ControlSocket): Worker {
  return {
    name: "control",
    run: (signal) => socket.serve((line, gone) => answerLine(context, line, gone), signal),
  };
}

/** Answers one request; whatever is wrong with it becomes a text. */
export function answerLine(context: OperationContext, line: string, signal: AbortSignal): Promise<string> {
  const isExpected = (error: unknown): boolean => error instanceof LedgerFault;
  return answerRequest({ operations, context, isExpected }, line, signal);
}

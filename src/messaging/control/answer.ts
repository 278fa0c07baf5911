/** The running relayer's side: answers the requests that arrive at its socket. */
import {
  answerRequest,
  type NamedOperation,
  toNamedOperation,
} from "../../core/commands/control_operation.ts";
import type { ControlSocket } from "../../core/runtime/control_socket.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { LedgerFault } from "../ledger/ledger.ts";
import type { OperationContext } from "./operation.ts";
import { logLevelOperation } from "../../core/commands/control_operation.ts";
import { accumulateFeesOperation } from "./operations/accumulate_fees.ts";
import { holdOperation, releaseOperation } from "./operations/release.ts";
import { listOperation, retryOperation } from "./operations/list.ts";
import { profitOperation } from "./operations/profit.ts";
import { relayOperation } from "./operations/relay.ts";
import { scanOperation } from "./operations/scan.ts";
import { showOperation } from "./operations/show.ts";
import { statusOperation } from "./operations/status.ts";

/** All operations. */
const operations: readonly NamedOperation<OperationContext>[] = [
  toNamedOperation(accumulateFeesOperation),
  toNamedOperation(holdOperation),
  toNamedOperation(listOperation),
  toNamedOperation(logLevelOperation),
  toNamedOperation(profitOperation),
  toNamedOperation(relayOperation),
  toNamedOperation(releaseOperation),
  toNamedOperation(retryOperation),
  toNamedOperation(scanOperation),
  toNamedOperation(showOperation),
  toNamedOperation(statusOperation),
];

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

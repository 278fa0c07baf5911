/** The running consensus relayer's side: answers the requests that arrive at its socket. */
import { answerRequest } from "../../core/commands/control_operation.ts";
import type { ControlSocket } from "../../core/runtime/control_socket.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import { type ConsensusControl, operations } from "./operations.ts";

/** Creates the worker that answers at the socket. */
export function consensusControlWorker(context: ConsensusControl, socket: ControlSocket): Worker {
  return {
    name: "control",
    run: (signal) => socket.serve((line, gone) => answerRequest({ operations, context }, line, gone), signal),
  };
}

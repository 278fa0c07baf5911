/** Every operation of the running consensus relayer. */
import {
  type ControlOperation,
  type LevelSetter,
  logLevelOperation,
  type NamedOperation,
  stateMachineShape,
  toNamedOperation,
} from "../../core/commands/control_operation.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { type ConsensusStatus, consensusStatus } from "../status/consensus_status.ts";
import { type Proven, provenShape } from "../proven.ts";
import { proveNow, type ProveRequest, type Proving } from "./prove_now.ts";
import * as z from "zod";

/** Context of the operations. */
export interface ConsensusControl extends LevelSetter {
  readonly log: Log;
  readonly proving: Proving;
  /** What the status page shows; `undefined`: nobody watches. */
  readonly status: () => ConsensusStatus | undefined;
}

const noInput = z.strictObject({});

/** `status`: what the status page shows. */
export const consensusStatusOperation: ControlOperation<
  ConsensusControl,
  z.output<typeof noInput>,
  ConsensusStatus
> = {
  name: "status",
  needs: "running",
  input: noInput,
  output: consensusStatus,
  run: ({ status }) => {
    const found = status();
    if (found === undefined) throw new Error("Nobody watches");
    return found;
  },
};

/** `prove`: one light client is advanced now. */
export const proveOperation: ControlOperation<ConsensusControl, ProveRequest, Proven> = {
  name: "prove",
  needs: "chains",
  input: z.strictObject({
    chain: stateMachineShape,
    to: stateMachineShape.optional(),
    isDryRun: z.boolean(),
  }),
  output: provenShape,
  run: ({ proving }, request, signal) => proveNow(proving, request, signal),
};

/** All operations. */
export const operations: readonly NamedOperation<ConsensusControl>[] = [
  toNamedOperation(consensusStatusOperation),
  toNamedOperation(logLevelOperation),
  toNamedOperation(proveOperation),
];

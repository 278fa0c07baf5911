/** Every operation. A new one is a file of its own and one line here. */
import type { NamedOperation } from "../../core/commands/control_operation.ts";
import { logLevelOperation, toNamedOperation } from "../../core/commands/control_operation.ts";
import type { OperationContext } from "./operation.ts";
import { accumulateFeesOperation } from "./operations/accumulate_fees.ts";
import { holdOperation } from "./operations/hold.ts";
import { listOperation } from "./operations/list.ts";
import { profitOperation } from "./operations/profit.ts";
import { relayOperation } from "./operations/relay.ts";
import { releaseOperation } from "./operations/release.ts";
import { retryOperation } from "./operations/retry.ts";
import { scanOperation } from "./operations/scan.ts";
import { showOperation } from "./operations/show.ts";
import { statusOperation } from "./operations/status.ts";

/** All operations. */
export const operations: readonly NamedOperation<OperationContext>[] = [
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

/** `status`: what the status page shows. */
import { type RelayStatus, relayStatus } from "../../status/relay_status.ts";
import type { Operation } from "../operation.ts";
import * as z from "zod";

const input = z.strictObject({});

/** The operation. */
export const statusOperation: Operation<z.output<typeof input>, RelayStatus> = {
  name: "status",
  needs: "read",
  input,
  output: relayStatus,
  run: (context) => context.status(),
};

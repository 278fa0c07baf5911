/** `status`: what the status page shows. */
import type { RelayStatus } from "../../status/relay_status.ts";
import type { Operation } from "../operation.ts";
import * as z from "zod";

const input = z.strictObject({});

/** The snapshot is plain data of this program's own making: it is only told apart from something else. */
const output = z.custom<RelayStatus>((value) =>
  typeof value === "object" && value !== null && "program" in value && value.program === "causeway" &&
  "legs" in value && Array.isArray(value.legs)
);

/** The operation. */
export const statusOperation: Operation<z.output<typeof input>, RelayStatus> = {
  name: "status",
  needs: "read",
  input,
  output,
  run: (context) => context.status(),
};

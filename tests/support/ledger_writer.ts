/**
 * A program that writes to a ledger until it is killed: `ledger_writer.ts <path> <first number>`. Each number stands
 * for a message with its submission and cursor, written in one transaction and then acknowledged on standard output.
 */
import { hashOf, hub, itemOf, newMessage, newSubmission } from "./ledger_rows.ts";
import { openLedger } from "./ledger.ts";

const [path = "", first = "1"] = Deno.args;
const ledger = openLedger(path, { clock: { now: () => Date.now() } });
const encoder = new TextEncoder();
for (let number = Number(first);; number++) {
  ledger.transaction(() => {
    const message = newMessage(number, { encoded: new Uint8Array(500), state: "ready" });
    ledger.messages.record(message);
    ledger.messages.transition(hashOf(number), hub, { to: "submitted" });
    ledger.submissions.record({
      submission: newSubmission(number),
      kind: "delivery",
      items: [itemOf(number)],
    });
    ledger.cursors.advance(message.source, message.target, BigInt(number));
  });
  Deno.stdout.writeSync(encoder.encode(`${number}\n`));
}

/** Conversion between messages and rows of the ledger. */
import type { MessageRow, NewMessage } from "../ledger/ledger.ts";
import { toMessage } from "../../core/ismp/commitment.ts";
import type { Message } from "../../core/ismp/message.ts";
import { type Leaf, leafCodec } from "../../core/ismp/request.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { decodeStrict } from "../../core/encoding/scale.ts";
import { toReceiptKey, toRequest } from "./decisions/route.ts";

function leafOf(message: Message): Leaf {
  switch (message.kind) {
    case "post":
      return { tag: "Request", value: { tag: "Post", value: message.request } };
    case "get":
      return { tag: "Request", value: { tag: "Get", value: message.request } };
    case "getResponse":
      return { tag: "GetResponse", value: message.response };
  }
}

/** Creates the row of a message that a leg has just read at `seenAtHeight` of its source. */
export function toMessageRow(
  message: Message,
  leg: { readonly source: StateMachine; readonly target: StateMachine },
  seenAtHeight: bigint,
  decided: Pick<NewMessage, "state" | "reason" | "nextAttemptAtMs">,
): NewMessage {
  const request = toRequest(message);
  return {
    commitment: message.commitment,
    target: leg.target,
    source: leg.source,
    kind: message.kind,
    requestCommitment: toReceiptKey(message),
    requestSource: request.source,
    requestDest: request.dest,
    module: request.from,
    nonce: request.nonce,
    timeoutSec: request.timeoutTimestampSec,
    seenAtHeight,
    encoded: leafCodec.enc(leafOf(message)),
    ...decided,
  };
}

/**
 * Parses the message of a row.
 * @throws {Error} when the stored bytes are not that message: the row is corrupt.
 */
export function parseRow(row: Pick<MessageRow, "commitment" | "encoded">): Message {
  const message = toMessage(decodeStrict(leafCodec, row.encoded, "Leaf"));
  if (message.commitment !== row.commitment) {
    throw new Error(`Row ${row.commitment} holds message ${message.commitment}`);
  }
  return message;
}

/** `/messages.json`: messages for the dashboards of those who send them, page by page. */
import * as z from "zod";
import type { ChainNames } from "../../core/config/chain_names.ts";
import { QueryFault } from "../../core/telemetry/http/status_server.ts";
import { toMessageView } from "../commands/message_view.ts";
import { type Ledger, messageStates } from "../ledger/ledger.ts";

const count = z.coerce.number().int().min(1);

const shape = z.strictObject({
  state: z.enum(messageStates).optional(),
  /** Of the request: the section of the configuration or the state machine. */
  source: z.string().optional(),
  dest: z.string().optional(),
  limit: count.max(1_000).default(100),
  /** `next` of the page before. */
  before: count.optional(),
});

/** Formats a page as JSON, most recently found first. @throws {QueryFault} */
export function pageMessages(
  { ledger, names }: { readonly ledger: Pick<Ledger, "messages">; readonly names: ChainNames },
  query: URLSearchParams,
): string {
  const parsed = shape.safeParse(Object.fromEntries(query));
  if (!parsed.success) throw new QueryFault(z.prettifyError(parsed.error));
  const { state, source, dest, limit, before } = parsed.data;
  const identify = (chain: string | undefined): string | undefined => chain && names.identify(chain);
  const { rows, next } = ledger.messages.page({
    ...state && { states: [state] },
    requestSource: identify(source),
    requestDest: identify(dest),
  }, { limit, before });
  return `${JSON.stringify({ messages: rows.map(toMessageView), next }, null, 2)}\n`;
}

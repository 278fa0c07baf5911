/** What the status server of a program answers, without a network. */
import { createStatusHandler, type StatusSources } from "../../src/core/telemetry/http/status_server.ts";

/** Asks for a path. */
export type ReadStatus = (path: string) => Promise<Response>;

/** Makes what asks; a source that fails fails the test. */
export function readerOf(sources: StatusSources): ReadStatus {
  const handle = createStatusHandler(sources, (error) => {
    throw error;
  });
  return async (path) => await handle({ method: "GET", url: `http://localhost${path}` });
}

/** Status of /readyz, and the codes of its reasons. */
export async function readReasons(get: ReadStatus): Promise<readonly [number, readonly string[]]> {
  const answer = await get("/readyz");
  const { reasons }: { readonly reasons: readonly { readonly code: string }[] } = await answer.json();
  return [answer.status, reasons.map(({ code }) => code)];
}

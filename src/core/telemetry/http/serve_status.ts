/** Runs a program's work with the status server around it, where `--listen` asks for one. */
import { type ExitCode, exitCodes } from "../../runtime/exit_codes.ts";
import type { Log } from "../log.ts";
import { ListenFault, type OpenHttpListener } from "./http_listener.ts";
import { formatAddress, type ListenAddress } from "./listen_address.ts";
import { createStatusHandler, type StatusSources } from "./status_server.ts";

/** Status server of a program. */
export interface StatusServer {
  readonly openListener: OpenHttpListener;
  readonly log: Log;
  /** `--listen`; `undefined`: nothing is served. */
  readonly address: ListenAddress | undefined;
  /** `--listen-name`: names besides `localhost` under which other programs ask. */
  readonly names?: readonly string[] | undefined;
  readonly sources: StatusSources;
}

const WHAT_HAPPENED: Readonly<Record<ListenFault["code"], string>> = {
  in_use: "another process listens there already",
  not_allowed: "this user may not listen there; ports below 1024 need privileges",
  not_available: "this machine has no such address",
};

/** Serves while `work` runs; does not start it when the address cannot be had. */
export async function serveStatus(server: StatusServer, work: () => Promise<ExitCode>): Promise<ExitCode> {
  const { address, log, names, openListener, sources } = server;
  if (address === undefined) return await work();
  const handle = createStatusHandler(sources, (error) => log.error("status_unavailable", { error }), names);
  try {
    const onFault = (error: unknown): void =>
      log.warn("status_server_interrupted", { address: formatAddress(address), error });
    const listener = openListener(address, handle, onFault);
    log.info("status_server_started", { address: formatAddress({ ...address, port: listener.port }) });
    try {
      return await work();
    } finally {
      await listener.close();
    }
  } catch (fault) {
    if (!(fault instanceof ListenFault)) throw fault;
    const explanation = WHAT_HAPPENED[fault.code];
    log.error("status_server_failed", { address: formatAddress(address), code: fault.code, explanation });
    return exitCodes.failed;
  }
}

/**
 * Session shared by the long-running relayer and the one-off commands: opens the database, connects and checks the
 * chains, and closes everything in any case.
 */
import type { HubChain } from "../core/chains/hub.ts";
import type { Chain } from "../core/chains/port.ts";
import { ChainGate, type GateDeps, joinRows, openGates } from "../core/chains/check.ts";
import type { CheckBoard } from "../core/checks/check_board.ts";
import type {
  ChainConfig,
  EvmChainConfig,
  MessagingConfig,
  SubstrateChainConfig,
  SubstrateEvmChainConfig,
} from "./config/schema.ts";
import { type Ledger, LedgerFault } from "./ledger/ledger.ts";
import type { Fetch } from "../core/rpc/http_exchange.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { isAbortOf } from "../core/runtime/linked_abort.ts";
import type { Randomness } from "../core/runtime/clock.ts";
import type { RelayWatch } from "./status/relay_watch.ts";
import type { Log, LogLevel } from "../core/telemetry/log.ts";
import type { CheckRow } from "../core/checks/check_row.ts";
import type { EvmChain } from "../core/chains/evm/evm_chain.ts";
import { fromHex } from "../core/encoding/bytes.ts";

/** Adapters of the hub and of the chains of the configuration. */
export interface Connections {
  readonly hub: HubChain;
  readonly chains: readonly ConfiguredChain[];
}

/** Environment of the relayer. */
export interface RunDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  readonly openLedger: () => Ledger;
  /** Creates adapters without connecting: that happens at the first request. */
  readonly connect: (config: MessagingConfig) => Connections;
  /** For prices of native tokens. */
  readonly fetch: Fetch;
  /** Changes the minimum level that is logged; absent where it cannot be changed. */
  readonly setLogLevel?: ((level: LogLevel) => void) | undefined;
  /** Receives the results of the running relayer's checks; absent: it makes none after its start. */
  readonly board?: CheckBoard | undefined;
  /** Row about the configuration that was read last; absent: none is checked. */
  readonly configured?: (() => CheckRow) | undefined;
  /** Watches the session and its workers, on which relaying does not depend; absent: nobody watches. */
  readonly watch?: RelayWatch | undefined;
}

/** Open database, and the chains with their gates. */
export interface Session {
  readonly ledger: Ledger;
  readonly hub: HubChain;
  readonly hubGate: ChainGate;
  readonly chains: readonly GatedChain[];
}

/** One run of a program or command. */
export interface ProgramRun<Deps = RunDeps> {
  readonly deps: Deps;
  readonly config: MessagingConfig;
  /** Aborted when the program is asked to stop. */
  readonly signal: AbortSignal;
}

/**
 * Runs a command in a session; an abort and faults of the database become exit statuses. It ends at once without the
 * hub; other chains that do not pass their checks are left out until they do.
 */
export function runSession(
  run: ProgramRun,
  work: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  return withLedger(run, async (ledger) => {
    await using session = await openSession(run, ledger);
    return session.hubGate.isOpen ? await work(session) : exitCodes.failed;
  });
}

/** As {@link runSession}, for work that only needs the database. */
export async function withLedger(
  { deps, config, signal }: ProgramRun<Pick<RunDeps, "log" | "openLedger">>,
  work: (ledger: Ledger) => Promise<ExitCode>,
): Promise<ExitCode> {
  let ledger: Ledger | undefined;
  try {
    ledger = deps.openLedger();
    ledger.bindHub(config.hub.stateMachine);
    return await work(ledger);
  } catch (error) {
    if (isAbortOf(signal, error)) return exitCodes.ok;
    if (!(error instanceof LedgerFault)) throw error;
    deps.log.error("database_unusable", { code: error.code, explanation: error.message });
    return exitCodes.failed;
  } finally {
    ledger?.close();
  }
}

/**
 * Connects the chains, and checks those that are left out again until it is disposed of, which closes the connections.
 * @throws the signal's reason
 */
export async function openSession(
  { deps, config, signal }: ProgramRun,
  ledger: Ledger,
): Promise<Session & AsyncDisposable> {
  const { hub, chains } = deps.connect(config);
  const { hubGate, gated } = createGates(deps, { hub, chains }, `[${config.hub.section}].rpc_ws`);
  await using closing = new AsyncDisposableStack();
  closing.defer(async () => {
    await Promise.allSettled([hub, ...chains.map(({ chain }) => chain)].map((chain) => chain.close()));
  });
  closing.use(await openGates(deps, [hubGate, ...gated.map(({ gate }) => gate)], signal));
  const open = closing.move();
  return {
    ledger,
    hub,
    hubGate,
    chains: gated,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Configured chain with its adapter. */
export type ConfiguredChain =
  | { readonly config: EvmChainConfig | SubstrateEvmChainConfig; readonly chain: EvmChain }
  | { readonly config: SubstrateChainConfig; readonly chain: Chain };

/** Configured chain as its checks see it. */
export interface ChainToCheck {
  readonly config: ChainConfig;
  readonly chain: Chain;
}

/** Configured chain, and the gate at which its workers wait. */
export interface GatedChain {
  readonly entry: ConfiguredChain;
  readonly gate: ChainGate;
}

/** Hub as the checks see it. */
export type CheckingHub = Chain & Pick<HubChain, "counterparties">;

/** Creates the gates of the hub and of every chain, which waits for the hub's. @param hubSetting key of its endpoint */
export function createGates<Entry extends ChainToCheck>(
  deps: GateDeps,
  { hub, chains }: { readonly hub: CheckingHub; readonly chains: readonly Entry[] },
  hubSetting: string,
): { readonly hubGate: ChainGate; readonly gated: readonly { entry: Entry; gate: ChainGate }[] } {
  const hubGate = new ChainGate(deps, {
    name: hub.id.stateMachine,
    hubSetting,
    check: (signal) => hub.check(hub.id, signal),
  });
  const gated = chains.map((entry) => ({
    entry,
    gate: new ChainGate(deps, {
      name: entry.chain.id.stateMachine,
      behind: hubGate,
      check: (signal) => checkChain(hub, entry, signal),
    }),
  }));
  return { hubGate, gated };
}

/** Checks a chain, and what the hub stores of it. */
function checkChain(
  hub: CheckingHub,
  { config, chain }: ChainToCheck,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const host = config.type === "substrate" ? {} : { ismpHost: fromHex(config.ismpHost) };
  return joinRows(
    chain.check(hub.id, signal),
    hub.counterparties.checkCounterparty({ id: chain.id, ...host }, signal),
  );
}

/**
 * The checks of the messaging relayer: those of its chains, what the hub knows of them, accounts, prices, database and
 * machine. `check` and the running relayer make the same ones. Start reading at {@link planChecks}.
 */
import type { ChainChecks } from "../../core/chains/chain_checks.ts";
import { judgeKnownHeight, toFindingRows, whileReachable } from "../../core/chains/chain_checks.ts";
import type { HubChain } from "../../core/chains/hub.ts";
import type { AccountNonces } from "../../core/chains/replacement.ts";
import type { CounterpartyView } from "../../core/chains/reads.ts";
import { type CheckJob, type CheckRow, judgeMachine, MACHINE } from "../../core/checks/check_row.ts";
import { fromHex, toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Fetch } from "../../core/rpc/http.ts";
import type { MachineFacts } from "../../core/runtime/machine_facts.ts";
import type { ChainConfig, MessagingConfig } from "../config/schema.ts";
import { listPriceQuotes } from "../../core/pricing/price_quotes.ts";
import type { ConfiguredChain } from "../startup.ts";
import { describeSigner, judgeNonces, type KnownNonces } from "./account_rows.ts";
import { askQuotes, judgeQuotes } from "./price_rows.ts";

/** What is checked. */
export interface CheckSubjects {
  readonly config: MessagingConfig;
  readonly hub: HubChain;
  readonly chains: readonly ConfiguredChain[];
  /** For price sources. */
  readonly fetch: Fetch;
  readonly machine: MachineFacts;
  /** Rows about the database. */
  readonly databaseRows: () => readonly CheckRow[];
  /** What the database knows of an account. */
  readonly knownNonces: (chain: StateMachine, account: string) => KnownNonces;
}

/** Lists the checks of one round: the hub, the chains in the order of the file, and the machine. */
export function planChecks(subjects: CheckSubjects): readonly CheckJob[] {
  const { hub, chains, machine, config } = subjects;
  const ofHub = hub.planChecks({ hub: hub.id, fetchKnownHeight: () => Promise.resolve(undefined) });
  const machineJob: CheckJob = {
    chain: MACHINE,
    check: "open_files",
    run: () => Promise.resolve([...judgeMachine(machine), ...subjects.databaseRows()]),
  };
  const signer: CheckJob = {
    chain: hub.id.stateMachine,
    check: "signer",
    run: () => Promise.resolve(config.hub.signer === undefined ? [] : [describeAccount(hub)]),
  };
  return [
    ...ofHub.jobs,
    signer,
    ...chains.flatMap((entry) => planChain(subjects, entry, ofHub.isReachable)),
    machineJob,
  ];
}

/** Lists the checks of one chain, and of what the hub knows of it. */
function planChain(
  subjects: CheckSubjects,
  entry: ConfiguredChain,
  isHubReachable: (signal: AbortSignal) => Promise<boolean>,
): readonly CheckJob[] {
  const { hub } = subjects;
  const { chain } = entry;
  const { id } = chain;
  const name = id.stateMachine;
  let view: Promise<CounterpartyView> | undefined;
  const fetchView = (signal: AbortSignal): Promise<CounterpartyView> =>
    view ??= hub.reads.fetchView(id, signal);
  const fetchKnownHeight = async (signal: AbortSignal): Promise<bigint | undefined> => {
    if (!await isHubReachable(signal)) return undefined;
    const { height } = await fetchView(signal);
    return height === 0n ? undefined : height;
  };
  const account = chain.relayer && toHex(chain.relayer);
  const judgeOwn = account === undefined
    ? undefined
    : (nonces: AccountNonces): CheckRow =>
      judgeNonces({ chain: name, account }, nonces, subjects.knownNonces(name, account));
  const planned = chain.planChecks({
    hub: hub.id,
    fetchKnownHeight,
    signsMessages: true,
    judgeNonces: judgeOwn,
  });
  const { jobs, isReachable } = planned;
  const viewJob = whileReachable(isHubReachable, {
    chain: name,
    check: "hub_view",
    run: async (signal) => {
      const known = await fetchView(signal);
      const at = { id, height: known.height };
      const storedSec = known.height === 0n ? undefined : await hub.reads.fetchUpdateTime(at, signal);
      const names = { chain: name, observer: hub.id.stateMachine, id: id.consensusStateId };
      return [judgeKnownHeight(names, { ...known, storedSec })];
    },
  });
  const counterpartyJob = whileReachable(isHubReachable, {
    chain: name,
    check: "hub_view",
    run: async (signal) => {
      const host = entry.config.type === "substrate" ? {} : { ismpHost: fromHex(entry.config.ismpHost) };
      return toFindingRows(name, await hub.counterparties.checkCounterparty({ id, ...host }, signal));
    },
  });
  const signer: CheckJob = {
    chain: name,
    check: "signer",
    run: () => Promise.resolve([describeAccount(chain)]),
  };
  // The adapter of an EVM chain checks its signer.
  const own = entry.config.type === "substrate" ? [whileReachable(isReachable, signer)] : [];
  return [...jobs, viewJob, counterpartyJob, ...own, ...planPrices(subjects, entry, planned)];
}

/** Number of URLs in the configuration. */
export function countEndpoints({ chains }: Pick<MessagingConfig, "chains">): number {
  return chains.reduce((sum, chain) => sum + countUrls(chain), 1);
}

/** URLs of a chain's section. */
function countUrls(chain: ChainConfig): number {
  switch (chain.type) {
    case "evm":
      return chain.rpcUrls.length;
    case "substrate_evm":
      return chain.rpcUrls.length + 1;
    case "substrate":
      return 1;
  }
}

function planPrices(
  subjects: CheckSubjects,
  { config }: ConfiguredChain,
  { fetchRouterPrice }: ChainChecks,
): readonly CheckJob[] {
  if (config.type === "substrate" || config.inboundOnly || fetchRouterPrice === undefined) return [];
  const hub = subjects.hub.id.stateMachine;
  const quotes = listPriceQuotes({ ...subjects, config, router: { fetchRouterPrice }, hub });
  return [{
    chain: config.stateMachine,
    check: "price",
    run: async (signal) => judgeQuotes(config.stateMachine, await askQuotes(quotes, signal)),
  }];
}

function describeAccount(chain: Pick<HubChain, "id" | "relayer">): CheckRow {
  return describeSigner(chain.id.stateMachine, chain.relayer && toHex(chain.relayer));
}

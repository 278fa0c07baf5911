/**
 * The checks of the messaging relayer: those of its chains, what the hub knows of them, accounts, prices, database and
 * machine. `check` and the running relayer make the same ones. Start reading at {@link planChecks}.
 */
import type { ChainCheckContext } from "../../core/chains/chain_checks.ts";
import { judgeKnownHeight } from "../../core/chains/chain_checks.ts";
import type { HubChain } from "../../core/chains/hub.ts";
import type { AccountNonces } from "../../core/chains/replacement.ts";
import type { CounterpartyView } from "../../core/chains/reads.ts";
import { about, type CheckJob, type CheckRow, knownRows } from "../../core/checks/check_row.ts";
import { fromHex, toHex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Fetch } from "../../core/rpc/http_exchange.ts";
import type { MessagingConfig } from "../config/schema.ts";
import { listPriceQuotes } from "../../core/pricing/price_source.ts";
import type { ConfiguredChain } from "../session.ts";
import { formatDecimal } from "../../core/encoding/bytes.ts";
import type { PriceFailureCode } from "../../core/evm/native_price.ts";
import type { PriceQuote } from "../../core/pricing/price_quote.ts";

/** What is checked. */
export interface CheckSubjects {
  readonly config: MessagingConfig;
  readonly hub: HubChain;
  readonly chains: readonly ConfiguredChain[];
  /** For price sources. */
  readonly fetch: Fetch;
  /** Row about the configuration that was read last; absent: none is checked. */
  readonly configured?: (() => CheckRow) | undefined;
  /** Rows about the database. */
  readonly databaseRows: readonly CheckRow[];
  readonly findNonce: (chain: StateMachine, account: string) => KnownNonce;
}

/** Lists the checks of one round: the hub, the chains in the order of the file, and the machine. */
export function planChecks(subjects: CheckSubjects): readonly CheckJob[] {
  const { hub, chains, configured, config } = subjects;
  return [
    ...hub.planChecks({ hub: hub.id, fetchKnownHeight: () => Promise.resolve(undefined) }),
    ...knownRows(config.hub.signer === undefined ? [] : [describeAccount(hub)]),
    ...chains.flatMap((entry) => planChain(subjects, entry)),
    ...knownRows([...configured === undefined ? [] : [configured()], ...subjects.databaseRows]),
  ];
}

/** Lists the checks of one chain, and of what the hub knows of it. */
function planChain(
  subjects: CheckSubjects,
  entry: ConfiguredChain,
): readonly CheckJob[] {
  const { hub } = subjects;
  const { chain } = entry;
  const { id } = chain;
  const name = id.stateMachine;
  let view: Promise<CounterpartyView> | undefined;
  const fetchView = (signal: AbortSignal): Promise<CounterpartyView> =>
    view ??= hub.reads.fetchView(id, signal);
  const fetchKnownHeight = async (signal: AbortSignal): Promise<bigint | undefined> => {
    const { height } = await fetchView(signal);
    return height === 0n ? undefined : height;
  };
  const account = chain.relayer && toHex(chain.relayer);
  const judgeOwn = account === undefined
    ? undefined
    : (nonces: AccountNonces): CheckRow =>
      judgeNonces({ chain: name, account }, nonces, subjects.findNonce(name, account));
  const planned = chain.planChecks({
    hub: hub.id,
    fetchKnownHeight,
    judgeNonces: judgeOwn,
    checkPrices: priceCheck(subjects, entry),
  });
  const viewJob: CheckJob = {
    chain: name,
    check: "hub_view",
    run: async (signal) => {
      const host = entry.config.type === "substrate" ? {} : { ismpHost: fromHex(entry.config.ismpHost) };
      const [rows, known] = await Promise.all([
        hub.counterparties.checkCounterparty({ id, ...host }, signal),
        fetchView(signal),
      ]);
      if (rows.some(({ check }) => check === "chain_unknown")) return rows;
      const at = { id, height: known.height };
      const storedSec = known.height === 0n ? undefined : await hub.reads.fetchUpdateTime(at, signal);
      const names = { chain: name, observer: hub.id.stateMachine, id: id.consensusStateId };
      return [judgeKnownHeight(names, { ...known, storedSec }), ...rows];
    },
  };
  // The adapter of an EVM chain checks its signer.
  const own = knownRows(entry.config.type === "substrate" ? [describeAccount(chain)] : []);
  return [...planned, viewJob, ...own];
}

/** Asks the sources of a chain's price; `undefined`: nothing is sent to the chain, or that is free. */
function priceCheck(
  subjects: CheckSubjects,
  { config }: ConfiguredChain,
): ChainCheckContext["checkPrices"] {
  if (config.type === "substrate" || config.inboundOnly) return undefined;
  const hub = subjects.hub.id.stateMachine;
  return (router, signal) =>
    checkQuotes(config.stateMachine, listPriceQuotes({ ...subjects, config, router, hub }), signal);
}

/** Asks every source; rows are in the order in which the relayer asks. */
async function checkQuotes(
  chain: string,
  quotes: readonly PriceQuote[],
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const asked = await Promise.all(
    quotes.map(async ({ origin, ask }) => ({ origin, quotation: await ask(signal) })),
  );
  const hasPrice = asked.some(({ quotation }) => quotation.kind === "price");
  return asked.map(({ origin, quotation }): CheckRow => {
    const at = about(chain, origin);
    if (quotation.kind === "price") {
      const dollars = formatDecimal(quotation.price27 / 10n ** 21n, 6);
      return at.ok("price", `$${dollars} per native token`);
    }
    const consequence = hasPrice ? "the other source is used" : "no delivery counts as profitable";
    const found = `no price: ${quotation.code}; ${consequence}`;
    const advice = priceAdvice[quotation.code] ??
      "check the connection to the source, or set etherscan_api_key";
    return at[hasPrice ? "warning" : "failed"]("price", found, advice);
  });
}

/** What helps against a failure, where it is more than a connection or a key. */
const priceAdvice: Partial<Record<PriceFailureCode, string>> = {
  bad_key: "correct etherscan_api_key",
  throttled: "use an etherscan_api_key of your own for each relayer",
  no_pool: "set etherscan_api_key: the host's router does not price this chain's token",
};

/**
 * Highest nonce of an account that a transaction of this relayer holds or has used; a text: why the database does not know
 * it.
 */
export type KnownNonce = bigint | string;

/** Row about the nonces of an account. */
function judgeNonces(
  { chain, account }: { readonly chain: string; readonly account: string },
  nonces: AccountNonces,
  known: KnownNonce,
): CheckRow {
  const { ok, warning } = about(chain);
  const waiting = nonces.pending - nonces.latest;
  const state = waiting > 0n
    ? `nonce ${nonces.latest}, ${waiting} transactions wait`
    : `nonce ${nonces.latest}`;
  if (typeof known === "string") return ok("nonce", `${state}; ${known}`);
  const foreign = nonces.latest - known - 1n;
  if (foreign <= 0n) return ok("nonce", `${state}, all from this relayer`);
  const found = `${state}: ${foreign} transactions of ${account} are not in the database of this relayer`;
  const advice = "give this relayer an account of its own: deliveries wait for nonces that others use";
  return warning("nonce", found, advice);
}

/** Row about a chain's account. Keys of addresses with a leading zero byte are refused when the file is read. */
function describeAccount(
  { id: { stateMachine: chain }, relayer }: Pick<HubChain, "id" | "relayer">,
): CheckRow {
  const found = relayer === undefined
    ? "no signer: deliveries are unsigned, and no fees of this chain are claimed"
    : `${toHex(relayer)} signs`;
  return about(chain).ok("signer", found);
}

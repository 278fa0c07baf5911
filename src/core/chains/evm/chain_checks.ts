/**
 * Checks of an EVM chain: of its endpoints, its host, what each side knows of the other, and the account. Source:
 * docs/protocol/messaging.md section 4.
 */
import { onError } from "../../encoding/coded_error.ts";
import { about, type CheckJob, type CheckRow, REQUEST_TIMEOUT_MS } from "../../checks/check_row.ts";
import { formatDecimal } from "../../encoding/bytes.ts";
import { signedMessage } from "../../ismp/signed_messages.ts";
import {
  type StateMachine,
  type StateMachineId,
  stateMachineIdKey,
  toParaId,
} from "../../ismp/state_machine.ts";
import { type ChainCheckContext, formatAge } from "../chain_checks.ts";
import type { HostConsensusView } from "../hub_client.ts";
import { readOnlyAccount, type SigningAccount } from "./account.ts";
import { type ChainIdReport, checkEndpoints, judgeChainIds } from "./endpoint_checks.ts";
import { EvmContext } from "./evm_context.ts";
import { EvmGas } from "./fees.ts";
import { batchCallSupport, EvmHubClient, isSupported } from "./hub_client.ts";
import type { ProofProbe } from "./proofs.ts";
import { SignerFault } from "./remote_account.ts";
import { EvmReplacement } from "./replacement.ts";
import { feeTokenDecimals, type HostParams, hostReads } from "../../evm/host_reads.ts";
import { type CallConditions, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { FindingCode } from "../../checks/findings.ts";
import * as ask from "./queries.ts";
import { callAll, orFault, probeAll } from "./rpc_batch.ts";

/** Gas of a delivery of one message with a proof; those of larger batches use less per message. */
const DELIVERY_GAS = 300_000n;

/** Deliveries that the account should be able to pay for. */
const COMFORTABLE_DELIVERIES = 100n;

/** Lists the checks of one round. */
export function planEvmChecks(
  context: EvmContext,
  probe: ProofProbe,
  { hub, fetchKnownHeight, judgeNonces, checkPrices }: ChainCheckContext,
): readonly CheckJob[] {
  const { endpoints, clock, host, account, sender, blocksPerEventQuery, chainId, id } = context.at;
  const chain = id.stateMachine;
  let answers: ReturnType<typeof askEndpoints> | undefined;
  const askOnce = (signal: AbortSignal): ReturnType<typeof askEndpoints> =>
    answers ??= askEndpoints(context, hub, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  // What is about the chain is read from one endpoint that answers: one that hangs must not hold it.
  const findAnswering = async (signal: AbortSignal): Promise<EvmContext | undefined> => {
    const best = (await askOnce(signal)).find((each) => each.id === BigInt(chainId));
    return best && new EvmContext({ ...context.at, endpoints: best.endpoint });
  };
  const job = (check: CheckJob["check"], run: CheckJob["run"]): CheckJob => ({ chain, check, run });
  const answered = (
    check: CheckJob["check"],
    run: (own: EvmContext, signal: AbortSignal) => Promise<readonly CheckRow[]>,
  ): CheckJob =>
    job(check, async (signal) => {
      const own = await findAnswering(signal);
      return own === undefined ? [] : await run(own, signal);
    });
  const router = {
    fetchRouterPrice: async (signal: AbortSignal): Promise<bigint | undefined> => {
      const own = await findAnswering(signal);
      if (own === undefined) throw context.fault("wrong_chain", "eth_chainId", `none serves ${chain}`);
      return await new EvmGas(own).fetchRouterPrice(signal);
    },
  };
  const jobs: readonly (CheckJob | undefined)[] = [
    job("endpoint", (signal) =>
      checkEndpoints(endpoints, {
        clock,
        chain,
        chainId: BigInt(chainId),
        key: "rpc_urls",
        logsOf: host,
        blocksPerQuery: blocksPerEventQuery,
        simulateFrom: context.signs ? sender : undefined,
      }, signal)),
    job("signer", async (signal) => [await checkSigner(chain, account, signal)]),
    // A context of its own: what one endpoint says in a check does not replace what the program works with.
    job("host", async (signal) => judgeHost(new EvmContext(context.at), hub, await askOnce(signal), signal)),
    answered("host_view", (own, signal) => checkHostView(own, hub, signal)),
    answered("state_proof", async (_, signal) => {
      const height = await fetchKnownHeight(signal);
      return height === undefined ? [] : await probe(height, signal);
    }),
    context.signs ? answered("balance", checkBalance) : undefined,
    judgeNonces && context.signs
      ? answered("nonce", async (own, signal) => [
        judgeNonces(await new EvmReplacement(own).fetchNonces(signal)),
      ])
      : undefined,
    checkPrices && job("price", (signal) => checkPrices(router, signal)),
  ];
  return jobs.filter((each) => each !== undefined);
}

async function checkHostView(
  own: EvmContext,
  hub: StateMachineId,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const client = new EvmHubClient(own);
  const view = await client.fetchConsensusView(hub, signal);
  const kind = await client.fetchClientKind(view.consensusClient, signal);
  const chain = own.at.id.stateMachine;
  return [judgeHostView(view, { chain, hub: stateMachineIdKey(hub), isRouter: kind === "router" })];
}

async function checkBalance(own: EvmContext, signal: AbortSignal): Promise<readonly CheckRow[]> {
  const { id: { stateMachine: chain }, sender: account } = own.at;
  const gas = new EvmGas(own);
  const [balanceWei, { gasPriceWei }] = await Promise.all([
    gas.fetchBalance(signal),
    gas.fetchGasQuote(signal),
  ]);
  return [judgeBalance(chain, { account, balanceWei, gasPriceWei })];
}

/** Row about the hub's light client in the host. */
export function judgeHostView(
  view: HostConsensusView,
  { chain, hub, isRouter }: { readonly chain: string; readonly hub: string; readonly isRouter: boolean },
): CheckRow {
  const { ok, warning, failed } = about(chain);
  const ageSec = view.nowSec - view.updatedSec;
  const client = `consensus client ${view.consensusClient}`;
  if (view.state === undefined) {
    return warning(
      "host_view",
      `${client} keeps a state of ${view.stateBytes} bytes, a layout that this version does not know: ` +
        `no proofs of ${hub} can be sent, only those of other relayers arrive`,
      "update this program",
    );
  }
  if (!isRouter) {
    return warning(
      "host_view",
      `${client} accepts no proofs of ${hub} from this program: only those of other relayers arrive`,
      "run a relayer for that client, or wait for the chain's governance",
    );
  }
  const updated = `updated ${formatAge(ageSec)} ago`;
  if (ageSec >= view.unstakingSec) {
    return failed(
      "host_view",
      `${client} has expired: ${updated}, ${formatAge(view.unstakingSec)} are allowed`,
      "ask the chain's governance to set the client again: no relayer can update it",
    );
  }
  const age = view.hubHeight === 0n
    ? `no height of ${hub} yet, the first proof of it brings one`
    : `height ${view.hubHeight} of ${hub}, ${updated}`;
  if (view.isFrozen) {
    return warning(
      "host_view",
      `the host is frozen: it accepts no messages; ${age}`,
      "nothing can be delivered until the chain's governance unfreezes the host",
    );
  }
  if (ageSec * 2n > view.unstakingSec) {
    const found = `${client} expires ${formatAge(view.unstakingSec)} after its last update: ${age}`;
    return warning("client_expiring", found);
  }
  return ok("host_view", `${age}, challenge period ${view.challengePeriodSec} s`);
}

/** Row about the balance of the account that pays for deliveries. */
export function judgeBalance(
  chain: string,
  { account, balanceWei, gasPriceWei }: {
    readonly account: string;
    readonly balanceWei: bigint;
    readonly gasPriceWei: bigint;
  },
): CheckRow {
  const { ok, warning, failed } = about(chain);
  const costWei = gasPriceWei * DELIVERY_GAS;
  const wantedWei = costWei * COMFORTABLE_DELIVERIES;
  const balance = `${account} has ${formatDecimal(balanceWei, 18)}`;
  const price = `${formatDecimal(gasPriceWei, 9)} gwei`;
  if (balanceWei > 0n && balanceWei >= wantedWei) {
    const deliveries = costWei === 0n ? "" : `, enough for about ${balanceWei / costWei} deliveries`;
    return ok("balance", `${balance} native tokens${deliveries} at ${price}`);
  }
  const wanted = formatDecimal(wantedWei, 18);
  const found =
    `${balance} native tokens; ${COMFORTABLE_DELIVERIES} deliveries cost about ${wanted} at ${price}`;
  const judged = balanceWei === 0n || balanceWei < costWei ? failed : warning;
  return judged("balance", found, `send ${account} native tokens of ${chain}`);
}

/** A message that asks nothing of anybody. */
const PROBE = signedMessage(new TextEncoder().encode("causeway check"));

/** Checks the account of a chain: that of a remote signer by a signature, which is not sent. */
export async function checkSigner(
  chain: StateMachine,
  account: SigningAccount,
  signal: AbortSignal,
): Promise<CheckRow> {
  const { address, remoteHost: endpoint } = account;
  // About the signer's host: that it is away is a reason of the chain, which ends when it signs again.
  const { ok, failed } = about(chain, endpoint);
  if (account === readOnlyAccount) return ok("signer", "no signer: nothing is sent to this chain");
  const signs = ok("signer", `${address} signs`);
  if (endpoint === undefined) return signs;
  return await account.sign(PROBE, signal).then(
    () => signs,
    onError(
      SignerFault,
      ({ where, found, advice }) => failed("signer", `${address}: ${where.method}: ${found}`, advice),
    ),
  );
}

/** Timeout of each endpoint at the start: one that hangs must not use up the time of the whole check. */
const START_TIMEOUT_MS = 10_000;

/** Answers of one endpoint; a fault stands for the answer it failed to return. */
interface EndpointAnswers extends ChainIdReport {
  /** A set of one. */
  readonly endpoint: RpcEndpointSet;
  readonly code: string | RpcFault;
  readonly params: HostParams | RpcFault;
  readonly hubHeight: bigint | RpcFault;
}

/**
 * Queries every endpoint once, and the host's contracts once more.
 * @throws {RpcFault} when no endpoint answers at all: then nothing can be said about the configuration.
 */
export async function checkChain(
  context: EvmContext,
  hub: StateMachineId,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { id: { stateMachine: chain }, chainId } = context.at;
  const answers = await askEndpoints(context, hub, { signal, timeoutMs: START_TIMEOUT_MS });
  const ids = judgeChainIds(answers, { chain, chainId: BigInt(chainId), key: "rpc_urls" });
  return [...ids, ...await judgeHost(context, hub, answers, signal)];
}

/** Answers of all endpoints, the least doubtful first. */
async function askEndpoints(
  context: EvmContext,
  hub: StateMachineId,
  conditions: CallConditions,
): Promise<readonly EndpointAnswers[]> {
  const answers = await Promise.all(
    context.at.endpoints.each().map((endpoint) => askEndpoint(context, { endpoint, hub }, conditions)),
  );
  const silent = answers.flatMap(({ id }) => id instanceof RpcFault ? [id] : []);
  if (silent.length === answers.length) throw allSilent(silent);
  return answers.toSorted((one, other) => doubts(one, hub) - doubts(other, hub));
}

/** Rows about the host, by the answers of the chain's endpoints. */
async function judgeHost(
  context: EvmContext,
  hub: StateMachineId,
  answers: readonly EndpointAnswers[],
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const own = answers.filter(({ id }) => id === BigInt(context.at.chainId));
  const [best] = own;
  if (best === undefined) return [];
  const unsynced = best.code === "0x" ? [] : own.flatMap((each) => unsyncedRow(context, each));
  const rows = [...unsynced, ...hostRows(context, best, hub)];
  if (best.params instanceof RpcFault) return rows;
  context.hostParams.note(best.params);
  return [...rows, ...await contractRows(context, { params: best.params, endpoint: best.endpoint }, signal)];
}

/** What speaks against the answers of an endpoint: it may be the only one that is not synced, or busy. */
function doubts({ params, code }: EndpointAnswers, hub: StateMachineId): number {
  if (code === "0x") return 3;
  return params instanceof RpcFault ? 2 : params.hyperbridge === hub.stateMachine ? 0 : 1;
}

/** Row about an endpoint without the host's contract, which another one has. */
function unsyncedRow(
  { at: { id: { stateMachine: chain }, host } }: EvmContext,
  { host: endpoint, code }: EndpointAnswers,
): readonly CheckRow[] {
  if (code !== "0x") return [];
  const found = `no contract at ismp_host ${host} yet, others have it`;
  return [about(chain, endpoint).warning("head", found, "wait until the node is synced, or remove it")];
}

async function askEndpoint(
  context: EvmContext,
  { endpoint, hub }: { readonly endpoint: RpcEndpointSet; readonly hub: StateMachineId },
  conditions: CallConditions,
): Promise<EndpointAnswers> {
  const { host } = context.at;
  const [id, code, params, hubHeight] = await probeAll(endpoint, [
    ask.chainId,
    ask.contractCode(host),
    context.hostParams.query,
    ask.contractRead(host, hostReads.latestStateMachineHeight, toParaId(hub.stateMachine)),
  ], conditions);
  return { endpoint, host: endpoint.hosts.join(), id, code, params, hubHeight };
}

/** Creates one fault that names every endpoint. */
function allSilent(silent: readonly RpcFault[]): RpcFault {
  const [first, ...others] = silent;
  if (first === undefined) throw new Error("A chain without endpoints");
  if (others.length === 0) return first;
  const endpointHost = silent.map(({ where }) => where.endpointHost).join(", ");
  return new RpcFault(first.code, { ...first.where, endpointHost }, {
    detail: silent.map(({ where, code, detail }) => `${where.endpointHost}: ${detail ?? code}`).join("; "),
    retryAfterMs: first.retryAfterMs,
  });
}

function hostRows(
  { at: { id: { stateMachine: chain }, host } }: EvmContext,
  { params, code, hubHeight, host: asked }: EndpointAnswers,
  hub: StateMachineId,
): readonly CheckRow[] {
  const failed = (event: FindingCode, found: string): readonly CheckRow[] => [
    about(chain).failed(event, `${found} (asked ${asked})`),
  ];
  if (code === "0x") return failed("host_not_found", `no contract at ismp_host ${host}`);
  if (params instanceof RpcFault) {
    if (isTransient(params)) throw params;
    return failed("host_invalid", `the contract at ismp_host ${host} is no ISMP host`);
  }
  if (params.hyperbridge !== hub.stateMachine) {
    const found = `host ${host} belongs to the hub ${params.hyperbridge}, not to ${hub.stateMachine}`;
    return failed("host_wrong_hub", found);
  }
  const isKnown = params.stateMachines.includes(BigInt(toParaId(hub.stateMachine)));
  if (isKnown && hubHeight !== 0n) return [];
  const found = `host ${host} does not accept ${hub.stateMachine}; nothing can be delivered to this chain`;
  return [about(chain).warning("hub_not_accepted", found)];
}

/** True for faults that say nothing about the contract. */
function isTransient({ code }: RpcFault): boolean {
  return code !== "reverted" && code !== "malformed" && code !== "refused";
}

/** Asks the endpoint that the host's parameters are from: another one may not be synced. */
async function contractRows(
  context: EvmContext,
  { params, endpoint }: { readonly params: HostParams; readonly endpoint: RpcEndpointSet },
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { id: { stateMachine: chain }, host } = context.at;
  const { ok, failed } = about(chain);
  const { handler, feeToken, hyperbridge } = params;
  const [code, decimals, support] = await callAll(endpoint, [
    ask.contractCode(handler),
    orFault(ask.readable(ask.contractRead(feeToken, feeTokenDecimals))),
    orFault(batchCallSupport(handler)),
  ], { signal });
  if (code === "0x") {
    return [failed("handler_not_found", `no contract at the host's handler ${handler}`)];
  }
  if (decimals instanceof RpcFault && isTransient(decimals)) throw decimals;
  const rows = [
    typeof decimals === "number"
      ? ok(
        "host",
        `host ${host} of ${hyperbridge}, handler ${handler}, fee token ${feeToken} with ${decimals} decimals`,
      )
      : failed("fee_token_unreadable", `the decimals of the host's fee token ${feeToken} cannot be read`),
  ];
  const hasBatchCall = !(support instanceof RpcFault) && isSupported(support);
  if (!(support instanceof RpcFault)) context.batchingHandlers.set(handler, hasBatchCall);
  if (!hasBatchCall) {
    const found = `handler ${handler} has no batchCall; consensus updates cannot ride with messages`;
    rows.push(ok("batch_call_unavailable", found));
  }
  return rows;
}

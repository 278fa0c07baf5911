/** Checks of an EVM chain for the operator: endpoints, host, what each side knows of the other, and the account. */
import { onError } from "../../encoding/coded_error.ts";
import { about, type CheckJob, type CheckRow, REQUEST_TIMEOUT_MS } from "../../checks/check_row.ts";
import { formatDecimal } from "../../encoding/bytes.ts";
import { signedMessage } from "../../ismp/signed_messages.ts";
import { type StateMachine, type StateMachineId, stateMachineIdKey } from "../../ismp/state_machine.ts";
import { type ChainCheckContext, type ChainChecks, formatAge } from "../chain_checks.ts";
import type { HostConsensusView } from "../hub_client.ts";
import { readOnlyAccount, type SigningAccount } from "./account.ts";
import { checkEndpoints } from "./endpoint_checks.ts";
import { EvmContext } from "./evm_context.ts";
import { EvmGas } from "./fees.ts";
import { EvmHubClient } from "./hub_client.ts";
import type { ProofProbe } from "./proofs.ts";
import { SignerFault } from "./remote_account.ts";
import { EvmReplacement } from "./replacement.ts";
import { checkChain } from "./start_check.ts";

/** Gas of a delivery of one message with a proof; those of larger batches use less per message. */
const DELIVERY_GAS = 300_000n;

/** Deliveries that the account should be able to pay for. */
const COMFORTABLE_DELIVERIES = 100n;

/** Lists the checks of one round. */
export function planEvmChecks(
  context: EvmContext,
  probe: ProofProbe,
  { hub, fetchKnownHeight, judgeNonces }: ChainCheckContext,
): ChainChecks {
  const { endpoints, clock, host, account, sender, blocksPerEventQuery, chainId, id } = context.at;
  const chain = id.stateMachine;
  let found: ReturnType<typeof checkChain> | undefined;
  const find = (signal: AbortSignal): ReturnType<typeof checkChain> =>
    found ??= checkChain(context, hub, signal, REQUEST_TIMEOUT_MS);
  // What is about the chain is read from one endpoint that answers: one that hangs must not hold it.
  const findAnswering = async (signal: AbortSignal): Promise<EvmContext | undefined> => {
    const { best } = await find(signal);
    return best && new EvmContext({ ...context.at, endpoints: best });
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
    job("host", async (signal) => (await find(signal)).rows),
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
  ];
  return {
    jobs: jobs.filter((each) => each !== undefined),
    fetchRouterPrice: async (signal) =>
      await new EvmGas(await findAnswering(signal) ?? context).fetchRouterPrice(signal),
  };
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

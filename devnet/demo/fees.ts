/**
 * The demo's last part: what the deliveries have earned becomes fee tokens of the relayer on the chains that the
 * messages came from. Balances are read from those chains, not from the relayer.
 */
import { fromHex, toHash256 } from "../../src/core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../src/core/ismp/signed_messages.ts";
import { formatDecimal } from "../../src/core/encoding/bytes.ts";
import {
  isLogLine,
  type RelayerProcess,
  startRelayer,
} from "../../tests/scenario/support/relayer_process.ts";
import type { Devnet, DevnetChain } from "../devnet.ts";
import { feeTokensOn } from "../evm/host_admin.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../evm/accounts.ts";
import { table } from "../terminal/progress.ts";
import type { DevnetSubstrateChain } from "../chains/substrate_chains.ts";
import { MAX_WORK_MS } from "../waiting.ts";

const EVM_DECIMALS = 18;
/** The hub pays out no less than 10 tokens of a chain; the fees of one direction exceed that at any count. */
const MIN_FEES_PER_ROUTE = 20n;

/** A chain that fees are paid on. */
export type DemoFeeChain = DevnetChain | DevnetSubstrateChain;

/** Fee for each of so many messages of a route, units of the fee token: a token, more when they are few. */
export function feePerMessage(count: number, decimals = EVM_DECIMALS): bigint {
  const some = BigInt(count);
  const tokens = (MIN_FEES_PER_ROUTE + some - 1n) / some;
  return tokens * 10n ** BigInt(decimals);
}

/** Decimals of a chain's fee token. */
export function feeDecimals(chain: DemoFeeChain): number {
  return "feeTokenDecimals" in chain ? chain.feeTokenDecimals : EVM_DECIMALS;
}

/** The hub pays out ten tokens of a Substrate chain, too: its own minimum is for tokens of 18 decimals. */
export async function lowerMinimum({ hub }: Pick<Devnet, "hub">, chain: DevnetSubstrateChain): Promise<void> {
  await hub.governance.setMinimumWithdrawal(chain.stateMachine, 10n * 10n ** BigInt(feeDecimals(chain)));
}

/** The relayer's account on Substrate chains. */
const substrateAccount = toHash256(sr25519PublicKey(fromHex(DEVNET_KEYS.relayer)));

/** The relayer did not get what it has earned. */
export class MoneyFault extends Error {
  override readonly name = "MoneyFault";
  constructor(readonly code: "command_failed" | "balance_wrong", message: string) {
    super(message);
  }
}

/** What is expected of a chain: all fees of its messages, once. */
export interface ExpectedFees {
  readonly chain: DemoFeeChain;
  readonly fees: bigint;
  readonly before: bigint;
}

/** Fee tokens of the relayer's account on a chain, in units. */
export async function feeTokenBalance(chain: DemoFeeChain): Promise<bigint> {
  if ("feeTokenDecimals" in chain) return chain.node.governance.balanceOf(substrateAccount);
  return await feeTokensOn(chain.host, DEVNET_ACCOUNTS.relayer.address);
}

/**
 * Runs `accumulate-fees --wait --withdraw` beside the configuration and database of a relayer that has ended.
 * @returns what it printed for the operator: the table.
 * @throws {MoneyFault} `command_failed`
 */
export async function runAccumulateFees(
  options: Parameters<typeof startRelayer>[0],
  onStarted: (command: RelayerProcess) => void,
): Promise<readonly string[]> {
  const command = await startRelayer({
    ...options,
    logFormat: "human",
    extraArguments: ["accumulate-fees", "--wait", "--withdraw"],
  });
  onStarted(command);
  const code = await command.exitCode(MAX_WORK_MS);
  if (code !== 0) {
    throw new MoneyFault("command_failed", `accumulate-fees ended with status ${code}`);
  }
  return command.lines.map(({ text }) => text).filter((text) => !isLogLine(text));
}

/** What the relayer has claimed and not withdrawn, in whole fee tokens of the chain. */
export function feesOnHub({ hub }: Pick<Devnet, "hub">, chain: DemoFeeChain): string {
  const account = "feeTokenDecimals" in chain ? substrateAccount : DEVNET_ACCOUNTS.relayer.address;
  return tokens(hub.governance.feesOf(chain.stateMachine, fromHex(account)), feeDecimals(chain));
}

/** Looks at the chains: a line per chain, and whether all is where it belongs. */
export async function moneySummary(
  devnet: Pick<Devnet, "hub">,
  expected: readonly ExpectedFees[],
): Promise<ReturnType<typeof moneyTable>> {
  return moneyTable(
    await Promise.all(expected.map(async ({ chain, ...rest }) => ({
      ...rest,
      chain: `${chain.name} (${chain.stateMachine})`,
      decimals: feeDecimals(chain),
      after: await feeTokenBalance(chain),
      onHub: feesOnHub(devnet, chain),
    }))),
  );
}

/** `isPaid`: every chain has paid out exactly the fees of its delivered messages. */
export function moneyTable(
  rows: readonly {
    readonly chain: string;
    readonly decimals: number;
    readonly before: bigint;
    readonly after: bigint;
    readonly fees: bigint;
    readonly onHub: string;
  }[],
): { readonly lines: readonly string[]; readonly isPaid: boolean } {
  const lines = table([
    ["fee tokens of the relayer on", "before", "after", "fees of its deliveries", "left on the hub"],
    ...rows.map(({ chain, decimals, before, after, fees, onHub }) => [
      chain,
      ...[before, after, fees].map((units) => tokens(units, decimals)),
      onHub,
    ]),
  ]);
  return { lines, isPaid: rows.every(({ fees, before, after }) => fees > 0n && after - before === fees) };
}

function tokens(units: bigint, decimals: number): string {
  return formatDecimal(units, decimals);
}

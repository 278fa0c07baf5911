/**
 * The money of a scene as the chains tell it: fee tokens on the chains, credit on the hub; and the command that
 * claims and withdraws by hand.
 */
import { fromHex } from "../../../src/core/encoding/bytes.ts";
import type { Devnet, DevnetChain } from "../../../devnet/devnet.ts";
import { feeTokensOn } from "../../../devnet/evm/host_admin.ts";
import { DEVNET_ACCOUNTS, type DevnetRole } from "../../../devnet/evm/accounts.ts";
import type { ConfigChanges } from "../../../devnet/programs/relayer_config.ts";
import { isLogLine, type RelayerProcess } from "./relayer_process.ts";
import type { SceneRelayer } from "./scene.ts";

/** One whole fee token of the EVM chains, in units. */
export const TOKEN = 10n ** 18n;

/** Fee tokens of an account on an EVM chain, units. */
export function feeTokensOf({ host }: DevnetChain, role: DevnetRole): Promise<bigint> {
  return feeTokensOn(host, DEVNET_ACCOUNTS[role].address);
}

/** What the hub owes an account for requests of a chain, units of the chain's fee token. */
export function creditOf({ hub }: Pick<Devnet, "hub">, chain: DevnetChain, role: DevnetRole): bigint {
  return hub.governance.feesOf(chain.stateMachine, fromHex(DEVNET_ACCOUNTS[role].address));
}

/** How `accumulate-fees` ended. */
export interface CommandResult {
  readonly code: number;
  /** What it printed for the operator beside the log: a line per pair of chains, cells by the table's columns. */
  readonly table: readonly (readonly string[])[];
  /** The log. */
  readonly log: readonly string[];
}

/** Starts `accumulate-fees` with the relayer's configuration and database. */
export function startCommand(
  relayer: SceneRelayer,
  args: readonly string[],
  changes: ConfigChanges = {},
): Promise<RelayerProcess> {
  const extraArguments = ["accumulate-fees", ...args];
  return relayer.start(changes, { extraArguments, logFormat: "human", logLevel: "info" });
}

/** Runs `accumulate-fees` to its end. */
export async function runCommand(
  relayer: SceneRelayer,
  args: readonly string[],
  changes: ConfigChanges = {},
): Promise<CommandResult> {
  const process = await startCommand(relayer, args, changes);
  const code = await process.exitCode();
  const texts = process.lines.map(({ text }) => text);
  return {
    code,
    table: texts.filter((text) => !isLogLine(text)).map((text) => text.split(/ {2,}/)),
    log: texts.filter(isLogLine),
  };
}

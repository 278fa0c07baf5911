/** What the database says of a decision about profit, and what changes it. */
import assert from "node:assert/strict";
import { encodeFunctionData, maxUint256 } from "viem";
import type { DevnetChain } from "../../../devnet/devnet.ts";
import { FEE_TOKEN_ABI, HOST_ABI } from "../../../devnet/evm/abi.ts";
import { DEVNET_ACCOUNTS } from "../../../devnet/evm/accounts.ts";
import { mintFeeTokens } from "../../../devnet/evm/host_admin.ts";
import { type SentMessage, waitUntil } from "../../../devnet/traffic/messages.ts";
import type { SceneRelayer } from "./scene.ts";

/** What the database says of the decisions about the messages, in their order. */
export async function numbersOf(
  relayer: SceneRelayer,
  messages: readonly SentMessage[],
): Promise<readonly { readonly required: bigint; readonly offered: bigint }[]> {
  return await Promise.all(messages.map(async ({ commitment, request }) => {
    const row = await relayer.row(commitment, request.dest);
    assert.ok(row?.requiredUsd18 !== undefined && row.offeredUsd18 !== undefined, "both numbers are stored");
    return { required: row.requiredUsd18, offered: row.offeredUsd18 };
  }));
}

/** Adds to the fee of a message on its source. */
export async function raiseFee(
  { host }: DevnetChain,
  { commitment }: SentMessage,
  units: bigint,
): Promise<void> {
  const { user } = DEVNET_ACCOUNTS;
  const { feeToken, host: address } = host.addresses;
  await mintFeeTokens(host, user.address, units);
  await host.transact(user, {
    to: feeToken,
    data: encodeFunctionData({ abi: FEE_TOKEN_ABI, functionName: "approve", args: [address, maxUint256] }),
  });
  await host.transact(user, {
    to: address,
    data: encodeFunctionData({ abi: HOST_ABI, functionName: "fundRequest", args: [commitment, units] }),
  });
}

/** What a message requires once two polls in a row agree. */
export async function steadyRequirement(relayer: SceneRelayer, message: SentMessage): Promise<bigint> {
  const looks: { readonly attempts: number; readonly required: bigint }[] = [];
  await waitUntil("two polls at the message agree", async () => {
    const row = await relayer.row(message.commitment, message.request.dest);
    const last = looks.at(-1);
    if (row?.requiredUsd18 === undefined || row.attempts === last?.attempts) return false;
    looks.push({ attempts: row.attempts, required: row.requiredUsd18 });
    return row.requiredUsd18 === last?.required;
  }, { everyMs: 400 });
  return looks.at(-1)?.required ?? 0n;
}

/**
 * Check of the account that signs, for the operator. A remote signer is asked to sign: only then is it known for which
 * chain it signs, and whether something stands in between. Nothing that it signs here is ever sent.
 */
import type { CheckRow } from "../../checks/check_row.ts";
import { consensusSignerMessage } from "../../ismp/signed_messages.ts";
import type { StateMachine } from "../../ismp/state_machine.ts";
import { readOnlyAccount, type RemoteKeyHolder, type SigningAccount } from "./account.ts";
import { TRANSFER_GAS } from "./gas.ts";
import { SignerFault } from "./signer_fault.ts";

/** What is checked. */
export interface SignerSubject {
  readonly chain: StateMachine;
  readonly chainId: number;
  readonly account: SigningAccount;
  /** True: the account also signs messages for the hub. */
  readonly signsMessages: boolean;
}

/** A nonce that no account reaches: a transaction with it can never be mined. */
const UNREACHABLE_NONCE = BigInt(Number.MAX_SAFE_INTEGER);

/** A message that asks nothing of the hub. */
const PROBE = consensusSignerMessage(new TextEncoder().encode("causeway check"));

/** Checks the account of a chain. */
export async function checkSigner(subject: SignerSubject, signal: AbortSignal): Promise<CheckRow> {
  const { chain, account: { address, remote } } = subject;
  const row = { chain, check: "signer" } as const;
  if (subject.account === readOnlyAccount) {
    return { ...row, result: "ok", found: "no signer: nothing is sent to this chain" };
  }
  if (remote === undefined) return { ...row, result: "ok", found: `${address} signs` };
  try {
    return { ...row, ...await askSigner(subject, remote, signal) };
  } catch (error) {
    if (!(error instanceof SignerFault)) throw error;
    const found = `${address} at ${remote.host}: ${error.where.method}: ${error.found}`;
    return { ...row, result: "failed", found, advice: error.advice };
  }
}

async function askSigner(
  { chainId, account, signsMessages }: SignerSubject,
  remote: RemoteKeyHolder,
  signal: AbortSignal,
): Promise<Pick<CheckRow, "result" | "found" | "advice">> {
  const { address } = account;
  const held = await remote.fetchAddresses(signal);
  if (!held.some((each) => each.toLowerCase() === address)) {
    return {
      result: "failed",
      found: `the signer ${remote.host} holds ${held.length} accounts, and ${address} is none of them`,
      advice: "load its key into Web3Signer, or correct `signer_address`",
    };
  }
  await account.signTransaction({
    chainId,
    nonce: UNREACHABLE_NONCE,
    to: address,
    data: "0x",
    gasLimit: TRANSFER_GAS,
    valueWei: 0n,
    price: { type: "legacy", gasPriceWei: 0n },
  }, signal);
  const found = `${address} signs at ${remote.host} for chain ${chainId}`;
  if (!signsMessages) return { result: "ok", found };
  try {
    await account.signMessage(PROBE, signal);
    return { result: "ok", found: `${found}, and messages for the hub` };
  } catch (error) {
    if (!(error instanceof SignerFault)) throw error;
    return {
      result: "warning",
      found:
        `${found}, but no messages for the hub (${error.found}): fees stay on the hub, rewards unclaimed`,
      advice:
        "let /api/v1/eth1/publicKeys and /api/v1/eth1/sign of Web3Signer be reached: eth_sign adds a prefix " +
        "that the hub does not take",
    };
  }
}

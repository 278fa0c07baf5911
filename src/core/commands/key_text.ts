/** Private keys as they are given to commands, and the accounts that they stand for. Pure. */
import { judgeEvmKey, judgeHex, judgeSubstrateKey } from "../config/secrets.ts";
import type { AccountKind } from "../config/keystores/keystore_file.ts";
import { fromHex, toHex } from "../encoding/bytes.ts";
import { sr25519PublicKey, toEvmAddress } from "../ismp/signed_messages.ts";
import { ss58Address } from "../substrate/ss58.ts";

/** A key from hex, or why it is none; the text holds nothing of it. */
export function readKeyText(
  type: AccountKind,
  text: string,
): { readonly key: Uint8Array } | { readonly found: string } {
  const judgement = judgeHex(text.trim(), type === "evm" ? judgeEvmKey : judgeSubstrateKey);
  if ("value" in judgement) return { key: fromHex(judgement.value.reveal()) };
  const hint = judgement.hint === undefined ? "" : `; ${judgement.hint}`;
  return { found: `${judgement.found}${hint}` };
}

/** The account of a key: its address, and of Substrate accounts the public key as well. */
export function describeKey(type: AccountKind, key: Uint8Array): string {
  if (type === "evm") return toHex(toEvmAddress(key));
  const publicKey = sr25519PublicKey(key);
  return `${ss58Address(publicKey)} (${toHex(publicKey)})`;
}

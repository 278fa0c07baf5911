/**
 * Types of secrets: signing keys, given as hex or as the path of a file with that hex, and API keys.
 * Nothing of a secret or of such a path is ever part of a message: a mistyped key looks like a path.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { z } from "zod";
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import { toEvmAddress } from "../ismp/signed_messages.ts";
import { Secret } from "./redact.ts";
import { type ConfigFiles, fileFailure } from "./toml.ts";
import { text } from "./values.ts";

type Judgement = { value: Secret<Hex> } | { found: string; hint?: string };

/** Order of the Ristretto group (RFC 9496, section 4.1). */
const RISTRETTO_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

const EVM_EXPECTED = "a secp256k1 private key (32 bytes as hex) or the path of a file that holds one";
const UNCLAIMABLE_KEY = {
  found: "the key of an address that begins with a zero byte",
  hint:
    "the hub cannot read such an address in a proof, so no fee and no reward could ever be claimed with it; " +
    "make another key (one in 256 is like this)",
};
const SUBSTRATE_EXPECTED = "an sr25519 seed (32 bytes as hex) or the path of a file that holds one";

/**
 * The key of an EVM account: `0x` and 64 lower-case digits. An address that begins with a zero byte is refused: the
 * host's storage keeps it shorter, and the hub reads addresses in proofs only in their full length, so it could never
 * claim a fee or a reward. Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs.
 */
export function evmSigner(files: ConfigFiles): z.ZodType<Secret<Hex>> {
  return text(EVM_EXPECTED, (given) =>
    hexOrFile(files, given, (bytes) => {
      if (bytes.length !== 32) return { found: `${bytes.length} bytes of hex` };
      if (!secp256k1.utils.isValidSecretKey(bytes)) {
        return { found: "a number outside of the secp256k1 group order" };
      }
      if (toEvmAddress(bytes)[0] === 0) return UNCLAIMABLE_KEY;
      return { value: new Secret(toHex(bytes)) };
    }));
}

/**
 * The key of a Substrate account: 32 bytes of mini secret, or 64 bytes of expanded secret key (scalar and nonce,
 * the form of schnorrkel's `SecretKey::to_bytes`). `0x` and 64 or 128 lower-case digits.
 */
export function substrateSigner(files: ConfigFiles): z.ZodType<Secret<Hex>> {
  return text(SUBSTRATE_EXPECTED, (given) =>
    hexOrFile(files, given, (bytes) => {
      if (bytes.length !== 32 && bytes.length !== 64) return { found: `${bytes.length} bytes of hex` };
      if (bytes.length === 64 && !isScalar(bytes.subarray(0, 32))) {
        return { found: "64 bytes that are not an expanded sr25519 key" };
      }
      return { value: new Secret(toHex(bytes)) };
    }));
}

/** An API key; an empty text means that there is none. */
export const apiKey: z.ZodType<Secret<string> | undefined> = text(
  "an API key (may be an empty text)",
  (given) => ({ value: given.trim() === "" ? undefined : new Secret(given.trim()) }),
);

function hexOrFile(files: ConfigFiles, given: string, judge: (bytes: Uint8Array) => Judgement): Judgement {
  const trimmed = given.trim();
  if (trimmed === "") return { found: "an empty text" };
  if (/^0x/i.test(trimmed) || /^[0-9a-fA-F]{32,}$/.test(trimmed)) return judgeHex(trimmed, judge);
  if (trimmed.startsWith("//") || trimmed.split(/\s+/).length >= 3) {
    return {
      found: "several words or a derivation path",
      hint: "seed phrases and derivation paths are not supported; give the seed as hex",
    };
  }
  return judgeFile(files, trimmed, judge);
}

function judgeFile(files: ConfigFiles, path: string, judge: (bytes: Uint8Array) => Judgement): Judgement {
  let bytes: Uint8Array;
  try {
    bytes = files.readFile(path);
  } catch (error) {
    return { found: `a text that is not hex, and as a path: ${fileFailure(error)}` };
  }
  const judgement = judgeHex(new TextDecoder().decode(bytes).trim(), judge);
  return "found" in judgement ? { ...judgement, found: `a file that holds ${judgement.found}` } : judgement;
}

function judgeHex(text: string, judge: (bytes: Uint8Array) => Judgement): Judgement {
  const digits = text.replace(/^0x/i, "");
  if (digits === "") return { found: "no digits" };
  if (!/^[0-9a-fA-F]+$/.test(digits)) return { found: "other characters than hex digits" };
  if (digits.length % 2 !== 0) return { found: `${digits.length} hex digits` };
  return judge(fromHex(digits));
}

/** True for a canonical, non-zero scalar in little-endian bytes. */
function isScalar(bytes: Uint8Array): boolean {
  const value = BigInt(toHex(bytes.toReversed()));
  return value > 0n && value < RISTRETTO_ORDER;
}

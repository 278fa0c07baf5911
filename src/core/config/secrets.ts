/**
 * Types of secrets: signing keys, given as hex or as the path of a file with that hex, and API keys.
 * Nothing of a secret or of such a path is ever part of a message: a mistyped key looks like a path.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { z } from "zod";
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import {
  type EvmSigner,
  idleUnless,
  readRemoteSigner,
  signerAddress,
  signerAddressKey,
  UNCLAIMABLE_HINT,
} from "./evm_signer.ts";
import { isKeystore, isRemote, KEYSTORE_PREFIX, REMOTE_PREFIX, Secret } from "./redact.ts";
import { remarksOnUrl, text } from "./values.ts";
import { type AccountKind, openKeystoreFile, readPassword } from "./keystores/keystore_file.ts";
import { type Key, optional, type TypeIn, withRemarks } from "./schema.ts";
import { type ConfigFiles, describeExposure, fileFailure, type TomlTable } from "./toml.ts";

/** Name of the key for its password. */
const PASSWORD_KEY = "keystore_password_file";

/** A key or another signer, or what is wrong with it. */
export type Judgement<S = Secret<Hex>> = { value: S } | { found: string; hint?: string };

/** Order of the Ristretto group (RFC 9496, section 4.1). */
const RISTRETTO_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

const EVM_EXPECTED =
  `a secp256k1 private key (32 bytes as hex), the path of a file that holds one, ${KEYSTORE_PREFIX}PATH, or ` +
  `${REMOTE_PREFIX}URL`;
const UNCLAIMABLE_KEY = {
  found: "the key of an address that begins with a zero byte",
  hint: UNCLAIMABLE_HINT,
};
const SUBSTRATE_EXPECTED =
  `an sr25519 seed (32 bytes as hex), the path of a file that holds one, or ${KEYSTORE_PREFIX}PATH`;

/**
 * The key of an EVM account: `0x` and 64 lower-case digits, or the Web3Signer that holds it. An address that begins with a zero byte is refused: the
 * host's storage keeps it shorter, and the hub reads addresses in proofs only in their full length, so it could never
 * claim a fee or a reward. Source: polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs.
 */
export function evmSigner(files: ConfigFiles): TypeIn<EvmSigner> {
  const type = signerType(
    files,
    EVM_EXPECTED,
    (section, given): Judgement<EvmSigner> =>
      isRemote(given)
        ? readRemoteSigner(given, section)
        : readSigner({ files, section, account: "evm", judge: judgeEvmKey }, given),
  );
  return { ...type, companions: [...type.companions, signerAddressKey] };
}

/** A secp256k1 key whose rewards can be claimed. */
export function judgeEvmKey(bytes: Uint8Array): Judgement {
  if (bytes.length !== 32) return { found: `${bytes.length} bytes of hex` };
  if (!secp256k1.utils.isValidSecretKey(bytes)) {
    return { found: "a number outside of the secp256k1 group order" };
  }
  const key = new Secret(toHex(bytes));
  return signerAddress(key)[0] === 0 ? UNCLAIMABLE_KEY : { value: key };
}

/**
 * The key of a Substrate account: 32 bytes of mini secret, or 64 bytes of expanded secret key (scalar and nonce,
 * the form of schnorrkel's `SecretKey::to_bytes`). `0x` and 64 or 128 lower-case digits.
 */
export function substrateSigner(files: ConfigFiles): TypeIn<Secret<Hex>> {
  return signerType(
    files,
    SUBSTRATE_EXPECTED,
    (section, given) => readSigner({ files, section, account: "substrate", judge: judgeSubstrateKey }, given),
  );
}

/** An sr25519 key: mini secret or 64 bytes. */
export function judgeSubstrateKey(bytes: Uint8Array): Judgement {
  if (bytes.length !== 32 && bytes.length !== 64) return { found: `${bytes.length} bytes of hex` };
  if (bytes.length === 64 && !isScalar(bytes.subarray(0, 32))) {
    return { found: "64 bytes that are not an expanded sr25519 key" };
  }
  return { value: new Secret(toHex(bytes)) };
}

function signerType<S>(
  files: ConfigFiles,
  expected: string,
  read: (section: TomlTable, given: string) => Judgement<S>,
): TypeIn<S> {
  const typeOf = (section: TomlTable): z.ZodType<S> =>
    withRemarks(
      withExposure(text(expected, (given) => read(section, given.trim())), files, signerPath),
      (given) =>
        typeof given === "string" && isRemote(given) ? remarksOnUrl(given.slice(REMOTE_PREFIX.length)) : [],
    );
  return { of: typeOf, companions: [passwordFileKey(files)] };
}

/** Path in the text of a signer; empty: there is none. */
function signerPath(given: string): string {
  return isInlineKey(given) || isRemote(given) ? "" : keystorePath(given) ?? given;
}

/** Key for the password of the section's keystore. */
function passwordFileKey(files: ConfigFiles): Key<string | undefined> {
  const type = text("the path of a file whose first line is a password", (given) => {
    const read = readPassword(files, given.trim());
    return "found" in read ? read : { value: given.trim() };
  });
  const key = optional(withExposure(type, files, (path) => path), {
    name: PASSWORD_KEY,
    description:
      `Only for a \`signer\` that is an encrypted keystore ("${KEYSTORE_PREFIX}..."): its first line is the ` +
      "password.",
    example: "/run/secrets/keystore-password",
  });
  const advice = `the signer is no keystore: write "${KEYSTORE_PREFIX}" before its path, or remove this key`;
  return { ...key, idleReason: idleUnless((signer) => keystorePath(signer) !== undefined, advice) };
}

/** An API key; an empty text means that there is none. */
export const apiKey: z.ZodType<Secret<string> | undefined> = text(
  "an API key (may be an empty text)",
  (given) => ({ value: given.trim() === "" ? undefined : new Secret(given.trim()) }),
);

/** How a signer is found from its text. */
interface SignerReading {
  readonly files: ConfigFiles;
  /** The section, which may name the file of a keystore's password. */
  readonly section: TomlTable;
  readonly account: AccountKind;
  readonly judge: (bytes: Uint8Array) => Judgement;
}

/** @param trimmed the text without white space around it. */
function readSigner({ files, section, account, judge }: SignerReading, trimmed: string): Judgement {
  if (trimmed === "") return { found: "an empty text" };
  const keystore = keystorePath(trimmed);
  if (keystore !== undefined) {
    const opened = openKeystoreFile(files, keystore, { account, passwordFile: section[PASSWORD_KEY] });
    return "found" in opened ? opened : placed(judge(opened.key), trimmed);
  }
  if (isInlineKey(trimmed)) {
    files.noteInlineKey?.();
    return judgeHex(trimmed, judge);
  }
  if (trimmed.startsWith("//") || trimmed.split(/\s+/).length >= 3) {
    return {
      found: "several words or a derivation path",
      hint: "seed phrases and derivation paths are not supported; give the seed as hex",
    };
  }
  if (isRemote(trimmed)) {
    return { found: "a remote signer", hint: "Web3Signer has no sr25519 keys; give a seed or a keystore" };
  }
  if (/^https?:\/\//i.test(trimmed)) {
    const hint = account === "evm" ? `of a Web3Signer, write "${REMOTE_PREFIX}" before it` : undefined;
    return { found: "a URL", ...hint !== undefined && { hint } };
  }
  return placed(judgeFile(files, trimmed, judge), trimmed);
}

/** The key with the place that it was read from, which is no secret. */
function placed(judgement: Judgement, place: string): Judgement {
  return "value" in judgement ? { value: new Secret(judgement.value.reveal(), place) } : judgement;
}

function isInlineKey(text: string): boolean {
  return /^0x/i.test(text) || /^[0-9a-fA-F]{32,}$/.test(text);
}

/** Path of a keystore; `undefined`: the text means something else. */
function keystorePath(text: string): string | undefined {
  return isKeystore(text) ? text.slice(KEYSTORE_PREFIX.length).trim() : undefined;
}

/** A warning where a file that is named by path can be read by others. */
function withExposure<T>(
  type: z.ZodType<T>,
  files: ConfigFiles,
  pathIn: (given: string) => string,
): z.ZodType<T> {
  return withRemarks(type, (given) => {
    const path = typeof given === "string" ? pathIn(given.trim()) : "";
    const found = path === "" ? undefined : describeExposure(files.readMode?.(path));
    if (found === undefined) return [];
    return [{ kind: "warning", path: [], found, expected: "mode 600 or 640", hint: "chmod 600" }];
  });
}

function judgeFile(files: ConfigFiles, path: string, judge: (bytes: Uint8Array) => Judgement): Judgement {
  let bytes: Uint8Array;
  try {
    bytes = files.readFile(path);
  } catch (error) {
    return { found: `a text that is not hex, and as a path: ${fileFailure(error)}` };
  }
  const text = new TextDecoder().decode(bytes).trim();
  if (text.startsWith("{")) {
    return {
      found: "a file that holds no hex",
      hint: `of a keystore, write "${KEYSTORE_PREFIX}" before the path`,
    };
  }
  const judgement = judgeHex(text, judge);
  return "found" in judgement ? { ...judgement, found: `a file that holds ${judgement.found}` } : judgement;
}

/** A key in hex. */
export function judgeHex(text: string, judge: (bytes: Uint8Array) => Judgement): Judgement {
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

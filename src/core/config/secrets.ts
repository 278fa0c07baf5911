/**
 * Types of secrets: who signs for an account (a key as hex, as the path of a file with that hex or of a keystore, or a
 * Web3Signer that holds it), and API keys. Nothing of a secret or of such a path is ever part of a message: a mistyped
 * key looks like a path.
 */
import { ristretto255 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { bytesToNumberLE } from "@noble/curves/utils.js";
import { fromHex, type Hex, toHex } from "../encoding/bytes.ts";
import { toEvmAddress } from "../ismp/signed_messages.ts";
import type { Checked, EffectiveValue, Statement } from "./diagnostics.ts";
import { KEYSTORE_PREFIX, REMOTE_PREFIX, RemoteSigner, Secret } from "./redact.ts";
import { readAddress, readUrl, text } from "./values.ts";
import { type AccountKind, openKeystoreFile, readPassword } from "./keystores/keystore_file.ts";
import { type Key, optional, type Type } from "./schema.ts";
import { type ConfigFiles, describeExposure, readTextFile, type TomlTable } from "./toml.ts";

/** A private key, or who holds it. */
export type EvmSigner = Secret<Hex> | RemoteSigner;

const { Fn } = ristretto255.Point;

/** Name of the key for a keystore's password. */
const PASSWORD_KEY = "keystore_password_file";
/** Name of the key for the account of a Web3Signer. */
const ADDRESS_KEY = "signer_address";

const HOLDERS = `(32 bytes as hex), the path of a file that holds one`;
const EXPECTED: Readonly<Record<AccountKind, string>> = {
  evm: `a secp256k1 private key ${HOLDERS}, ${KEYSTORE_PREFIX}PATH, or ${REMOTE_PREFIX}URL`,
  substrate: `an sr25519 seed ${HOLDERS}, or ${KEYSTORE_PREFIX}PATH`,
};

/** Why an account must not begin with a zero byte. */
const UNCLAIMABLE_HINT =
  "the hub cannot read such an address in a proof, so no fee and no reward could ever be claimed with it; " +
  "make another key (one in 256 is like this)";

/** 20-byte address of a signer. @throws {SignatureError} `bad_key`. */
export function signerAddress(signer: EvmSigner): Uint8Array {
  return fromHex(
    signer instanceof RemoteSigner ? signer.address : toHex(toEvmAddress(fromHex(signer.reveal()))),
  );
}

/**
 * The key of an EVM account: `0x` and 64 lower-case digits, or the Web3Signer that holds it. An address that begins
 * with a zero byte is refused: the host's storage keeps it shorter, and the hub reads addresses in proofs only in their
 * full length, so it could never claim a fee or a reward. Source: polytope-labs/hyperbridge:
 * modules/pallets/relayer/src/accumulate.rs.
 */
export function evmSigner(files: ConfigFiles): Type<EvmSigner> {
  const type = text<EvmSigner>(
    EXPECTED.evm,
    (given, section) =>
      given.trim().startsWith(REMOTE_PREFIX)
        ? readRemoteSigner(given.trim(), section)
        : readLocalKey(files, "evm", { section, given: given.trim() }),
  );
  return { ...type, companions: [passwordFileKey(files), signerAddressKey] };
}

/**
 * The key of a Substrate account: 32 bytes of mini secret, or 64 bytes of expanded secret key (scalar and nonce,
 * the form of schnorrkel's `SecretKey::to_bytes`). `0x` and 64 or 128 lower-case digits.
 */
export function substrateSigner(files: ConfigFiles): Type<Secret<Hex>> {
  const hint = "Web3Signer has no sr25519 keys; give a seed or a keystore";
  const type = text<Secret<Hex>>(
    EXPECTED.substrate,
    (given, section) =>
      given.trim().startsWith(REMOTE_PREFIX)
        ? { found: "a remote signer", hint }
        : readLocalKey(files, "substrate", { section, given: given.trim() }),
  );
  return { ...type, companions: [passwordFileKey(files)] };
}

/** Reads `web3signer:URL` with the address that the section names beside it. */
function readRemoteSigner(given: string, { [ADDRESS_KEY]: named }: TomlTable): Checked<RemoteSigner> {
  const url = readUrl(given.slice(REMOTE_PREFIX.length), ["http", "https"]);
  if ("found" in url) return { found: `a remote signer at ${url.found}` };
  const { search, hash } = new URL(url.value.reveal());
  if (search !== "" || hash !== "") return { found: "a remote signer at a URL with a query or a fragment" };
  if (named === undefined) {
    return {
      found: "a remote signer without the address of its account",
      hint: `name it in ${ADDRESS_KEY}: a Web3Signer may hold many keys`,
    };
  }
  const address = typeof named === "string" ? readAccount(named) : { found: "" };
  if ("found" in address) return { found: `a remote signer whose ${ADDRESS_KEY} is wrong` };
  return { ...url, value: new RemoteSigner(url.value.reveal(), address.value) };
}

/** Reads the address of an account that can be paid. */
function readAccount(given: string): Checked<Hex> {
  const address = readAddress(given);
  return "value" in address && address.value.startsWith("0x00")
    ? { found: "an address that begins with a zero byte", hint: UNCLAIMABLE_HINT }
    : address;
}

/** Says why a key has no effect: it belongs to a kind of signer that the section does not have. */
function idleUnless(prefix: string, advice: string): NonNullable<Key<undefined>["idle"]> {
  const reason = ({ signer }: TomlTable): string | undefined => {
    if (signer === undefined) return "the section has no signer";
    return typeof signer === "string" && !signer.trim().startsWith(prefix) ? advice : undefined;
  };
  return { value: undefined, reason };
}

/** Key for the account of the section's Web3Signer. */
const signerAddressKey: Key<Hex | undefined> = {
  ...optional(ADDRESS_KEY, text("an address of 20 bytes (0x and 40 hex digits)", readAccount), {
    description:
      `Only for a \`signer\` that is a Web3Signer ("${REMOTE_PREFIX}..."): which of its accounts signs.`,
    example: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  }),
  idle: idleUnless(
    REMOTE_PREFIX,
    `the signer is no Web3Signer: write "${REMOTE_PREFIX}" before its URL, or remove this key`,
  ),
};

/** Key for the password of the section's keystore. */
function passwordFileKey(files: ConfigFiles): Key<string | undefined> {
  const type = text("the path of a file whose first line is a password", (given) => {
    const path = given.trim();
    const read = readPassword(files, path);
    return "found" in read ? read : { value: path, remarks: remarksOnMode(files, path) };
  });
  const advice = `the signer is no keystore: write "${KEYSTORE_PREFIX}" before its path, or remove this key`;
  return {
    ...optional(PASSWORD_KEY, type, {
      description:
        `Only for a \`signer\` that is an encrypted keystore ("${KEYSTORE_PREFIX}..."): its first line is the ` +
        "password.",
      example: "/run/secrets/keystore-password",
    }),
    idle: idleUnless(KEYSTORE_PREFIX, advice),
  };
}

/** A key of an account that can be paid. */
function checkKey(account: AccountKind, bytes: Uint8Array): Checked<Secret<Hex>> {
  const { length } = bytes;
  const key = new Secret(toHex(bytes));
  if (length !== 32 && (account === "evm" || length !== 64)) {
    return { found: `${length} byte${length === 1 ? "" : "s"} of hex` };
  }
  if (account === "substrate") {
    // 64 bytes begin with a canonical, non-zero scalar of the group.
    const isKey = length === 32 || Fn.isValidNot0(bytesToNumberLE(bytes.subarray(0, 32)));
    return isKey ? { value: key } : { found: "64 bytes that are not an expanded sr25519 key" };
  }
  if (!secp256k1.utils.isValidSecretKey(bytes)) {
    return { found: "a number outside of the secp256k1 group order" };
  }
  return signerAddress(key)[0] === 0
    ? { found: "the key of an address that begins with a zero byte", hint: UNCLAIMABLE_HINT }
    : { value: key };
}

/** A key in hex. */
export function readKey(account: AccountKind, text: string): Checked<Secret<Hex>> {
  const digits = text.replace(/^0x/i, "");
  if (digits === "") return { found: "no digits" };
  if (!/^[0-9a-fA-F]+$/.test(digits)) return { found: "other characters than hex digits" };
  if (digits.length % 2 !== 0) return { found: `${digits.length} hex digits` };
  return checkKey(account, fromHex(digits));
}

/** An API key; an empty text means that there is none. */
export const apiKey: Type<Secret<string> | undefined> = text(
  "an API key (may be an empty text)",
  (given) => ({ value: given.trim() === "" ? undefined : new Secret(given.trim()) }),
);

/** Reads a key from the text of `signer`, with the section that may name the file of a keystore's password. */
function readLocalKey(
  files: ConfigFiles,
  account: AccountKind,
  { section, given }: { readonly section: TomlTable; readonly given: string },
): Checked<Secret<Hex>> {
  if (given === "") return { found: "an empty text" };
  if (given.startsWith(KEYSTORE_PREFIX)) {
    const path = given.slice(KEYSTORE_PREFIX.length).trim();
    const opened = openKeystoreFile(files, path, { account, passwordFile: section[PASSWORD_KEY] });
    const checked = "found" in opened ? opened : checkKey(account, opened.value);
    return placed(files, checked, { path, place: given });
  }
  if (/^0x/i.test(given) || /^[0-9a-fA-F]{32,}$/.test(given)) return readKey(account, given);
  if (given.startsWith("//") || given.split(/\s+/).length >= 3) {
    return {
      found: "several words or a derivation path",
      hint: "seed phrases and derivation paths are not supported; give the seed as hex",
    };
  }
  if (/^https?:\/\//i.test(given)) {
    const hint = account === "evm" ? `of a Web3Signer, write "${REMOTE_PREFIX}" before it` : undefined;
    return { found: "a URL", hint };
  }
  return placed(files, readKeyFile(files, account, given), { path: given, place: given });
}

/** The key with the place that it was read from, which is no secret. */
function placed(
  files: ConfigFiles,
  checked: Checked<Secret<Hex>>,
  { path, place }: { readonly path: string; readonly place: string },
): Checked<Secret<Hex>> {
  if ("found" in checked) return checked;
  return { value: new Secret(checked.value.reveal(), place), remarks: remarksOnMode(files, path) };
}

/** A warning where a file can be read by others. */
function remarksOnMode(files: ConfigFiles, path: string): readonly Statement[] {
  const found = describeExposure(files.readMode?.(path));
  if (found === undefined) return [];
  return [{ kind: "warning", found, expected: "mode 600 or 640", hint: "chmod 600" }];
}

function readKeyFile(files: ConfigFiles, account: AccountKind, path: string): Checked<Secret<Hex>> {
  const file = readTextFile(files, path);
  if ("found" in file) return { found: `a text that is not hex, and as a path: ${file.found}` };
  const text = file.value.trim();
  if (text.startsWith("{")) {
    const hint = `of a keystore, write "${KEYSTORE_PREFIX}" before the path`;
    return { found: "a file that holds no hex", hint };
  }
  const checked = readKey(account, text);
  return "found" in checked ? { ...checked, found: `a file that holds ${checked.found}` } : checked;
}

/** True for a private key that stands in the configuration itself, and comes from no variable. */
export function isInlineKey({ key, value, variables }: EffectiveValue): boolean {
  return key === "signer" && value instanceof Secret && value.place === undefined && variables.length === 0;
}

/** Who signs for an EVM account: a private key, or a Web3Signer that holds it. */
import { fromHex, type Hex } from "../encoding/bytes.ts";
import { toEvmAddress } from "../ismp/signed_messages.ts";
import type { Checked } from "./diagnostics.ts";
import { addressOf, readUrl } from "./values.ts";
import { isRemote, REMOTE_PREFIX, RemoteSigner, type Secret } from "./redact.ts";
import { type Key, optional } from "./schema.ts";
import type { TomlTable } from "./toml.ts";

/** A private key, or who holds it. */
export type EvmSigner = Secret<Hex> | RemoteSigner;

/** Name of the key for the account of a Web3Signer. */
const ADDRESS_KEY = "signer_address";

/** Why an account must not begin with a zero byte. */
export const UNCLAIMABLE_HINT =
  "the hub cannot read such an address in a proof, so no fee and no reward could ever be claimed with it; " +
  "make another key (one in 256 is like this)";

const accountAddress = addressOf(
  "an address of 20 bytes (0x and 40 hex digits)",
  (address) =>
    address.startsWith("0x00")
      ? { found: "an address that begins with a zero byte", hint: UNCLAIMABLE_HINT }
      : undefined,
);

/** Addresses of keys: a start asks for each a few times, and deriving one takes milliseconds. */
const keyAddresses = new WeakMap<Secret<Hex>, Uint8Array>();

/** 20-byte address of a signer. @throws {SignatureError} `bad_key`. */
export function signerAddress(signer: EvmSigner): Uint8Array {
  if (signer instanceof RemoteSigner) return fromHex(signer.address);
  const address = keyAddresses.get(signer) ?? toEvmAddress(fromHex(signer.reveal()));
  keyAddresses.set(signer, address);
  return address;
}

/** Reads `web3signer:URL` with the address that the section names beside it. */
export function readRemoteSigner(given: string, section: TomlTable): Checked<RemoteSigner> {
  const url = readUrl(given.slice(REMOTE_PREFIX.length), ["http", "https"]);
  if ("found" in url) return { found: `a remote signer at ${url.found}` };
  const { search, hash } = new URL(url.value.reveal());
  if (search !== "" || hash !== "") return { found: "a remote signer at a URL with a query or a fragment" };
  const named = section[ADDRESS_KEY];
  if (named === undefined) {
    return {
      found: "a remote signer without the address of its account",
      hint: `name it in ${ADDRESS_KEY}: a Web3Signer may hold many keys`,
    };
  }
  const address = accountAddress.safeParse(named);
  if (!address.success) return { found: `a remote signer whose ${ADDRESS_KEY} is wrong` };
  return { value: new RemoteSigner(url.value.reveal(), address.data) };
}

/** Says why a key has no effect: it belongs to a kind of signer that the section does not have. */
export function idleUnless(
  isMeant: (signer: string) => boolean,
  advice: string,
): (section: TomlTable) => string | undefined {
  return ({ signer }) => {
    if (signer === undefined) return "the section has no signer";
    return typeof signer === "string" && !isMeant(signer.trim()) ? advice : undefined;
  };
}

/** Key for the account of the section's Web3Signer. */
export const signerAddressKey: Key<string | undefined> = {
  ...optional(accountAddress, {
    name: ADDRESS_KEY,
    description:
      `Only for a \`signer\` that is a Web3Signer ("${REMOTE_PREFIX}..."): which of its accounts signs.`,
    example: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
  }),
  idleReason: idleUnless(
    isRemote,
    `the signer is no Web3Signer: write "${REMOTE_PREFIX}" before its URL, or remove this key`,
  ),
};

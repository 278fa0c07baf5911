/**
 * Keystores of polkadot-js, version 3: a PKCS#8-like text of an sr25519 key, in XSalsa20-Poly1305 under a key of
 * scrypt. Source: polkadot-js/common: packages/keyring/src/pair/{encode,decode,defaults}.ts,
 * packages/util-crypto/src/{json,scrypt}. Pure.
 */
import { readOrUndefined } from "../../encoding/coded_error.ts";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa";
import { scrypt } from "@noble/hashes/scrypt.js";
import { u32 } from "scale-ts";
import * as z from "zod";
import { concatBytes, equalBytes, fromHex } from "../../encoding/bytes.ts";
import {
  SignatureError,
  sr25519PublicKey,
  sr25519Secret,
  withoutCofactor,
} from "../../ismp/signed_messages.ts";
import { ss58Address, ss58PublicKey } from "../../substrate/ss58.ts";
import { damaged, type OpenedKeystore, WRONG_PASSWORD } from "./opened_keystore.ts";

/** Salt of 32 bytes, then N, p, r as little-endian 32-bit integers. */
const SALT_BYTES = 32;
const SCRYPT_BYTES = SALT_BYTES + 3 * 4;
const NONCE_BYTES = 24;

/** `N, p, r` that polkadot-js accepts: packages/util-crypto/src/scrypt/defaults.ts, `ALLOWED_PARAMS`. */
const ALLOWED_PARAMS: ReadonlySet<string> = new Set([
  [2 ** 13, 10, 8],
  [2 ** 14, 5, 8],
  [2 ** 15, 3, 8],
  [2 ** 15, 1, 8],
  [2 ** 16, 2, 8],
  [2 ** 17, 1, 8],
].map(String));

/** Stand before the secret key of 64 bytes, and between it and the public key: packages/keyring/src/pair/defaults.ts. */
const PAIR_HEADER = fromHex("0x3053020101300506032b657004220420");
const PAIR_DIVIDER = fromHex("0xa123032100");
const SECRET_BYTES = 64;

const words = z.union([z.string().transform((word) => [word]), z.array(z.string())]);

const keystoreShape = z.object({
  encoded: z.string(),
  encoding: z.object({ content: words, type: words, version: z.string() }),
  address: z.string().optional(),
});

/** `N, p, r` of new keystores: packages/util-crypto/src/scrypt/defaults.ts, `DEFAULT_PARAMS`. */
const NEW_SCRYPT = { N: 2 ** 17, p: 1, r: 8 };

/** A new keystore of an sr25519 key (mini secret or 64 bytes), as JSON. @param randomBytes of a secure source. */
export function encryptSr25519Key(
  key: Uint8Array,
  password: string,
  randomBytes: (count: number) => Uint8Array,
): string {
  const [salt, nonce] = [randomBytes(SALT_BYTES), randomBytes(NONCE_BYTES)];
  const publicKey = sr25519PublicKey(key);
  const { N, p, r } = NEW_SCRYPT;
  const head = concatBytes(salt, u32.enc(N), u32.enc(p), u32.enc(r));
  const derived = scrypt(new TextEncoder().encode(password), salt, { N, p, r, dkLen: 64 }).subarray(0, 32);
  const plain = concatBytes(PAIR_HEADER, sr25519Secret(key), PAIR_DIVIDER, publicKey);
  const sealed = xsalsa20poly1305(derived, nonce).encrypt(plain);
  return JSON.stringify({
    encoded: concatBytes(head, nonce, sealed).toBase64(),
    encoding: { content: ["pkcs8", "sr25519"], type: ["scrypt", "xsalsa20-poly1305"], version: "3" },
    address: ss58Address(publicKey),
    meta: {},
  });
}

/** True for JSON that means to be such a keystore. */
export function isPolkadotKeystore(json: object): boolean {
  return "encoded" in json && "encoding" in json;
}

/** The sr25519 key of an account: 64 bytes, its scalar without the cofactor. */
export function openPolkadotKeystore(json: object, password: string): OpenedKeystore {
  const parsed = keystoreShape.safeParse(json);
  if (!parsed.success) return damaged(parsed.error.issues[0]?.path.join(".") ?? "");
  const { encoded, encoding, address } = parsed.data;
  const { content: [, kind = "unknown"], type, version } = encoding;
  if (kind !== "sr25519") {
    return { found: `a keystore of a key of type ${known(kind)}`, hint: "the hub needs sr25519 keys" };
  }
  if (version !== "3" || type.join() !== "scrypt,xsalsa20-poly1305") {
    return {
      found: type.includes("none") ? "a keystore without encryption" : "a keystore of another version than 3",
      hint: "export it again with a password",
    };
  }
  const bytes = decodeBytes(encoded);
  if (bytes === undefined || bytes.length < SCRYPT_BYTES + NONCE_BYTES) return damaged("encoded");
  const derived = deriveKey(bytes.subarray(0, SCRYPT_BYTES), password);
  if (derived === undefined) {
    return { found: "a keystore with parameters of scrypt that polkadot-js does not use" };
  }
  const nonce = bytes.subarray(SCRYPT_BYTES, SCRYPT_BYTES + NONCE_BYTES);
  const plain = decrypt(derived, nonce, bytes.subarray(SCRYPT_BYTES + NONCE_BYTES));
  return plain === undefined ? WRONG_PASSWORD : readPair(plain, address);
}

/** Kinds of keys that polkadot-js has; anything else may be text of somebody. */
function known(kind: string): string {
  return ["ed25519", "ecdsa", "ethereum"].includes(kind) ? kind : "that is unknown";
}

/** Base64 or, in old files, hex. */
function decodeBytes(text: string): Uint8Array | undefined {
  return readOrUndefined(() =>
    text.startsWith("0x") ? Uint8Array.fromHex(text.slice(2)) : Uint8Array.fromBase64(text)
  );
}

function deriveKey(head: Uint8Array, password: string): Uint8Array | undefined {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const [N, p, r] = [0, 4, 8].map((at) => view.getUint32(SALT_BYTES + at, true));
  if (N === undefined || p === undefined || r === undefined) return undefined;
  if (!ALLOWED_PARAMS.has(String([N, p, r]))) return undefined;
  return scrypt(new TextEncoder().encode(password), head.subarray(0, SALT_BYTES), { N, p, r, dkLen: 64 })
    .subarray(0, 32);
}

/** `undefined`: the tag does not fit, so the password is another one, or a byte was changed. */
function decrypt(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
  return readOrUndefined(() => xsalsa20poly1305(key, nonce).decrypt(sealed));
}

function readPair(plain: Uint8Array, address: string | undefined): OpenedKeystore {
  const divider = PAIR_HEADER.length + SECRET_BYTES;
  const end = divider + PAIR_DIVIDER.length;
  const isPair = equalBytes(plain.subarray(0, PAIR_HEADER.length), PAIR_HEADER) &&
    equalBytes(plain.subarray(divider, end), PAIR_DIVIDER) && plain.length === end + 32;
  if (!isPair) return damaged("no key pair inside");
  const key = withoutCofactor(plain.slice(PAIR_HEADER.length, divider));
  try {
    const publicKey = sr25519PublicKey(key);
    if (!equalBytes(publicKey, plain.subarray(end))) return damaged("its two keys do not belong together");
    const named = address === undefined ? publicKey : ss58PublicKey(address);
    if (named === undefined) return damaged("address");
    return equalBytes(named, publicKey)
      ? { value: key }
      : { found: "a keystore that names the address of another key" };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return damaged("no sr25519 key");
  }
}

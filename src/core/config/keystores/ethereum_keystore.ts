/**
 * Keystores of Ethereum accounts, version 3: AES-128 in counter mode under a key of scrypt or PBKDF2, with a MAC of
 * Keccak-256. Source: ethereum/ethereum-org-website: public/content/developers/docs/data-structures-and-encoding/
 * web3-secret-storage/index.md ("Web3 Secret Storage Definition"). Pure.
 */
import { ctr } from "@noble/ciphers/aes";
import { scrypt } from "@noble/hashes/scrypt.js";
import { pbkdf2Sync } from "node:crypto";
import * as z from "zod";
import { concatBytes, equalBytes, fromHex, keccak256, toHex } from "../../encoding/bytes.ts";
import { SignatureError, toEvmAddress } from "../../ismp/signed_messages.ts";
import { damaged, type OpenedKeystore, WRONG_PASSWORD } from "./opened_keystore.ts";

/**
 * Bounds of what opening may cost, about two seconds: the memory as the library counts it, 128 * r * (N + p + 1), and the
 * work N * r * p, which geth's "standard" scrypt needs half of (256 MiB). Of PBKDF2 a million rounds take 0.3 s.
 */
const MAX_SCRYPT_BYTES = 2 ** 29;
const MAX_SCRYPT_WORK = 2 ** 22;
const MAX_PBKDF2_ROUNDS = 5_000_000;

const hexBytes = z.string().regex(/^(?:0x)?(?:[0-9a-fA-F]{2})*$/)
  .transform((text) => fromHex(text.replace(/^0x/, "")));
const count = z.int().min(1);

const keystoreShape = z.object({
  version: z.literal(3),
  address: z.string().regex(/^(?:0x)?[0-9a-fA-F]{40}$/).optional(),
  crypto: z.intersection(
    z.object({
      cipher: z.literal("aes-128-ctr"),
      cipherparams: z.object({ iv: hexBytes.refine(({ length }) => length === 16) }),
      ciphertext: hexBytes,
      mac: hexBytes.refine(({ length }) => length === 32),
    }),
    z.discriminatedUnion("kdf", [
      z.object({
        kdf: z.literal("scrypt"),
        kdfparams: z.object({ dklen: count, n: count, r: count, p: count, salt: hexBytes }),
      }),
      z.object({
        kdf: z.literal("pbkdf2"),
        kdfparams: z.object({ dklen: count, c: count, prf: z.literal("hmac-sha256"), salt: hexBytes }),
      }),
    ]),
  ),
});

type CryptoSection = z.infer<typeof keystoreShape>["crypto"];

/** Costs of new keystores: those of `geth account new` (ethereum/go-ethereum: accounts/keystore/passphrase.go). */
const NEW_SCRYPT = { n: 2 ** 18, r: 8, p: 1, dklen: 32 };

/** A new keystore of a secp256k1 key, as JSON. @param randomBytes of a secure source. */
export function encryptEthereumKey(
  key: Uint8Array,
  password: string,
  randomBytes: (count: number) => Uint8Array,
): string {
  const [salt, iv, id] = [randomBytes(32), randomBytes(16), randomBytes(16)];
  const bare = (bytes: Uint8Array): string => toHex(bytes).slice(2);
  const { n: N, r, p, dklen: dkLen } = NEW_SCRYPT;
  const derived = scrypt(new TextEncoder().encode(password), salt, { N, r, p, dkLen });
  const ciphertext = ctr(derived.subarray(0, 16), iv).encrypt(key);
  const mac = keccak256(concatBytes(derived.subarray(16, 32), ciphertext));
  return JSON.stringify({
    version: 3,
    id: toUuid(id),
    address: bare(toEvmAddress(key)),
    crypto: {
      cipher: "aes-128-ctr",
      cipherparams: { iv: bare(iv) },
      ciphertext: bare(ciphertext),
      kdf: "scrypt",
      kdfparams: { ...NEW_SCRYPT, salt: bare(salt) },
      mac: bare(mac),
    },
  });
}

/** A random UUID (RFC 9562, version 4) of 16 random bytes. */
function toUuid(random: Uint8Array): string {
  const bytes = random.slice();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return toHex(bytes).slice(2).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** True for JSON that means to be such a keystore. */
export function isEthereumKeystore(json: object): boolean {
  return "crypto" in json || "Crypto" in json;
}

/** The key of an account; the section is `crypto` or, in old files, `Crypto`. */
export function openEthereumKeystore(json: object, password: string): OpenedKeystore {
  const parsed = keystoreShape.safeParse("Crypto" in json ? { crypto: json.Crypto, ...json } : json);
  if (!parsed.success) {
    const path = parsed.error.issues[0]?.path.join(".") ?? "";
    return {
      found: `a keystore of another kind than version 3${path === "" ? "" : ` (${path})`}`,
      hint: "AES-128-CTR with scrypt or PBKDF2 (hmac-sha256) is supported",
    };
  }
  const { address, crypto } = parsed.data;
  const derived = deriveKey(crypto, new TextEncoder().encode(password));
  if (derived === undefined) {
    const hint = "opening it would need too much time or memory: encrypt the key again (keys encrypt)";
    return { found: "a keystore with parameters of scrypt or PBKDF2 out of bounds", hint };
  }
  const { ciphertext, mac, cipherparams } = crypto;
  if (!equalBytes(keccak256(concatBytes(derived.subarray(16, 32), ciphertext)), mac)) return WRONG_PASSWORD;
  const key = ctr(derived.subarray(0, 16), cipherparams.iv).decrypt(ciphertext);
  return key.length === 32 ? checkAddress(key, address) : damaged(`a key of ${key.length} bytes`);
}

function deriveKey(crypto: CryptoSection, password: Uint8Array): Uint8Array | undefined {
  // Cipher and MAC take the first 32 bytes.
  if (crypto.kdfparams.dklen < 32 || crypto.kdfparams.dklen > 64) return undefined;
  if (crypto.kdf === "pbkdf2") {
    const { c, dklen: dkLen, salt } = crypto.kdfparams;
    return c > MAX_PBKDF2_ROUNDS ? undefined : pbkdf2Sync(password, salt, c, dkLen, "sha256");
  }
  const { n: N, r, p, dklen: dkLen, salt } = crypto.kdfparams;
  if (N * r * p > MAX_SCRYPT_WORK) return undefined;
  try {
    return scrypt(password, salt, { N, r, p, dkLen, maxmem: MAX_SCRYPT_BYTES });
  } catch {
    return undefined; // the library has bounds of its own, too
  }
}

function checkAddress(key: Uint8Array, address: string | undefined): OpenedKeystore {
  try {
    const own = toHex(toEvmAddress(key));
    if (address === undefined || `0x${address.replace(/^0x/, "").toLowerCase()}` === own) {
      return { value: key };
    }
    return { found: `a keystore that names the address of another key; its key has ${own}` };
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    return damaged("no secp256k1 key");
  }
}

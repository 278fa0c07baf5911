/** What opening an encrypted keystore gives. */

/** A key, or what is wrong; the texts hold nothing of key and password. */
export type OpenedKeystore =
  | { readonly key: Uint8Array }
  | { readonly found: string; readonly hint?: string };

/** A password that does not open a keystore: nothing else can be told apart from it. */
export const WRONG_PASSWORD: OpenedKeystore = {
  found: "a keystore that its password does not open",
  hint: "check keystore_password_file: its first line is the password",
};

/** A keystore that is not what it should be. */
export function damaged(what: string): OpenedKeystore {
  return { found: `a damaged keystore (${what})` };
}

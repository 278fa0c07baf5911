/** What opening an encrypted keystore gives. */
import type { Checked, InvalidValue } from "../diagnostics.ts";

/** A key, or what is wrong. */
export type OpenedKeystore = Checked<Uint8Array>;

/** A password that does not open a keystore: nothing else can be told apart from it. */
export const WRONG_PASSWORD: InvalidValue = {
  found: "a keystore that its password does not open",
  hint: "check keystore_password_file: its first line is the password",
};

/** A keystore that is not what it should be. */
export function damaged(what: string): InvalidValue {
  return { found: `a damaged keystore (${what})` };
}

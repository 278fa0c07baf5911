/** How `signer` names a Web3Signer. Apart from reading one, so that commands know it without the libraries of keys. */

/** Before the URL of a Web3Signer. */
export const REMOTE_PREFIX = "web3signer:";

/** Says that a text means a Web3Signer. */
export function isRemote(given: string): boolean {
  return given.startsWith(REMOTE_PREFIX);
}

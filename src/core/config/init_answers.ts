/** What `config init` knows when it writes a file. Pure. */
import type { NamedChain, Network } from "./live_chains.ts";
import { isRemote } from "./redact.ts";

/** What the operator has said; what is missing becomes a blank. */
export interface InitAnswers {
  readonly network: Network;
  /** At least one, all of that network. */
  readonly chains: readonly NamedChain[];
  readonly hubUrl: string | undefined;
  /** Endpoints by name of the chain. */
  readonly urls: ReadonlyMap<string, readonly string[]>;
  /** Keys of accounts as `signer` takes them, by name of the chain. */
  readonly signers: ReadonlyMap<string, string>;
  /** Addresses of accounts that a Web3Signer signs for, by name of the chain. */
  readonly signerAddresses: ReadonlyMap<string, string>;
}

/** What is said of accounts. */
type AccountAnswers = Pick<InitAnswers, "signers" | "signerAddresses">;

/** Keys of a chain's section that name its account, with their values; what is to be filled in is empty. */
export function accountKeys(
  { signers, signerAddresses }: AccountAnswers,
  chain: string,
): Readonly<Record<string, string>> {
  const signer = signers.get(chain) ?? "";
  return isRemote(signer) ? { signer, signer_address: signerAddresses.get(chain) ?? "" } : { signer };
}

/** Those of them that are to be filled in, with their section. */
export function accountBlanks(answers: AccountAnswers, chain: string): readonly string[] {
  return Object.entries(accountKeys(answers, chain)).flatMap(([key, value]) =>
    value === "" ? [`[${chain}].${key}`] : []
  );
}

/** The text of the file, and the keys that are left to be filled in. */
export interface InitFile {
  readonly text: string;
  readonly blanks: readonly string[];
}

/** Comment of a chain's section. */
export function describeChain({ name, explorer, isRollup }: NamedChain): string {
  const node = isRollup
    ? " An L2 of Ethereum: its node must keep old state (an archive node), since the hub's view of it is behind by " +
      "more than other nodes remember."
    : "";
  return `${name}, explorer ${explorer}.${node}`;
}

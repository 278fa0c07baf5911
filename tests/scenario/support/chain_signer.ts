/** A running Web3Signer with the relayer's key. */
import assert from "node:assert/strict";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../../devnet/evm/accounts.ts";
import { DevnetWeb3Signer } from "../../../devnet/evm/web3signer.ts";
import type { SectionChanges } from "../../../devnet/programs/relayer_config.ts";
import type { TestServer } from "../../support/test_server.ts";
import type { RelayerLine } from "./relayer_process.ts";
import { SECRETS } from "./secrets.ts";

/** See the head of the file. */
export class ChainSigner implements AsyncDisposable {
  readonly signer = new DevnetWeb3Signer({ keys: [DEVNET_KEYS.user, DEVNET_KEYS.relayer] });
  readonly #server: TestServer = this.signer.serve();

  /** `127.0.0.1:<port>`, as logs name it. */
  get host(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  /** Keys of the section of its chain. */
  get keys(): SectionChanges {
    return {
      signer: `web3signer:http://${SECRETS.user}:${SECRETS.password}@${this.host}`,
      signer_address: DEVNET_ACCOUNTS.relayer.address,
    };
  }

  /** @throws {assert.AssertionError} when a line does not name its host and each of `names`. */
  assertNamed({ record, text }: RelayerLine, names: readonly string[]): void {
    assert.equal(record?.endpoint, this.host, text);
    for (const name of names) assert.ok(text.includes(name), text);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.stop();
  }
}

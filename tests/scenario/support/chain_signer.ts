/** A Web3Signer with the relayer's key, which can go away and come back at the same address. */
import assert from "node:assert/strict";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../../devnet/evm/accounts.ts";
import { DevnetWeb3Signer } from "../../../devnet/evm/web3signer.ts";
import { KeptPort } from "../../../devnet/kept_port.ts";
import type { SectionChanges } from "../../../devnet/programs/relayer_config.ts";
import type { TestServer } from "../../support/test_server.ts";
import type { RelayerLine } from "./relayer_process.ts";
import { SECRETS } from "./secrets.ts";

/** See the head of the file. */
export class ChainSigner implements AsyncDisposable {
  readonly signer: DevnetWeb3Signer;
  readonly #port = new KeptPort();
  #server: TestServer | undefined;

  private constructor() {
    this.signer = new DevnetWeb3Signer({ keys: [DEVNET_KEYS.user, DEVNET_KEYS.relayer] });
  }

  /** Starts one. */
  static async start(): Promise<ChainSigner> {
    const started = new ChainSigner();
    await started.comeBack();
    return started;
  }

  /** `127.0.0.1:<port>`, as logs name it. */
  get host(): string {
    return `127.0.0.1:${this.#port.number}`;
  }

  /** Keys of the section of its chain. */
  get keys(): SectionChanges {
    return {
      signer: `web3signer:http://${SECRETS.user}:${SECRETS.password}@${this.host}`,
      signer_address: DEVNET_ACCOUNTS.relayer.address,
    };
  }

  /** Nobody answers at its address. */
  async goAway(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  /** It answers again. */
  async comeBack(): Promise<void> {
    this.#server = await this.#port.listen((port) => this.signer.serve(port));
  }

  /** @throws {assert.AssertionError} when a line does not name its host and each of `names`. */
  assertNamed({ record, text }: RelayerLine, names: readonly string[]): void {
    assert.equal(record?.endpoint, this.host, text);
    for (const name of names) assert.ok(text.includes(name), text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.goAway();
    this.#port[Symbol.dispose]();
  }
}

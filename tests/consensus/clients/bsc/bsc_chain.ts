/** A BSC-type chain in memory: headers made by the rule of the devnet's validators, and a hub that follows it. */
import { USUAL_UNBONDING_SEC } from "../../../../src/consensus/prover.ts";
import { toHash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { type BscNetwork, findBscNetwork } from "../../../../src/consensus/clients/bsc/spec/extra_data.ts";
import {
  type BscConsensusState,
  bscConsensusStateCodec,
  epochLengthCodec,
  epochLengthKey,
  initialBscState,
} from "../../../../src/consensus/clients/bsc/spec/update.ts";
import {
  decodeBscState,
  decodeBscUpdate,
  verifyBscUpdate,
} from "../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { toAddress } from "../../../../src/core/evm/address.ts";
import { type EvmBlockHeader, hashBlockHeader } from "../../../../src/core/evm/block_header.ts";
import {
  evmStateMachine,
  toConsensusClientId,
  toConsensusStateId,
} from "../../../../src/core/ismp/state_machine.ts";
import type { BscProverDeps } from "../../../../src/consensus/clients/bsc/client.ts";
import { type BscChainOptions, bscHeaderRule } from "../../../../devnet/evm/bsc_validators.ts";
import type { HeaderRule, RewrittenHeader } from "../../../../devnet/evm/header_rewriter.ts";
import { type ClientKind, ClientTarget } from "../../../support/client_target.ts";
import type { UpdateRules } from "../../../support/memory_target.ts";

const found = findBscNetwork(97);
if (found === undefined) throw new Error("Chapel is not known");

/** The network of the tests. */
export const chapel: BscNetwork = found;

/** Name of the client on the hub. */
export const BSC0 = toConsensusStateId("BSC0");

const zero = toHash256(new Uint8Array(32));

/** A header without content, with a state of its own. */
export function emptyHeader(number: bigint): EvmBlockHeader {
  return {
    parentHash: zero,
    unclesHash: zero,
    coinbase: toAddress(new Uint8Array(20)),
    stateRoot: toHash256(new Uint8Array(32).fill(Number(number % 251n) + 1)),
    transactionsRoot: zero,
    receiptsRoot: zero,
    logsBloom: new Uint8Array(256),
    difficulty: 2n,
    number,
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestampSec: 1_770_000_000n + number,
    extraData: new Uint8Array(0),
    mixHash: zero,
    nonce: new Uint8Array(8),
    baseFeePerGas: 0n,
    withdrawalsRoot: zero,
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: zero,
    requestsHash: zero,
  };
}

/** Headers of the chain; `head` is the newest that is told. */
export class MemoryBscChain {
  readonly #rule: HeaderRule;
  readonly #headers: RewrittenHeader[] = [];
  /** Changes the answer about a block: the hash is made again, as a node that lies would. */
  lie: ((header: EvmBlockHeader) => EvmBlockHeader) | undefined;
  head = 0n;
  /** Requests since the start: of one header by its hash, and of ranges. */
  requests = 0;

  constructor(options: Omit<BscChainOptions, "network">) {
    this.#rule = bscHeaderRule({ ...options, network: chapel });
  }

  at(number: bigint): RewrittenHeader {
    while (BigInt(this.#headers.length) <= number) {
      const base = emptyHeader(BigInt(this.#headers.length));
      const parentHash = this.#headers.at(-1)?.hash ?? zero;
      const header = { ...this.#rule(base, this.#headers), parentHash };
      const hash = hashBlockHeader(header);
      this.#headers.push({ header, hash, nodeHash: hash });
    }
    const header = this.#headers[Number(number)];
    if (header === undefined) throw new RangeError(`No block ${number}`);
    return header;
  }

  #find(which: bigint | string, told: (header: EvmBlockHeader) => EvmBlockHeader): EvmBlockHeader {
    if (typeof which === "bigint") return this.at(which).header;
    if (which === "latest") return this.at(this.head).header;
    for (let number = this.head; number >= 0n; number--) {
      const { header, hash } = this.at(number);
      if (hashBlockHeader(told(header)) === which || hash === which) return header;
    }
    throw new Error(`No block ${which}`);
  }

  /** The chain as the prover reads it. */
  get reader(): BscProverDeps["headers"] {
    const told = (header: EvmBlockHeader): EvmBlockHeader => this.lie?.(header) ?? header;
    return {
      hosts: ["bsc.example"],
      chain: evmStateMachine(chapel.chainId),
      fetchHeaders: (which) => {
        this.requests++;
        const headers = which.map((each) => told(this.#find(each, told)));
        return Promise.resolve(headers.map((header) => ({ header, hash: hashBlockHeader(header) })));
      },
      fetchChainIds: () => Promise.resolve([{ host: "bsc.example", id: 97n }]),
    };
  }
}

/** What the hub's client makes of an update, with the length of epochs that the hub stores. */
const bscRules: UpdateRules = (proof, client, target) => {
  const epochLength = target.storage.get(toHex(epochLengthKey()));
  const { consensusState, commitment } = verifyBscUpdate(
    decodeBscState(client.state),
    decodeBscUpdate(proof),
    {
      network: chapel,
      epochLength: epochLength && epochLengthCodec.dec(epochLength),
      consensusStateId: client.id,
    },
  );
  return { state: bscConsensusStateCodec.enc(consensusState), commitments: [commitment] };
};

const bscClient: ClientKind<BscConsensusState> = {
  id: BSC0,
  clientId: toConsensusClientId("BSCP"),
  unbondingSec: USUAL_UNBONDING_SEC,
  chain: { stateMachine: evmStateMachine(chapel.chainId), consensusStateId: BSC0 },
  codec: { enc: bscConsensusStateCodec.enc, dec: decodeBscState },
  rules: bscRules,
};

/** A hub with one client of the chain, which it updated long ago. */
export function bscTarget(
  chain: MemoryBscChain,
  epochLength: bigint,
  epoch = 0n,
): ClientTarget<BscConsensusState> {
  const target = new ClientTarget(bscClient);
  const { header } = chain.at(epoch * epochLength);
  target.put(epochLengthKey(), epochLengthCodec.enc(epochLength));
  target.start(bscConsensusStateCodec.enc(initialBscState(chapel, header, epochLength)));
  target.nowSec = 1_000_000n;
  return target;
}

/**
 * The Substrate node of an EVM chain with pallet-revive: it follows an anvil, and proves what contracts store there over the
 * JSON-RPC of a Substrate node. Start reading at {@link startReviveNode}.
 */
import {
  decodeMetadata,
  encodeMetadata,
  type MetadataV14,
  RuntimeMetadata,
} from "../hub/runtime_metadata.ts";
import { fromHex, type Hash256, type Hex, toHex } from "../../src/core/encoding/bytes.ts";
import type { SimulatedHeader } from "../hub/digest.ts";
import { chainMethods } from "../hub/rpc/chain_methods.ts";
import type { BlockName } from "../hub/hub_options.ts";
import { SimulatedNode } from "../hub/simulated_node.ts";
import { blockParam, hexesParam, hexParam, type RpcMethods } from "../hub/rpc/json_rpc.ts";
import { executionFailed, metadataApi, storageMethods } from "../hub/rpc/state_methods.ts";
import type { ServedNode } from "../hub/blocks.ts";
import { MirroredBlocks, REVIVE_SLOT_MS } from "./mirrored_blocks.ts";

/**
 * Runtime metadata of a Substrate chain with pallet-revive: the pallets `System` and `Timestamp` of a real runtime, and of
 * `Revive` what is needed to read accounts. Source of the types: paritytech/polkadot-sdk:
 * substrate/frame/revive/src/storage.rs.
 */

type Lookup = MetadataV14["lookup"];
type Definition = Lookup[number]["def"];

/** Pallets that are kept of the real runtime. */
const KEPT: ReadonlySet<string> = new Set(["System", "Timestamp"]);

/** Index that the pallet has on Polkadot Hub. */
const PALLET_INDEX = 60;

/** Encodes the metadata. @param contractVariant index of contracts among the kinds of accounts. */
export function reviveMetadata(contractVariant = 0): Uint8Array {
  const { lookup, pallets, ...rest } = decodeMetadata(RuntimeMetadata.load("gargantua").bytes);
  const types = new Types(lookup);
  const [h160, bytes, u32, u128] = [
    types.named("H160"),
    types.find(({ tag, value }) => tag === "sequence" && value === types.primitive("u8")),
    types.primitive("u32"),
    types.primitive("u128"),
  ];
  const hash = types.named("H256");
  const contract = types.add(["pallet_revive", "storage", "ContractInfo"], {
    tag: "composite",
    value: [
      ["trie_id", bytes],
      ["code_hash", hash],
      ["storage_bytes", u32],
      ["storage_items", u32],
      ["storage_byte_deposit", u128],
      ["storage_item_deposit", u128],
      ["storage_base_deposit", u128],
      ["immutable_data_len", u32],
    ].map(field),
  });
  const kind = types.add(["pallet_revive", "storage", "AccountType"], {
    tag: "variant",
    value: [
      { name: "Contract", index: contractVariant, fields: [field([undefined, contract])], docs: [] },
      { name: "EOA", index: contractVariant + 1, fields: [], docs: [] },
    ],
  });
  const account = types.add(["pallet_revive", "storage", "AccountInfo"], {
    tag: "composite",
    value: [["account_type", kind], ["dust", u32]].map(field),
  });
  const revive: MetadataV14["pallets"][number] = {
    name: "Revive",
    storage: {
      prefix: "Revive",
      items: [{
        name: "AccountInfoOf",
        modifier: 0,
        type: {
          tag: "map",
          value: { hashers: [{ tag: "Identity", value: undefined }], key: h160, value: account },
        },
        fallback: "0x00",
        docs: [],
      }],
    },
    calls: undefined,
    events: undefined,
    constants: [],
    errors: undefined,
    index: PALLET_INDEX,
    docs: [],
  };
  const kept = pallets.filter(({ name }) => KEPT.has(name));
  return encodeMetadata({ ...rest, lookup: types.all, pallets: [...kept, revive] });
}

type Field = Extract<Definition, { readonly tag: "composite" }>["value"][number];

function field([name, type = 0]: readonly (string | number | undefined)[]): Field {
  return {
    name: name === undefined ? undefined : String(name),
    type: Number(type),
    typeName: undefined,
    docs: [],
  };
}

/** Types of a runtime, to which others are added. */
class Types {
  readonly all: Lookup;

  constructor(known: Lookup) {
    this.all = [...known];
  }

  find(isWanted: (definition: Definition) => boolean): number {
    const found = this.all.find(({ def }) => isWanted(def));
    if (found === undefined) throw new Error("The runtime lacks a type");
    return found.id;
  }

  primitive(name: string): number {
    return this.find(({ tag, value }) => tag === "primitive" && value.tag === name);
  }

  named(name: string): number {
    const found = this.all.find(({ path }) => path.at(-1) === name);
    if (found === undefined) throw new Error(`The runtime has no type ${name}`);
    return found.id;
  }

  /** Adds a type. @returns its number. */
  add(path: string[], def: Definition): number {
    const id = this.all.length;
    this.all.push({ id, path, params: [], def, docs: [] });
    return id;
  }
}

/** Milliseconds between two looks at the anvil while nobody asks. */
const FOLLOW_EVERY_MS = 100;

const version = {
  specName: "asset-hub-paseo",
  implName: "revive-simulator",
  authoringVersion: 1,
  specVersion: 2_000_006,
  implVersion: 0,
  // `Metadata`: what the node answers of the runtime's APIs.
  apis: [["0x37e397fc7c91f5e4", 2]],
  transactionVersion: 15,
  systemVersion: 1,
  stateVersion: 1,
};

/** A running node, which follows its anvil. */
export class ReviveNode extends SimulatedNode {
  readonly slotMs = REVIVE_SLOT_MS;
  protected override readonly chain: MirroredBlocks;
  #following: Promise<void> = Promise.resolve();

  /** Not for callers: use {@link startReviveNode}. */
  constructor(chain: MirroredBlocks) {
    super(FOLLOW_EVERY_MS);
    this.chain = chain;
    this.serve({
      methods: reviveMethods({ chain }, chain),
      // What the anvil has by now; without the anvil the node stands still.
      before: () => chain.catchUp().catch(() => undefined),
    });
  }

  /** Follows the anvil, for those who read without asking. One that is frozen or gone is asked again. */
  override produceBlock(): BlockName {
    this.#following = this.chain.catchUp().catch(() => undefined);
    return this.best;
  }

  /** Newest final header: the one that the relay chain has. */
  get head(): SimulatedHeader {
    return this.chain.finalized.header;
  }

  /** Header of a block that the relay chain has or had; `undefined`: it never saw that one. */
  finalHeader(number: number): SimulatedHeader | undefined {
    return number <= this.head.number ? this.header(number) : undefined;
  }

  /** Root of the state after a block of the anvil. */
  async stateRoot(number: bigint): Promise<Hash256> {
    await this.chain.catchUp();
    return this.chain.tries(Number(number)).root;
  }

  /** What a contract has in a slot after a block of the anvil. */
  async slot(number: bigint, contract: Hex, slot: Hash256): Promise<bigint> {
    await this.chain.catchUp();
    return this.chain.tries(Number(number)).slot(contract, slot);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.#following;
  }
}

/** Starts a node for an anvil; what is there already is read before it returns. */
export async function startReviveNode({ rpcUrl }: { readonly rpcUrl: string }): Promise<ReviveNode> {
  const blocks = new MirroredBlocks(rpcUrl);
  await blocks.catchUp();
  const node = new ReviveNode(blocks);
  await node.start();
  return node;
}

function reviveMethods(node: ServedNode, blocks: MirroredBlocks): RpcMethods {
  let encoded: Uint8Array | undefined;
  const metadata = (): Uint8Array => encoded ??= reviveMetadata();
  return {
    ...chainMethods(node),
    ...storageMethods(node),
    state_getChildReadProof: ([trie, keys, at]) => {
      const { header, hash } = blockParam(node, at);
      const wanted = hexesParam(keys, "keys");
      const proof = blocks.tries(header.number).proveChild(hexParam(trie, "childStorageKey"), wanted);
      return { at: hash, proof: proof.map(toHex) };
    },
    childstate_getStorage: ([trie, key, at]) => {
      const { header } = blockParam(node, at);
      const child = blocks.tries(header.number).children.get(toHex(hexParam(trie, "childStorageKey")));
      const found = child?.get(fromHex(toHex(hexParam(key, "key"))));
      return found === undefined ? null : toHex(found);
    },
    state_getMetadata: () => toHex(metadata()),
    state_call: ([method, args]) => {
      const answer = Object.hasOwn(metadataApi, String(method)) ? metadataApi[String(method)] : undefined;
      if (answer !== undefined) return toHex(answer(metadata(), hexParam(args, "args")));
      throw executionFailed(`Exported method ${method} is not found`);
    },
    state_getRuntimeVersion: () => version,
    system_properties: () => ({}),
    system_chain: () => "Paseo Asset Hub devnet",
  };
}

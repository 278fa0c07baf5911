// The bytes of updates: those of the vectors, both ways, and no others.
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import * as arbitrum from "./arbitrum/spec/vectors.ts";
import * as bsc from "./bsc/spec/vectors.ts";
import * as opStack from "./op_stack/spec/vectors.ts";
import { milestoneStep, rotationStep } from "./polygon/spec/known_updates.ts";
import { arbitrumUpdateCodec } from "../../../src/consensus/clients/arbitrum/spec/update.ts";
import { decodeArbitrumUpdate } from "../../../src/consensus/clients/arbitrum/spec/verify_update.ts";
import { bscUpdateCodec } from "../../../src/consensus/clients/bsc/spec/update.ts";
import { decodeBscUpdate } from "../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { opStackUpdateCodec } from "../../../src/consensus/clients/op_stack/spec/update.ts";
import { decodeOpStackUpdate } from "../../../src/consensus/clients/op_stack/spec/verify_update.ts";
import { polygonUpdateCodec } from "../../../src/consensus/clients/polygon/spec/update.ts";
import { decodePolygonUpdate } from "../../../src/consensus/clients/polygon/spec/verify_update.ts";
import { ClientError } from "../../../src/consensus/spec/client_error.ts";
import { concatBytes, fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import type { Codec } from "../../../src/core/encoding/scale.ts";

/** Updates of a client with their bytes in a vector, if they are in one. */
interface Subject<Update> {
  readonly codec: Codec<Update>;
  readonly decode: (bytes: Uint8Array) => Update;
  readonly updates: Readonly<Record<string, readonly [Update, Uint8Array?]>>;
  /** Place of the byte that tells kinds of claims apart, of which there are two. */
  readonly kindAt?: number;
}

const { stateRoot, parentHash } = opStack.faultGame.proof.value.header;
const { withdrawalStorageRoot, version } = opStack.faultGame.proof.value;

/** An output, with its bytes written by hand. */
const output = [
  {
    l1Height: 5n,
    proof: {
      tag: "OpL2Oracle" as const,
      value: {
        stateRoot,
        withdrawalStorageRoot,
        l2BlockHash: parentHash,
        version,
        l2OracleProof: [Uint8Array.of(1)],
        outputRootProof: [Uint8Array.of(2), Uint8Array.of(3)],
        multiProof: [],
        outputRootIndex: 1n,
        blockNumber: 2n,
        timestampSec: 3n,
      },
    },
  },
  concatBytes(
    fromHex("050000000000000000"),
    ...[stateRoot, withdrawalStorageRoot, parentHash, version].map(fromHex),
    fromHex("040401" + "0804020403" + "00" + "0100000000000000" + "0200000000000000" + "0300000000000000"),
  ),
] as const;

function check<Update>(client: string, { codec, decode, updates, kindAt }: Subject<Update>): void {
  for (const [name, [update, known]] of Object.entries(updates)) {
    Deno.test(`bytes of a ${client} update, ${name}: they are known, and a prefix or further bytes are refused`, () => {
      const bytes = codec.enc(update);
      if (known !== undefined) equal(toHex(bytes), toHex(known));
      equal(decode(bytes), update);
      const refused = (wrong: Uint8Array): void =>
        throws(
          () => decode(wrong),
          (error) =>
            error instanceof ClientError && error.code === "undecodable_update" &&
            error.cause instanceof Error,
        );
      for (let length = 0; length < bytes.length; length++) refused(bytes.subarray(0, length));
      refused(concatBytes(bytes, Uint8Array.of(0)));
      if (kindAt !== undefined) refused(bytes.with(kindAt, 2));
    });
  }
}

check("Arbitrum", {
  codec: arbitrumUpdateCodec,
  decode: decodeArbitrumUpdate,
  kindAt: 8,
  updates: {
    assertion: [arbitrum.boldUpdate, arbitrum.synthetic.bytes("bold.scale_arbitrum_update")],
    node: [arbitrum.orbitUpdate, arbitrum.synthetic.bytes("orbit.scale_arbitrum_update")],
    "real assertion": [
      arbitrum.realUpdate,
      arbitrum.realAssertion.bytes("scale_arbitrum_update_with_empty_challenge_proof"),
    ],
  },
});

check("OP stack", {
  codec: opStackUpdateCodec,
  decode: decodeOpStackUpdate,
  kindAt: 8,
  updates: {
    game: [opStack.faultGame, opStack.synthetic.bytes("fault_dispute_game.scale_optimism_update")],
    "aggregate game": [
      opStack.aggregateGame,
      opStack.synthetic.bytes("aggregate_verifier_game.scale_optimism_update"),
    ],
    output,
  },
});

check("BSC", {
  codec: bscUpdateCodec,
  decode: decodeBscUpdate,
  updates: {
    ...Object.fromEntries(
      bsc.realUpdates.map(({ node, update }) =>
        [node.text("name"), [update, node.bytes("scale_bsc_client_update")]] as const
      ),
    ),
    staging: [bsc.staging, bsc.stagingNode.bytes("scale")],
    enactment: [bsc.enactment, bsc.enactmentNode.bytes("scale")],
  },
});

const [{ update: milestone }, { update: rotation }] = await Promise.all([milestoneStep(), rotationStep()]);

check("Polygon", {
  codec: polygonUpdateCodec,
  decode: decodePolygonUpdate,
  updates: { milestone: [milestone], rotation: [rotation] },
});

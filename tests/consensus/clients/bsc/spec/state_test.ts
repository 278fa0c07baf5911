import { readVector } from "../../../vector_node.ts";
import { deepStrictEqual as equal, throws } from "node:assert/strict";
import { toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  type BscConsensusState,
  bscUpdateCodec,
  epochLengthCodec,
  epochLengthKey,
  initialBscState,
  MAX_ANCESTRY,
} from "../../../../../src/consensus/clients/bsc/spec/update.ts";
import { decodeBscUpdate } from "../../../../../src/consensus/clients/bsc/spec/verify_update.ts";
import { ScaleError } from "../../../../../src/core/encoding/scale.ts";
import { allVoted, chapel, enactment } from "./vectors.ts";

Deno.test("BSC SCALE: an ancestry of 1000 headers is carried, one more is not", () => {
  const header = enactment.targetHeader;
  const withAncestry = (count: number): Uint8Array =>
    bscUpdateCodec.enc({ ...enactment, epochHeaderAncestry: Array.from({ length: count }, () => header) });
  const most = withAncestry(MAX_ANCESTRY);
  equal(decodeBscUpdate(most).epochHeaderAncestry.length, MAX_ANCESTRY);
  throws(() => withAncestry(MAX_ANCESTRY + 1), ScaleError);
});

Deno.test("BSC: a client starts with the validators of an epoch's first header", () => {
  const header = allVoted.update.sourceHeader;
  const expected: BscConsensusState = {
    currentValidators: allVoted.trusted.currentValidators,
    nextValidators: undefined,
    finalizedHeight: 86269000n,
    finalizedHash: allVoted.node.at("expected").hash("finalized_hash"),
    currentEpoch: 86269n,
    chainId: 97,
  };
  equal(initialBscState(chapel, header, 1000n), expected);
});

Deno.test("BSC: a client cannot start at a block that announces nobody, or whose extra data is malformed", () => {
  const header = allVoted.update.targetHeader;
  throws(
    () => initialBscState(chapel, header, 1000n),
    { name: "BscError", code: "validators_missing" },
  );
  throws(
    () => initialBscState(chapel, { ...header, extraData: new Uint8Array(5) }, 1000n),
    { name: "BscError", code: "epoch_extra_data" },
  );
});

Deno.test("BSC: the hub's epoch length is read under the known key", () => {
  const known = readVector("evm-consensus-hub-storage-keys").list("keys")
    .find((entry) => entry.text("pallet") === "IsmpBsc");
  equal(toHex(epochLengthKey()), known?.text("storage_key"));
  equal(toHex(epochLengthCodec.enc(1000n)), "0xe803000000000000");
});

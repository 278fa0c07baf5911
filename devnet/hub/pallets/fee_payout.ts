/** Body of the request by which the hub pays fees out on a Substrate chain. */
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import { type Codec, Enum, hash256, Struct, u128 } from "../../../src/core/encoding/scale.ts";

/** Body of a request from the hub to a Substrate chain's `HYPR-FEE` module. */
export type PalletIsmpMessage = {
  readonly tag: "WithdrawRelayerFees";
  readonly value: { readonly amount: bigint; readonly account: Hash256 };
};

/** SCALE of {@link PalletIsmpMessage}. */
export const palletIsmpMessageCodec: Codec<PalletIsmpMessage> = Enum({
  WithdrawRelayerFees: Struct({ amount: u128, account: hash256 }),
});

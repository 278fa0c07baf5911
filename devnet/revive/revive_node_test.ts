import { deepEqual, equal, ok } from "node:assert/strict";
import { ApiPromise, HttpProvider } from "@polkadot/api";
import { bytes, decodeStrict, list, Option, u32 } from "../../src/core/encoding/scale.ts";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { startAnvil } from "../evm/anvil.ts";
import { resultHttp } from "../hub/json_rpc_client.ts";
import { reviveMetadata, startReviveNode } from "./revive_node.ts";

type ApiOptions = NonNullable<Parameters<typeof ApiPromise.create>[0]>;

/** The provider's own type does not fit the interface under exact optional properties. */
function isProvider(value: object): value is NonNullable<ApiOptions["provider"]> {
  return "send" in value && "subscribe" in value;
}

Deno.test("Polkadot Hub's node: the runtime API Metadata says what state_getMetadata says", async () => {
  await using anvil = await startAnvil({ chainId: 31_337 });
  await using node = await startReviveNode({ rpcUrl: anvil.rpcUrl });
  const url = node.wsUrl.replace("ws:", "http:");
  const call = async (method: string, argument = "0x"): Promise<Uint8Array> =>
    fromHex(String(await resultHttp(url, "state_call", [method, argument])));
  const metadata = toHex(reviveMetadata());
  equal(await resultHttp(url, "state_getMetadata"), metadata);
  equal(toHex(decodeStrict(bytes, await call("Metadata_metadata"), "OpaqueMetadata")), metadata);
  deepEqual(decodeStrict(list(u32), await call("Metadata_metadata_versions"), "Vec<u32>"), [14]);
  const atVersion = async (version: number): Promise<Uint8Array | undefined> =>
    decodeStrict(
      Option(bytes),
      await call("Metadata_metadata_at_version", toHex(u32.enc(version))),
      "Option",
    );
  equal(toHex(await atVersion(14) ?? new Uint8Array()), metadata);
  deepEqual([await atVersion(13), await atVersion(15)], [undefined, undefined]);
});

Deno.test({
  name: "Polkadot Hub's node: @polkadot/api connects, and reads storage and heads",
  // The library keeps two timers for some seconds after disconnect(): the last test, so that they end in no other.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using anvil = await startAnvil({ chainId: 31_337 });
    await using node = await startReviveNode({ rpcUrl: anvil.rpcUrl });
    const provider: object = new HttpProvider(node.wsUrl.replace("ws:", "http:"));
    ok(isProvider(provider));
    const api = await ApiPromise.create({ provider, noInitWarn: true, throwOnConnect: true });
    try {
      equal(api.runtimeVersion.specName.toString(), "asset-hub-paseo");
      ok(Number(await api.query["timestamp"]?.["now"]?.()) > 0);
      const header = await api.rpc.chain.getHeader();
      equal(header.hash.toHex(), (await api.rpc.chain.getBlockHash(header.number.toNumber())).toHex());
      const versions = await api.call["metadata"]?.["metadataVersions"]?.();
      deepEqual(versions?.toJSON(), [14]);
    } finally {
      await api.disconnect();
    }
  },
});

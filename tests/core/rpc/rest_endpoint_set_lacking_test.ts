import { equal, rejects } from "node:assert/strict";
import { RpcFault } from "../../../src/core/rpc/fault.ts";
import { RestEndpoint } from "../../../src/consensus/rest/rest_endpoint.ts";
import { RestEndpointSet } from "../../../src/consensus/rest/rest_endpoint_set.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";

Deno.test("rest pool: a route that no endpoint has is given up at once, without a second round", async () => {
  const clock = new FakeClock();
  const fetch = (): Promise<Response> => Promise.reject(new TypeError("Nothing is sent"));
  const endpoint = new RestEndpoint({ fetch, clock }, { url: "http://node.example", chain: "EVM-1" });
  const pool = new RestEndpointSet({ clock, randomness: seededRandomness(1) }, {
    chain: "EVM-1",
    endpoints: [endpoint],
  });
  pool.noteUnsupported(endpoint, "proof");
  const { signal } = new AbortController();
  let asked = 0;
  const asking = rejects(
    pool.ask({ route: "proof", asksAgain: false }, () => Promise.resolve(asked++), signal),
    (error) => error instanceof RpcFault && error.code === "missing_method",
  );
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  equal(clock.pending, 0);
  await asking;
  equal(asked, 0);
});

import { deepEqual, equal } from "node:assert/strict";
import { startDevnet } from "../devnet.ts";
import { DEVNET_ACCOUNTS } from "../evm/accounts.ts";
import {
  followHub,
  type Following,
  followingFaults,
  followingTable,
  readFollowings,
  rotateAndFollow,
} from "./rotations.ts";

const a: Following = {
  name: "A",
  stateMachine: "EVM-1",
  firstSetId: 10n,
  setId: 13n,
  height: 41n,
  rotatedBy: ["one", "two", "one"],
  updatedBy: ["one", "two", "one", "one"],
};
const rules = { rotations: 3, by: ["one", "two"] };

Deno.test("followers of the hub: a table says who delivered what", () => {
  deepEqual(followingTable([a], ["one", "two"]).map((line) => line.split(/ {2,}/)), [
    ["who follows the hub", "authority set", "rotations", "heights", "newest height"],
    ["A (EVM-1)", "10 -> 13", "2 + 1", "3 + 1", "41"],
  ]);
});

Deno.test("followers of the hub: a rotation that was missed, or delivered by another account, is a fault", () => {
  deepEqual(followingFaults([a], rules), []);
  deepEqual(followingFaults([{ ...a, setId: 12n, rotatedBy: ["one", "two"] }], rules), [
    "A followed 2 of 3 rotations",
  ]);
  deepEqual(followingFaults([a], { ...rules, by: ["one"] }), ["A was updated by two"]);
  deepEqual(followingFaults([{ ...a, updatedBy: ["three"] }], rules), ["A was updated by three"]);
  deepEqual(followingFaults([{ ...a, rotatedBy: ["one"] }], rules), [
    "A trusts set 13 after 10, but 1 rotations were delivered",
  ]);
});

Deno.test("followers of the hub: sets, heights and accounts are read from hosts and from Substrate chains", async () => {
  await using devnet = await startDevnet({
    kinds: ["bsc"],
    substrateChains: [{ stateMachine: "SUBSTRATE-abcd" }],
    feeds: "none",
    blockTimeSec: "automine",
    hubBlockTimeMs: 200,
    oracleEveryMs: 100,
  });
  const names = new Map([[DEVNET_ACCOUNTS.oracle.address.toLowerCase(), "the devnet"]]);
  const followers = await followHub(devnet, names);
  const times = await rotateAndFollow(devnet.relay, followers);
  deepEqual(times.map(({ name }) => name), ["A", "B"]);
  const [host, chain] = await readFollowings(followers);
  equal(host?.setId, devnet.relay.session.beefySetId);
  equal(chain?.setId, devnet.relay.session.grandpaSetId);
  deepEqual(host?.rotatedBy, ["the devnet"]);
  equal(chain?.rotatedBy.length, 1);
  // Nobody was named: the account is shown as it signs.
  equal(/^0x[0-9a-f]{64}$/.test(chain?.rotatedBy[0] ?? ""), true);
  deepEqual([host?.firstSetId, chain?.firstSetId], [10n, 100n]);
  deepEqual(new Set(host?.updatedBy), new Set(["the devnet"]));
});

/** A consensus relayer with something of everything on its status page, part of it hostile. */
import { ConsensusWatch } from "../../../src/consensus/status/consensus_watch.ts";
import { consensusClientIds } from "../../../src/core/ismp/consensus_clients.ts";
import {
  parseStateMachine,
  type StateMachine,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { hub } from "../../support/ledger_rows.ts";
import { HOSTILE } from "./sample_relayer.ts";

const HOUR_MS = 3_600_000;

/** Makes the watch of the relayer, to be served. */
export async function makeSampleConsensusRelayer(): Promise<ConsensusWatch> {
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 3, 4, 5));
  const watch = new ConsensusWatch(clock, hub);
  const proved = [["EVM-1", "ETH0"], ["EVM-10", "OPT0"], ["EVM-56", "BSC0"]].map(([chain = "", id = ""]) => {
    const stateMachine = parseStateMachine(chain);
    const consensusStateId = toConsensusStateId(id);
    return { chain: stateMachine, consensusStateId, commitmentId: { stateMachine, consensusStateId } };
  });
  watch.plan({ hub: { id: { stateMachine: hub, consensusStateId: toConsensusStateId("PARA") } }, proved });
  watch.open();
  const route = (chain: string): { readonly chain: StateMachine; readonly target: StateMachine } => ({
    chain: parseStateMachine(chain),
    target: hub,
  });
  const updatedSec = BigInt(clock.now() / 1_000);
  const client = { clientId: consensusClientIds.ethereum, state: new Uint8Array(), updatedSec };
  const clients = [["ETH0", 86_400n, false], ["OPT0", 2n ** 64n - 1n, false], [
    "BSC0",
    5_832_000n,
    true,
  ]] as const;
  for (const [id, unbondingSec, isFrozen] of clients) {
    watch.updates.noteClient(hub, toConsensusStateId(id), { ...client, unbondingSec, isFrozen });
  }
  await clock.advance(HOUR_MS);
  watch.updates.noteUpdate(route("EVM-1"), {
    kind: "update",
    result: "accepted",
    bytes: 5_321,
    height: 24_000_123,
    findMs: 2_300,
    submitMs: 12_400,
    detail: "finalized slot 11000000, committee of period 1342",
  });
  const idle = { kind: "nothing", againInMs: undefined, reason: "no new dispute game" } as const;
  watch.updates.notePoll(route("EVM-10"), idle);
  const failure = { text: `an endpoint told ${HOSTILE}`, host: "bsc.example:8545" };
  watch.updates.notePoll(route("EVM-56"), { kind: "failed", failure });
  const request = { calls: [{ method: "eth_getBlockByNumber", outcome: "ok" as const }], tookMs: 123 };
  watch.endpoints.noteRequest({
    ...request,
    chain: "EVM-1",
    endpointHost: "beacon.node-provider.example:5052",
  });
  const calls = [{ method: "eth_call", outcome: "timeout" as const }];
  watch.endpoints.noteRequest({ ...request, calls, chain: "EVM-56", endpointHost: "bsc.example:8545" });
  watch.noteWarning({ atMs: clock.now(), level: "warn", event: "poll_failed", text: HOSTILE });
  await clock.advance(20 * 60_000);
  return watch;
}

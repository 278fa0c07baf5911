import assert from "node:assert/strict";
import { RelayChain } from "../../src/consensus/relay_chain/relay_chain.ts";
import { EndpointUrl } from "../../src/core/config/redact.ts";
import { buildNaiveProof } from "../../src/consensus/clients/beefy/spec/build_proof.ts";
import { decodeNaiveProof, encodeNaiveProof } from "../../src/core/beefy/naive_proof.ts";
import { verifyNaiveProof } from "../../src/consensus/clients/beefy/spec/verify_proof.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";
import { servedFacts } from "../../devnet/updates/hub_prover.ts";
import { readNaiveFacts } from "../../devnet/relay/naive_facts.ts";
import { startRelayChain } from "../../devnet/relay/relay_chain.ts";
import { Validators } from "../../devnet/relay/validators.ts";
import { seededRandomness } from "../support/seeded_randomness.ts";
import { votesOf, withAllVotes } from "./hub_gas.ts";
import { meteredSocket, trafficSince } from "./metered_socket.ts";
import { runAtOnce } from "../../devnet/relay/run_at_once.ts";

const { signal } = new AbortController();

Deno.test("bench of the hub's finality: a batch is one request with its calls, and a proof may hold all votes", async () => {
  await using node = await startRelayChain({ blockTimeMs: "manual", validators: 7 });
  const trusted = node.beefyState();
  node.produceBlocks(3);
  const sockets = meteredSocket();
  const deps = { clock: systemClock, randomness: seededRandomness(1), openSocket: sockets.open, fetch };
  const relay = new RelayChain(deps, "relay", { rpcWs: new EndpointUrl(node.wsUrl) });
  const { number, hash } = node.beefyFinalized;
  const before = sockets.read();
  await relay.fetchStored([1, 2, 3].map((key) => ({ key: Uint8Array.of(key), block: hash })), signal);
  const { requests, calls, sentBytes, receivedBytes } = trafficSince(before, sockets.read());
  assert.deepEqual([requests, calls], [1, 3]);
  assert.ok(sentBytes > 3 * 64 && receivedBytes > 3 * "null".length);

  const justification = node.beefyJustification(number);
  const facts = await readNaiveFacts(servedFacts(relay), { justification, paraIds: [] });
  const trimmed = encodeNaiveProof(runAtOnce(buildNaiveProof(trusted, facts)));
  const full = withAllVotes(trimmed, new Validators(7), 0);
  assert.deepEqual([votesOf(trimmed), votesOf(full)], [5, 7]);
  const { state } = runAtOnce(verifyNaiveProof(trusted, decodeNaiveProof(full)));
  assert.deepEqual(state, runAtOnce(verifyNaiveProof(trusted, decodeNaiveProof(trimmed))).state);
  await relay.close();
});

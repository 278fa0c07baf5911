/** What does not fit together is found when the program starts, named, and nothing is sent. */
import assert from "node:assert/strict";
import { endpointHost } from "../../src/core/config/redact.ts";
import {
  parseStateMachine,
  stateMachineParts,
  toConsensusClientId,
} from "../../src/core/protocol/ismp/state_machine.ts";
import { type Devnet, type DevnetChain, startDevnet } from "../devnet/devnet.ts";
import { deployIsmpHost, type IsmpHost } from "../devnet/evm/deploy.ts";
import { sendPing, waitForDelivery } from "../devnet/messages.ts";
import { type ConfigChanges, sectionOf } from "../devnet/relayer_config.ts";
import { serveLocally, type TestServer } from "../support/test_server.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { playGuardedOn, secretly } from "./support/secrets.ts";

const FAST = { blockTimeSec: 1, hubBlockTimeMs: 400, oracleEveryMs: 200 } as const;
const NOTHING_STARTED = "Nothing was started; mend what is listed above and start again";
/** A port on which nobody listens. */
const DEAD = "http://127.0.0.1:9";

/** A start that must be refused with exactly these errors, in any order. */
interface Refusal {
  readonly name: string;
  readonly changes: ConfigChanges;
  readonly errors: readonly string[];
  /** Beginnings of warnings that must be told as well. */
  readonly warnings?: readonly string[];
}

/** Deploys another host on the chain, of the hub that is named. */
function deploy(chain: DevnetChain, hub: string): Promise<IsmpHost> {
  const stateMachine = parseStateMachine(hub);
  const parts = stateMachineParts(stateMachine);
  assert.ok(parts.tag === "Kusama" || parts.tag === "Polkadot");
  return deployIsmpHost({
    rpcUrl: chain.rpcUrl,
    chainId: chain.node.chainId,
    hub: { stateMachine, paraId: BigInt(parts.value) },
    challengePeriodSec: 0n,
  });
}

function messagesOf(process: RelayerProcess, level: string): readonly string[] {
  return process.lines.filter((line) => line.level === level).map(({ record }) => String(record?.message));
}

/** Starts a relayer that must refuse, and compares everything it says. */
async function expectRefusal(devnet: Devnet, refusal: Refusal): Promise<void> {
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const process = await relayer.start(secretly(devnet.endpoints, refusal.changes), { logLevel: "info" });
    assert.equal(await process.exitCode(90_000), 1);
    assert.deepEqual(
      messagesOf(process, "error").toSorted(),
      [...refusal.errors, NOTHING_STARTED].toSorted(),
    );
    const warnings = messagesOf(process, "warn");
    for (const wanted of refusal.warnings ?? []) {
      assert.ok(warnings.some((text) => text.startsWith(wanted)), `${wanted}\n${warnings.join("\n")}`);
    }
    assert.doesNotMatch(process.text, /\bat .*\.(?:ts|js):\d+/, "a stack");
    assert.deepEqual(process.lines.filter(({ stream }) => stream === "stderr"), []);
    assert.deepEqual((await relayer.ledger()).submissions, []);
  });
}

Deno.test("start checks: what does not fit is found at start and named with what to do", async (t) => {
  await using devnet = await startDevnet(FAST);
  const [a, b] = devnet.chains;
  assert.ok(a !== undefined && b !== undefined);
  const hub = devnet.hub.identity.stateMachine;
  const [hostA, hostB, hostHub] = [a.rpcUrl, b.rpcUrl, devnet.hub.wsUrl].map(endpointHost);
  const other = await deploy(a, hub);
  const foreign = await deploy(a, "POLKADOT-3367");
  const { host } = a.host.addresses;
  const lower = (address: string): string => address.toLowerCase();
  const onA = (keys: Readonly<Record<string, string>>): ConfigChanges => ({
    sections: { [sectionOf(a.stateMachine)]: keys },
  });
  const knowsHost =
    `${hub} via ${hostHub}: knows the host contract of ${a.stateMachine} as ${lower(host)}; ` +
    "set ismp_host to it";
  const refusals: readonly Refusal[] = [
    {
      name: "an URL of another chain",
      changes: { rpcUrls: { [a.stateMachine]: [b.rpcUrl] } },
      errors: [
        `${a.stateMachine}: endpoint ${hostB} serves ${b.stateMachine}; remove it from rpc_urls or correct state_machine`,
      ],
    },
    {
      name: "an URL of another chain behind a good one",
      changes: { rpcUrls: { [a.stateMachine]: [a.rpcUrl, b.rpcUrl] } },
      errors: [
        `${a.stateMachine}: endpoint ${hostB} serves ${b.stateMachine}; remove it from rpc_urls or correct state_machine`,
      ],
    },
    {
      name: "an URL of another chain behind a dead one",
      changes: { rpcUrls: { [a.stateMachine]: [DEAD, b.rpcUrl] } },
      errors: [
        `${a.stateMachine}: endpoint ${hostB} serves ${b.stateMachine}; remove it from rpc_urls or correct state_machine`,
      ],
      warnings: [`${a.stateMachine}: endpoint 127.0.0.1:9 does not answer (unreachable)`],
    },
    {
      name: "a host address without a contract",
      changes: onA({ ismp_host: `0x${"de".repeat(20)}` }),
      errors: [
        `${a.stateMachine}: no contract at ismp_host 0x${
          "de".repeat(20)
        } (asked ${hostA}); correct ismp_host`,
        knowsHost,
      ],
    },
    {
      name: "a host address with another contract",
      changes: onA({ ismp_host: a.host.addresses.feeToken }),
      errors: [
        `${a.stateMachine}: the contract at ismp_host ${lower(a.host.addresses.feeToken)} is no ISMP host ` +
        `(asked ${hostA}); correct ismp_host`,
        knowsHost,
      ],
    },
    {
      name: "the host of another hub",
      changes: onA({ ismp_host: foreign.addresses.host }),
      errors: [
        `${a.stateMachine}: host ${
          lower(foreign.addresses.host)
        } belongs to the hub POLKADOT-3367, not to ${hub} ` +
        `(asked ${hostA}); correct ismp_host, or state_machine of the hub`,
        knowsHost,
      ],
    },
    {
      name: "a host that the hub does not use",
      changes: onA({ ismp_host: other.addresses.host }),
      errors: [knowsHost],
    },
    {
      name: "a consensus state id that the hub does not know",
      changes: onA({ consensus_state_id: "ARB0" }),
      errors: [
        `${hub} via ${hostHub}: does not know ${a.stateMachine} by consensus_state_id "ARB0"; it knows that chain by "${a.consensusStateId}"`,
      ],
    },
    {
      name: "another hub",
      changes: { sections: { hub: { state_machine: "POLKADOT-3367" } } },
      errors: [
        `POLKADOT-3367 via ${hostHub}: the node is of ${hub}; set rpc_ws to a node of POLKADOT-3367, or state_machine to ${hub}`,
        ...[a, b].map(({ stateMachine, host: { addresses }, rpcUrl }) =>
          `${stateMachine}: host ${lower(addresses.host)} belongs to the hub ${hub}, not to POLKADOT-3367 ` +
          `(asked ${endpointHost(rpcUrl)}); correct ismp_host, or state_machine of the hub`
        ),
      ],
    },
    {
      name: "several at once, of every chain",
      changes: {
        rpcUrls: { [a.stateMachine]: [b.rpcUrl] },
        sections: {
          [sectionOf(b.stateMachine)]: { consensus_state_id: "ARB0", ismp_host: `0x${"de".repeat(20)}` },
        },
      },
      errors: [
        `${a.stateMachine}: endpoint ${hostB} serves ${b.stateMachine}; remove it from rpc_urls or correct state_machine`,
        `${b.stateMachine}: no contract at ismp_host 0x${
          "de".repeat(20)
        } (asked ${hostB}); correct ismp_host`,
        `${hub} via ${hostHub}: does not know ${b.stateMachine} by consensus_state_id "ARB0"; it knows that chain by "${b.consensusStateId}"`,
        `${hub} via ${hostHub}: knows the host contract of ${b.stateMachine} as ${
          lower(b.host.addresses.host)
        }; set ismp_host to it`,
      ],
    },
  ];
  for (const refusal of refusals) {
    await t.step(refusal.name, () => expectRefusal(devnet, refusal));
  }

  await t.step("an account without funds is told, and is no reason not to start", async () => {
    await playGuardedOn(devnet, async (scene) => {
      const relayer = scene.relayer();
      const poor = `0x${"17".repeat(32)}` as const;
      const process = await relayer.start(secretly(devnet.endpoints, { signer: poor }), { logLevel: "info" });
      for (const { stateMachine } of [a, b]) {
        const text = new RegExp(`${stateMachine}: account 0x\\w{40} has 0 wei; .*send it funds`);
        assert.equal((await process.waitForLine(text, { deadlineMs: 90_000 })).level, "warn");
      }
      await process.waitForLine("Relaying", { deadlineMs: 90_000 });
      assert.ok(!process.text.includes("17".repeat(32)));
      assert.equal(await process.terminate(60_000), 0);
      process.assertNoErrors();
    });
  });
});

/** The node of a chain, without any old state until it is told otherwise. */
function startPrunedNode(upstream: string): TestServer & { keepsState: boolean } {
  const node = {
    keepsState: false,
    ...serveLocally({}, async (request) => {
      const sent: unknown = await request.json();
      const calls: readonly { readonly id?: unknown; readonly method?: unknown }[] = Array.isArray(sent)
        ? sent
        : [sent];
      const response = await fetch(upstream, { method: "POST", body: JSON.stringify(calls) });
      const got: readonly { readonly id?: unknown }[] = await response.json();
      const answers = got.map((answer) => {
        const method = calls.find(({ id }) => id === answer.id)?.method;
        if (node.keepsState || method !== "eth_getProof") return answer;
        const error = { code: -32000, message: "missing trie node 00 (path ) state 0x00 is not available" };
        return { jsonrpc: "2.0", id: answer.id, error };
      });
      return Response.json(Array.isArray(sent) ? answers : answers[0]);
    }),
  };
  return node;
}

Deno.test("start checks: what keeps a leg from delivering is named, its messages are held, and go on by themselves", async () => {
  await using devnet = await startDevnet(FAST);
  const [a, b] = devnet.chains;
  assert.ok(a !== undefined && b !== undefined);
  const hub = devnet.hub.identity.stateMachine;
  const beacon = toConsensusClientId("BEAC");
  await using node = startPrunedNode(b.rpcUrl);
  await devnet.hub.acceptMessages(beacon, a.stateMachine, false);
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const rpcUrls = { [b.stateMachine]: [`http://127.0.0.1:${node.port}`] };
    const process = await relayer.startAndWait(secretly(devnet.endpoints, { rpcUrls }));
    const started = messagesOf(process, "warn").join("\n");
    assert.match(
      started,
      new RegExp(
        `${b.stateMachine}: no eth_getProof of block \\d+, the newest that the hub knows, at .* \\(pruned\\); ` +
          "nothing is delivered to this chain until an endpoint serves it",
      ),
    );
    assert.match(
      started,
      new RegExp(
        `does not accept messages of ${a.stateMachine} yet: IsmpSyncCommitteeEth\\.SupportedStatemachines`,
      ),
    );
    const sent = await sendPing(devnet, { from: "A", to: "B" });
    await relayer.untilRows(sent, hub, { state: "held", reason: "source_not_accepted" });
    await devnet.hub.acceptMessages(beacon, a.stateMachine);
    await relayer.untilRows(sent, b.stateMachine, { state: "held", reason: "sink_unprovable" });
    assert.deepEqual(
      (await relayer.ledger()).submissions.filter(({ chain }) => chain === b.stateMachine),
      [],
    );
    node.keepsState = true;
    await waitForDelivery(devnet, sent);
    await relayer.untilEnded(sent);
    await scene.finish();
  });
});

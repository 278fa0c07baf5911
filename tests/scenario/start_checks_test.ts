/** What does not fit together is found when the program starts, named, and left out; everything else works. */
import assert from "node:assert/strict";
import { endpointHost } from "../../src/core/config/redact.ts";
import { parseStateMachine, stateMachineParts } from "../../src/core/ismp/state_machine.ts";
import type { CheckCode } from "../../src/core/checks/check_row.ts";
import type { EventCode } from "../../src/core/telemetry/log.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { deployIsmpHost, type IsmpHost } from "../../devnet/evm/deploy.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { type ConfigChanges, type SectionChanges, sectionOf } from "../../devnet/programs/relayer_config.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { startRpcProxy } from "./support/rpc_proxy.ts";
import { startSceneDevnet } from "./support/scene.ts";
import { playGuardedOn, secretly, secretUrl } from "./support/secrets.ts";

/** A check or an event, and what its line has to name: the chain, the endpoint, what is there and what helps. */
type Reported = readonly [code: CheckCode, ...names: string[]];

/** A port on which nobody listens. */
const DEAD = "http://127.0.0.1:9";

/** A start that must leave chains out with exactly these failed checks, in any order. */
interface Mismatch {
  readonly name: string;
  readonly changes: ConfigChanges;
  readonly errors: readonly Reported[];
  /** Warnings that must be told as well. */
  readonly warnings?: readonly Reported[];
  /** Event after which everything is told. Default: that relaying starts. */
  readonly until?: EventCode;
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

/** Codes of checks or events of one level, each with everything that the line says. */
function linesAt(process: RelayerProcess, level: string): readonly (readonly [unknown, string])[] {
  return process.lines.filter((line) => line.level === level)
    .map(({ record }) => [record?.finding ?? record?.check ?? record?.event, JSON.stringify(record)]);
}

/** Each is told, in a line of its own. */
function assertReported(lines: ReturnType<typeof linesAt>, wanted: readonly Reported[]): void {
  const left = [...lines];
  for (const [event, ...names] of wanted) {
    const at = left.findIndex(([code, text]) => code === event && names.every((name) => text.includes(name)));
    assert.ok(at >= 0, `${event} ${names.join(", ")}\n${lines.join("\n")}`);
    left.splice(at, 1);
  }
}

/** Starts a relayer that must leave chains out, and compares everything it says. */
async function expectLeftOut(
  devnet: Devnet,
  { changes, errors: wanted, warnings, until = "program_started" }: Mismatch,
): Promise<void> {
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const process = await relayer.start(secretly(devnet.endpoints, changes), { logLevel: "info" });
    await process.waitForLine(until);
    assert.equal(await process.terminate(), 0);
    const errors = linesAt(process, "error");
    assertReported(errors, wanted);
    assert.equal(errors.length, wanted.length, errors.join("\n"));
    assertReported(linesAt(process, "warn"), warnings ?? []);
    assert.doesNotMatch(process.text, /\bat .*\.(?:ts|js):\d+/, "a stack");
    assert.deepEqual(process.lines.filter(({ stream }) => stream === "stderr"), []);
    const { submissions } = await relayer.ledger();
    const out = process.lines.flatMap(({ record }) =>
      record?.event === "chain_suspended" ? [String(record.chain)] : []
    );
    assert.deepEqual(submissions.filter(({ chain }) => out.includes(chain)), []);
  });
}

Deno.test("start checks", async (t) => {
  await using devnet = await startSceneDevnet();
  await t.step(
    "what does not fit is found at start and named with what to do",
    (t) => playMismatches(t, devnet),
  );
  await t.step(
    "a chain with a wrong URL is left out while the others deliver, and joins when the URL is corrected",
    () => playLeftOut(devnet),
  );
});

async function playMismatches(t: Deno.TestContext, devnet: Devnet): Promise<void> {
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  const hub = devnet.hub.identity.stateMachine;
  const [hostA, hostB, hostHub] = [a.rpcUrl, b.rpcUrl, devnet.hub.wsUrl].map(endpointHost);
  const unused = await deploy(b, hub);
  const foreign = await deploy(a, "POLKADOT-3367");
  const nothing = `0x${"de".repeat(20)}` as const;
  const onlyIn = (sections: Readonly<Record<string, SectionChanges>>): ConfigChanges => ({ sections });
  assert.ok(hostA !== undefined && hostB !== undefined && hostHub !== undefined);
  const wrongChain: Reported = ["chain_id", a.stateMachine, hostB, b.stateMachine, "rpc_urls"];
  /** The hub names another host contract. */
  const knowsHost = ({ stateMachine, host }: DevnetChain): Reported => {
    const known = host.addresses.host.toLowerCase();
    return ["host_contract_mismatch", hub, hostHub, stateMachine, known, "ismp_host"];
  };
  const mismatches: readonly Mismatch[] = [
    {
      name:
        "an URL of another chain; a host address without a contract and a consensus state id nobody knows",
      changes: {
        rpcUrls: { [a.stateMachine]: [b.rpcUrl] },
        sections: { [sectionOf(b.stateMachine)]: { consensus_state_id: "ARB0", ismp_host: nothing } },
      },
      errors: [
        wrongChain,
        ["host_not_found", b.stateMachine, nothing, hostB, "ismp_host"],
        ["chain_unknown", hub, hostHub, b.stateMachine, "ARB0", b.consensusStateId],
        knowsHost(b),
      ],
    },
    {
      name: "a host address with another contract, and a host that the hub does not use",
      changes: onlyIn({
        [sectionOf(a.stateMachine)]: { ismp_host: a.host.addresses.feeToken },
        [sectionOf(b.stateMachine)]: { ismp_host: unused.addresses.host },
      }),
      errors: [
        ["host_invalid", a.stateMachine, a.host.addresses.feeToken.toLowerCase(), hostA, "ismp_host"],
        knowsHost(a),
        knowsHost(b),
      ],
    },
    {
      name: "the host of another hub; an URL of another chain behind a good one, and behind a dead one",
      changes: {
        rpcUrls: { [a.stateMachine]: [a.rpcUrl, b.rpcUrl], [b.stateMachine]: [DEAD, a.rpcUrl] },
        sections: { [sectionOf(a.stateMachine)]: { ismp_host: foreign.addresses.host } },
      },
      errors: [
        [
          "host_wrong_hub",
          a.stateMachine,
          foreign.addresses.host.toLowerCase(),
          "POLKADOT-3367",
          hub,
          hostA,
        ],
        knowsHost(a),
        ["chain_id", b.stateMachine, hostA, a.stateMachine, "rpc_urls"],
      ],
      warnings: [wrongChain, ["endpoint", b.stateMachine, "127.0.0.1:9", "unreachable"]],
    },
    {
      name: "another hub",
      changes: onlyIn({ hub: { state_machine: "POLKADOT-3367" } }),
      errors: [
        ["endpoint_wrong_chain", "POLKADOT-3367", hostHub, hub, "rpc_ws", "state_machine"],
      ],
      until: "chain_suspended",
    },
  ];
  for (const mismatch of mismatches) {
    await t.step(mismatch.name, () => expectLeftOut(devnet, mismatch));
  }
}

async function playLeftOut(devnet: Devnet): Promise<void> {
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  await using wrong = await startRpcProxy({ upstream: b.rpcUrl });
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const rpcUrls = { [a.stateMachine]: [wrong.httpUrl] };
    const process = await relayer.start(secretly(devnet.endpoints, { rpcUrls }));
    const told = await process.waitForLine("chain_suspended");
    assert.deepEqual([told.record?.chain, told.record?.finding], [a.stateMachine, "chain_id"]);
    await scene.untilDelivered(await sendPing(devnet, { from: "B", to: "hub", count: 2 }));
    // What is sent meanwhile is read when the chain joins.
    const waiting = await sendPing(devnet, { from: "A", to: "B", count: 2 });
    const config = await Deno.readTextFile(process.configPath);
    const corrected = config.replace(secretUrl(wrong.httpUrl), secretUrl(a.rpcUrl));
    assert.notEqual(corrected, config);
    await Deno.writeTextFile(process.configPath, corrected);
    process.signal("SIGHUP");
    await scene.untilDelivered(waiting);
    await relayer.untilEnded(waiting);
    await scene.finish({ allowedErrors: [({ record }) => record?.event === "chain_suspended"] });
  });
}

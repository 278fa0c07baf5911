/**
 * What the runtime takes for an idle relayer's requests alone: a program that posts one request a second to each chain and
 * listens to the hub's blocks, without any of the relayer's own work.
 */
import { pause } from "../../devnet/waiting.ts";
import { compileBare } from "./bare_program.ts";
import { readCpuMs, readMemoryMb } from "./process_usage.ts";

const SOURCE = `
const [hub, ...chains] = Deno.args;
const socket = new WebSocket(hub);
socket.onmessage = ({ data }) => JSON.parse(data);
socket.onopen = () => {
  socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "chain_subscribeFinalizedHeads", params: [] }));
};
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] });
const headers = { "content-type": "application/json" };
setInterval(() => {
  for (const url of chains) fetch(url, { method: "POST", headers, body }).then((answer) => answer.json());
}, 1_000);
`;

/** What the program took. */
export interface IdleFloor {
  readonly cpuMs: number;
  readonly residentMb: number;
}

/** Runs the program for `restMs`, then measures it for `windowMs`. */
export async function measureFloor(
  folder: string,
  { hubUrl, chainUrls, restMs, windowMs }: {
    readonly hubUrl: string;
    readonly chainUrls: readonly string[];
    readonly restMs: number;
    readonly windowMs: number;
  },
): Promise<IdleFloor> {
  const program = await compileBare(folder, { name: "floor", source: SOURCE });
  const child = new Deno.Command(program, {
    args: [hubUrl, ...chainUrls],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    await pause(restMs);
    const before = readCpuMs(child.pid);
    await pause(windowMs);
    return { cpuMs: readCpuMs(child.pid) - before, residentMb: readMemoryMb(child.pid, "VmRSS") };
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
}

import assert from "node:assert/strict";
import { KeptPort } from "./kept_port.ts";

const HOST = "127.0.0.1";

function listenOn(port: number): Deno.Listener {
  return Deno.listen({ hostname: HOST, port });
}

Deno.test("kept port: while nobody listens nothing gets it by itself, and connections are refused", async () => {
  using port = new KeptPort();
  const [first] = (await Deno.readTextFile("/proc/sys/net/ipv4/ip_local_port_range")).split(/\s+/);
  assert.ok(port.number < Number(first));
  for (let round = 0; round < 2; round++) {
    const listener = listenOn(port.number);
    const [client, server] = await Promise.all([
      Deno.connect({ hostname: HOST, port: port.number }),
      listener.accept(),
    ]);
    // As a node does that is stopped: the connection lingers on its side.
    server.close();
    listener.close();
    client.close();
    await assert.rejects(
      Deno.connect({ hostname: HOST, port: port.number }),
      Deno.errors.ConnectionRefused,
    );
  }
});

Deno.test("kept port: no two owners have the same, and one that has ended leaves it to others", () => {
  const ports = Array.from({ length: 300 }, () => new KeptPort());
  assert.equal(new Set(ports.map(({ number }) => number)).size, ports.length);
  const isFree = ({ number }: KeptPort): boolean => {
    try {
      Deno.listen({ hostname: "127.0.0.2", port: number }).close();
      return true;
    } catch (error) {
      assert.ok(error instanceof Deno.errors.AddrInUse);
      return false;
    }
  };
  assert.ok(!ports.some(isFree));
  for (const port of ports) port[Symbol.dispose]();
  assert.ok(ports.every(isFree));
});

Deno.test("kept port: one that is chosen is taken as it is, 0 chooses none", () => {
  using port = new KeptPort(8545);
  assert.equal(port.number, 8545);
  using any = new KeptPort(0);
  assert.notEqual(any.number, 0);
});

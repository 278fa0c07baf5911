import assert from "node:assert/strict";
import { KeptPort, listenPreferably } from "./kept_port.ts";

const HOST = "127.0.0.1";

function listenOn(port: number, hostname = HOST): Deno.TcpListener {
  return Deno.listen({ hostname, port });
}

Deno.test("kept port: while nobody listens nothing gets it by itself, and connections are refused", async () => {
  using port = new KeptPort();
  const range = await Deno.readTextFile("/proc/sys/net/ipv4/ip_local_port_range");
  const [first = 0, last = 0] = range.trim().split(/\s+/).map(Number);
  for (let round = 0; round < 2; round++) {
    const listener = await port.listen(listenOn);
    const hasRoom = first > 2_024 || last < 64_536;
    assert.ok(!hasRoom || port.number < first || port.number > last, `${port.number} in ${range}`);
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
  const ports = Array.from({ length: 300 }, () => KeptPort.forChild());
  assert.equal(new Set(ports.map(({ number }) => number)).size, ports.length);
  const isFree = ({ number }: KeptPort): boolean => {
    try {
      listenOn(number, "127.0.0.2").close();
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

Deno.test("kept port: one that is taken at first is not chosen, one that is taken later is waited for", async () => {
  using taken = listenOn(0);
  const { port: number } = taken.addr;
  using port = new KeptPort(number);
  (await port.listen(listenOn)).close();
  assert.notEqual(port.number, number);
  const other = listenOn(port.number);
  let attempts = 0;
  using again = await port.listen((wanted) => {
    // What has the port gives it up after some attempts.
    if (++attempts === 3) other.close();
    return listenOn(wanted);
  });
  assert.deepEqual([again.addr.port, attempts], [port.number, 3]);
});

Deno.test("kept port: a preferred one is used where it is free", async () => {
  const free = listenOn(0);
  const { port: number } = free.addr;
  free.close();
  using port = new KeptPort(number);
  using listener = await port.listen(listenOn);
  assert.deepEqual([port.number, listener.addr.port], [number, number]);
  using other = listenPreferably(number, listenOn);
  assert.notEqual(other.addr.port, number);
});

import assert from "node:assert/strict";
import { fenceNetwork, type Transports } from "../../../src/core/rpc/fenced_network.ts";

/** A network that notes what leaves the process. */
function recorded(): Transports & { readonly sent: readonly string[] } {
  const sent: string[] = [];
  return {
    sent,
    fetch: (_url, { body }) => {
      sent.push(String(body));
      return Promise.resolve(new Response("taken"));
    },
    openSocket: () => ({ send: (text) => void sent.push(text), close: () => void sent.push("closed") }),
  };
}

const EVENTS = { onOpen: (): void => {}, onMessage: (): void => {}, onClose: (): void => {} };

Deno.test("fenced network: it is asked before each request and message, and what it denies does not leave", async () => {
  const network = recorded();
  let asked = 0;
  let isOpen = true;
  const { fetch, openSocket } = fenceNetwork(network, () => {
    asked++;
    return isOpen;
  });
  const socket = openSocket("ws://127.0.0.1/", EVENTS);
  assert.equal(await (await fetch("http://127.0.0.1/", { body: "transaction 1" })).text(), "taken");
  socket.send("extrinsic 1");
  isOpen = false;
  let answered = false;
  void fetch("http://127.0.0.1/", { body: "transaction 2" }).finally(() => answered = true);
  socket.send("extrinsic 2");
  socket.close();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(network.sent, ["transaction 1", "extrinsic 1", "closed"]);
  assert.deepEqual([asked, answered], [4, false]);
});

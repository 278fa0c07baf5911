/** Real WebSockets whose messages are counted: every one that is sent is a round trip. */
import { platformSocket } from "../../src/core/rpc/socket.ts";
import type { OpenSocket } from "../../src/core/rpc/socket_link.ts";

/** Opens sockets, and counts what is sent over all of them. */
export interface CountingSocket {
  readonly open: OpenSocket;
  /** Messages that `work` sends. */
  trips<T>(work: () => Promise<T>): Promise<readonly [result: T, messages: number]>;
}

/** Nothing is opened yet. */
export function countingSocket(): CountingSocket {
  let messages = 0;
  return {
    open: (url, events) => {
      const socket = platformSocket(url, events);
      return {
        send: (text) => {
          messages += 1;
          socket.send(text);
        },
        close: () => socket.close(),
      };
    },
    trips: async (work) => {
      const before = messages;
      const result = await work();
      return [result, messages - before];
    },
  };
}

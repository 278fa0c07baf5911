/** Real WebSockets whose traffic is measured. */
import { platformSocket } from "../../src/core/rpc/socket.ts";
import type { OpenSocket } from "../../src/core/rpc/socket_link.ts";

/** What went over sockets. */
export interface Traffic {
  /** Messages that were sent: each waits for an answer. */
  readonly requests: number;
  /** JSON-RPC calls in them. */
  readonly calls: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** Opens sockets and knows what went over all of them. */
export interface MeteredSocket {
  readonly open: OpenSocket;
  /** So far. */
  read(): Traffic;
}

/** Nothing is opened yet. */
export function meteredSocket(): MeteredSocket {
  let traffic: Traffic = { requests: 0, calls: 0, sentBytes: 0, receivedBytes: 0 };
  return {
    open: (url, events) => {
      const socket = platformSocket(url, {
        onOpen: () => events.onOpen(),
        onClose: (problem) => events.onClose(problem),
        onMessage: (data) => {
          const receivedBytes = traffic.receivedBytes + (typeof data === "string" ? data.length : 0);
          traffic = { ...traffic, receivedBytes };
          events.onMessage(data);
        },
      });
      return {
        send: (text) => {
          const message: unknown = JSON.parse(text);
          traffic = {
            ...traffic,
            requests: traffic.requests + 1,
            calls: traffic.calls + (Array.isArray(message) ? message.length : 1),
            sentBytes: traffic.sentBytes + text.length,
          };
          socket.send(text);
        },
        close: () => socket.close(),
      };
    },
    read: () => traffic,
  };
}

/** What went over since an earlier reading. */
export function trafficSince(before: Traffic, now: Traffic): Traffic {
  return {
    requests: now.requests - before.requests,
    calls: now.calls - before.calls,
    sentBytes: now.sentBytes - before.sentBytes,
    receivedBytes: now.receivedBytes - before.receivedBytes,
  };
}

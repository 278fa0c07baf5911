/**
 * The network of a program with a fence. The last decision before bytes leave the process is whether it may still work:
 * every wait for an endpoint, a pause of it or a connection is over by then, and so is any pause of the machine.
 */
import type { MayWork } from "../runtime/fence.ts";
import type { Fetch } from "./http_exchange.ts";
import type { OpenSocket } from "./socket_link.ts";

/** How requests leave the process. */
export interface Transports {
  readonly fetch: Fetch;
  readonly openSocket: OpenSocket;
}

/** The network behind the fence: what may not be sent any more is neither sent nor answered; the program ends. */
export function fenceNetwork(network: Transports, mayWork: MayWork): Transports {
  return {
    fetch: (url, init) => mayWork() ? network.fetch(url, init) : new Promise(() => {}),
    openSocket: (url, events) => {
      const socket = network.openSocket(url, events);
      return {
        send: (text) => {
          if (mayWork()) socket.send(text);
        },
        close: () => socket.close(),
      };
    },
  };
}

/** One WebSocket connection through the proxy: messages go both ways in order until one side ends. */

/** Told each text message before it is passed on. */
export interface SocketWatch {
  readonly onRequest: (text: string) => void;
  readonly onAnswer: (text: string) => void;
  /** Time for which answers are held back. */
  readonly latencyMs: number;
}

/** Joins a client's socket with a new one to the endpoint. */
export class SocketRelay {
  /** While true nothing is passed on in either direction; what arrives is lost, as on a dead link. */
  isHanging = false;
  /** Resolves when both sides are closed or given up. */
  readonly ended: Promise<void>;
  readonly #client: WebSocket;
  readonly #upstream: WebSocket;
  readonly #waiting: (string | ArrayBuffer)[] = [];
  #end: () => void;

  constructor(client: WebSocket, upstreamUrl: string, watch: SocketWatch) {
    this.#client = client;
    this.#upstream = new WebSocket(upstreamUrl);
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    client.binaryType = "arraybuffer";
    this.#upstream.binaryType = "arraybuffer";
    client.onmessage = ({ data }): void => {
      if (typeof data === "string") watch.onRequest(data);
      this.#toUpstream(data);
    };
    this.#upstream.onopen = (): void => {
      for (const data of this.#waiting.splice(0)) this.#upstream.send(data);
    };
    this.#upstream.onmessage = ({ data }): void => {
      const pass = (): void => {
        if (this.isHanging || client.readyState !== WebSocket.OPEN) return;
        if (typeof data === "string") watch.onAnswer(data);
        client.send(data);
      };
      if (watch.latencyMs === 0) pass();
      else setTimeout(pass, watch.latencyMs);
    };
    for (const side of [client, this.#upstream]) {
      side.onclose = (): void => this.cut();
      side.onerror = (): void => this.cut();
    }
  }

  /** Ends both connections. */
  cut(): void {
    for (const side of [this.#client, this.#upstream]) {
      if (side.readyState === WebSocket.OPEN || side.readyState === WebSocket.CONNECTING) side.close();
    }
    this.#end();
  }

  #toUpstream(data: string | ArrayBuffer): void {
    if (this.isHanging) return;
    if (this.#upstream.readyState === WebSocket.CONNECTING) this.#waiting.push(data);
    else if (this.#upstream.readyState === WebSocket.OPEN) this.#upstream.send(data);
  }
}

/** Ports that people can remember, where they are free. */

/** `port` when nobody listens on it on 127.0.0.1, otherwise 0, which stands for any free one. */
export function freeOr(port: number): number {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return port;
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    return 0;
  }
}

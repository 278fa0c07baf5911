/** Addresses to listen on: `127.0.0.1:9180`, `[::1]:9180`. Pure. */
import { isIP, isIPv4, isIPv6 } from "node:net";

/** Address and port. */
export interface ListenAddress {
  /** IP address without brackets, or `localhost`. */
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port`; `undefined`: it is neither. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, bracketed, plain = "", digits] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (!(port <= 65_535) || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  return host === "localhost" || isIP(host) !== 0 ? { host, port } : undefined;
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** Formats an address as it is written in a URL. */
export function formatAddress({ host, port }: ListenAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

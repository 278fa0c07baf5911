/** Addresses to listen on: `127.0.0.1:9180`, `[::1]:9180`. Pure. */

/** Address and port. */
export interface ListenAddress {
  /** IP address without brackets, or `localhost`. */
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port`; `undefined`: it is neither. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9a-zA-Z.-]+)):(\d{1,5})$/.exec(text) ??
    [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || !(port <= 65_535)) return undefined;
  if (bracketed === undefined && host !== "localhost" && !isIpv4(host)) return undefined;
  return { host, port };
}

/** True for addresses that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIpv4(host) && host.startsWith("127."));
}

/** Formats an address as it is written in a URL. */
export function formatAddress({ host, port }: ListenAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function isIpv4(host: string): boolean {
  const parts = host.split(".");
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

/** TLS on this machine: an authority and a certificate for `localhost`, and a front that speaks TLS for plain ports. */
import { runOnce } from "../../scenario/support/run_once.ts";

/** PEM texts, and the authority's certificate as a file. */
export interface Certificates {
  readonly cert: string;
  readonly key: string;
  readonly authorityFile: string;
}

/** Makes a new authority and a certificate of it, with openssl, in `folder`. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const file = (name: string): string => `${folder}/${name}`;
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl([
    ...["req", "-x509", ...key, "-days", "2", "-subj", "/CN=Causeway test authority"],
    ...["-keyout", file("ca.key"), "-out", file("ca.pem")],
  ]);
  await openssl([
    ...["req", ...key, "-subj", "/CN=localhost", "-keyout", file("leaf.key"), "-out", file("leaf.csr")],
  ]);
  await Deno.writeTextFile(file("leaf.ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  await openssl([
    ...["x509", "-req", "-in", file("leaf.csr"), "-CA", file("ca.pem"), "-CAkey", file("ca.key")],
    ...["-CAcreateserial", "-days", "2", "-extfile", file("leaf.ext"), "-out", file("leaf.pem")],
  ]);
  return {
    cert: await Deno.readTextFile(file("leaf.pem")),
    key: await Deno.readTextFile(file("leaf.key")),
    authorityFile: file("ca.pem"),
  };
}

async function openssl(args: readonly string[]): Promise<void> {
  const { code, stderr } = await runOnce("openssl", args);
  if (code !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr}`);
}

/** A port that speaks TLS and hands everything on to a plain one. */
export interface TlsFront extends Disposable {
  readonly port: number;
}

/** Starts a front for `port` of this machine. */
export function startTlsFront(port: number, { cert, key }: Certificates): TlsFront {
  const listener = Deno.listenTls({ hostname: "127.0.0.1", port: 0, cert, key });
  const open = new Set<Deno.Conn>();
  const accept = async (): Promise<void> => {
    for await (const client of listener) void join(client, port, open);
  };
  // Ended by closing the listener.
  void accept().catch(() => undefined);
  return {
    port: listener.addr.port,
    [Symbol.dispose]: (): void => {
      listener.close();
      for (const connection of open) closeQuietly(connection);
    },
  };
}

/** Connections end in many ways, none of which is the front's concern. */
async function join(client: Deno.Conn, port: number, open: Set<Deno.Conn>): Promise<void> {
  open.add(client);
  try {
    const server = await Deno.connect({ hostname: "127.0.0.1", port });
    open.add(server);
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
    open.delete(server);
  } catch {
    closeQuietly(client);
  } finally {
    open.delete(client);
  }
}

function closeQuietly(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

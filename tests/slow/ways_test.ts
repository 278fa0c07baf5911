/**
 * Every way of installing that docs/install.md shows, with its own lines, from nothing to a delivered message on the devnet;
 * and the same release out of two folders, byte for byte.
 */
import assert from "node:assert/strict";
import { events } from "../../src/core/telemetry/log.ts";
import { PROGRAMS } from "../../src/build/programs.ts";
import { type Devnet, startDevnet } from "../../devnet/devnet.ts";
import { sendPing, waitForDelivery } from "../../devnet/traffic/messages.ts";
import { isRelayerOutdated } from "../../devnet/programs/relayer_build.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { CONTAINER_COMMANDS, prepareContainers } from "../release/support/containers.ts";
import { haveCommands } from "../release/support/debian.ts";
import { say } from "../support/notes.ts";
import { readBlock } from "../release/support/document_blocks.ts";
import { type ReleaseServer, startReleaseServer } from "../release/support/release_server.ts";
import { canMakeNamespaces, onServiceHost, prepareServiceHost } from "../release/support/service_host.ts";
import { runBlock, type RunningBlock, startBlock } from "../release/support/shell_block.ts";
import { type Certificates, makeCertificates, startTlsFront } from "../release/support/tls.ts";

const TARGET = "x86_64-unknown-linux-gnu";
/** Of the release that is gone back to: a script that tells its version. */
const OLD_TAG = "v0.0.1";

/** What the ways have in common. */
interface Stage {
  readonly folder: string;
  readonly devnet: Devnet;
  readonly certificates: Certificates;
  readonly server: ReleaseServer;
  readonly tag: string;
  /** For the documents' lines: where releases are, which one, a home, and what stands in for commands of other machines. */
  readonly env: Readonly<Record<string, string>>;
  /** What was built in the repository: commit and time, so that the same can be built elsewhere. */
  readonly identity: { readonly CAUSEWAY_COMMIT: string; readonly SOURCE_DATE_EPOCH: string };
}

const canRunContainers = await haveCommands(CONTAINER_COMMANDS);
const canInstall = await haveCommands({ curl: "curl", git: "git", openssl: "openssl" });
const hasServiceTools = await haveCommands({
  "systemd-analyze": "systemd",
  setpriv: "util-linux",
  useradd: "passwd",
});

Deno.test({
  name: "every way of installing leads to a delivered message",
  ignore: !canInstall,
  fn: async (t) => {
    const folder = await Deno.makeTempDir({ prefix: "release-" });
    await Deno.chmod(folder, 0o755);
    await using devnet = await startDevnet({ blockTimeSec: 1, hubBlockTimeMs: 400, oracleEveryMs: 200 });
    const certificates = await makeCertificates(folder);
    await using server = startReleaseServer(certificates);
    const stage = await prepare(folder, { devnet, certificates, server });
    try {
      await t.step("with the installer", () => withInstaller(stage));
      await t.step("upgrading and rolling back", () => upgradeAndBack(stage));
      await t.step("from the archive", () => fromArchive(stage));
      await t.step("from source, with the same bytes as in the other folder", () => fromSource(stage));
      await t.step({
        name: "in a container",
        ignore: !canRunContainers,
        fn: () => inContainer(stage),
      });
      await t.step({
        name: "as a service",
        ignore: !hasServiceTools || !await canRunServices(folder),
        fn: () => asService(stage),
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function prepare(
  folder: string,
  parts: Pick<Stage, "devnet" | "certificates" | "server">,
): Promise<Stage> {
  const identity = await readBuildIdentity();
  const { server, certificates } = parts;
  const tag = await makeRelease(folder, server, identity);
  const bin = `${folder}/bin`;
  await Deno.mkdir(bin);
  await prepareServiceHost(bin);
  const env = {
    HOME: `${folder}/home`,
    PATH: `${bin}:${folder}/home/.local/bin:${Deno.env.get("PATH")}`,
    TMPDIR: folder,
    // How curl gets to know our own authority.
    CURL_CA_BUNDLE: certificates.authorityFile,
    RELEASES: server.url,
    TAG: tag,
    OLD_TAG,
  };
  await checkFirstBlock(tag);
  return { folder, tag, env, identity, ...parts };
}

/** The first blocks of README.md and of docs/install.md name the newest release. */
async function checkFirstBlock(tag: string): Promise<void> {
  const first = await readBlock("docs/install.md", "Installing", 0);
  assert.match(first, /^RELEASES=https:\/\/\S+\nTAG=/);
  assert.ok(first.endsWith(`TAG=${tag}`), "docs/install.md names another release than deno.json");
  assert.equal(await readBlock("README.md", "Install", 0), first);
  assert.equal(
    await readBlock("README.md", "Install", 1),
    await readBlock("docs/install.md", "With the installer", 0),
  );
}

/** Commit and time of what is in `build/`. */
async function readBuildIdentity(): Promise<Stage["identity"]> {
  assert.equal(await isRelayerOutdated(), false, "build/ is older than its sources: deno task build");
  const said = await runBlock("build/causeway --version", { cwd: REPOSITORY, env: {} });
  const commit = /commit ([\w-]+)/.exec(said)?.[1];
  const { mtime } = await Deno.stat(`${REPOSITORY}/build/stage/causeway/main.js`);
  assert.ok(commit !== undefined && mtime !== null);
  return { CAUSEWAY_COMMIT: commit, SOURCE_DATE_EPOCH: String(mtime.getTime() / 1000) };
}

/** Makes the release of what is in `build/` and publishes it; gives its tag. */
async function makeRelease(
  folder: string,
  server: ReleaseServer,
  identity: Stage["identity"],
): Promise<string> {
  const startMs = performance.now();
  const line = `deno task --quiet release --no-build --url="${server.url}" --out="${folder}/dist"`;
  await runBlock(line, { cwd: REPOSITORY, env: identity });
  const tag = /BAKED_VERSION='(.*)'/.exec(await Deno.readTextFile(`${folder}/dist/causeway-installer.sh`))
    ?.[1];
  assert.ok(tag !== undefined);
  for (const { name } of PROGRAMS) {
    for (
      const file of [`${name}-${TARGET}.tar.gz`, `${name}-${TARGET}.tar.gz.sha256`, `${name}-installer.sh`]
    ) {
      server.files.set(`/${name}-${tag}/${file}`, await Deno.readFile(`${folder}/dist/${file}`));
    }
    const { size } = await Deno.stat(`${folder}/dist/${name}-${TARGET}.tar.gz`);
    say(`${name}: archive ${(size / 1e6).toFixed(1)} MB`);
  }
  say(`packed in ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
  return tag;
}

/** A folder with a configuration for the devnet, and nothing else. */
async function makeWorkFolder({ folder, devnet }: Stage, name: string): Promise<string> {
  const work = `${folder}/${name}`;
  await Deno.mkdir(work, { recursive: true });
  await Deno.writeTextFile(`${work}/relayer.toml`, relayerConfig(devnet.endpoints));
  return work;
}

/** Sends a message when the relayer is ready, waits until it has arrived, and stops the relayer. */
async function deliver({ devnet }: Stage, relayer: RunningBlock, to = "hub"): Promise<void> {
  await using running = relayer;
  await running.waitFor(new RegExp(events.leg_started.text), { count: 2 * devnet.chains.length });
  const sent = await sendPing(devnet, { from: "A", to });
  await waitForDelivery(devnet, sent);
  assert.equal(await running.terminate(), 0, running.text);
  assert.ok(running.text.includes(events.program_stopped.text), running.text);
}

async function withInstaller(stage: Stage): Promise<void> {
  const { folder, env, tag, server } = stage;
  const cwd = await makeWorkFolder(stage, "installer");
  const options = { cwd, env };
  await runBlock(await readBlock("docs/install.md", "With the installer", 0), options);
  assert.match(await runBlock("causeway --version", options), new RegExp(`^causeway ${tag.slice(1)} `));
  await deliver(stage, startBlock(await readBlock("docs/install.md", "With the installer", 1), options));
  // The program has no right to remove its socket; the next one takes its place.
  assert.deepEqual(namesIn(cwd), ["relayer.db", "relayer.db.lock", "relayer.db.sock", "relayer.toml"]);
  // TLS is not given up on the way.
  server.files.set(
    `/causeway-v9.0.0/causeway-${TARGET}.tar.gz`,
    () => Response.redirect("http://127.0.0.1:9/", 302),
  );
  const refused = await runBlock(
    `sh ${folder}/dist/causeway-installer.sh --version v9.0.0`,
    options,
    1,
  );
  assert.match(refused, /tar\.gz could not be downloaded: .*[Pp]rotocol "?http"? /);
  // The document says: the other name, the other program.
  const other = (await readBlock("docs/install.md", "With the installer", 0)).replaceAll(
    "causeway",
    "causeway-consensus",
  );
  await runBlock(other, options);
  assert.match(await runBlock("causeway-consensus --version", options), /^causeway-consensus /);
  assert.deepEqual(namesIn(`${folder}/home/.local/bin`), ["causeway", "causeway-consensus"]);
  assert.deepEqual(namesIn(`${folder}/home`), [".local"]);
}

/** On top of what the installer left behind. */
async function upgradeAndBack({ folder, env, tag, server }: Stage): Promise<void> {
  const options = { cwd: folder, env };
  const base = `causeway-${TARGET}`;
  await runBlock(
    `mkdir -p old/${base}; printf '#!/bin/sh\\necho causeway ${OLD_TAG}\\n' >old/${base}/causeway
chmod 755 old/${base}/causeway; tar -C old -czf old/${base}.tar.gz ${base}
(cd old; sha256sum ${base}.tar.gz >${base}.tar.gz.sha256)`,
    options,
  );
  for (const file of [`${base}.tar.gz`, `${base}.tar.gz.sha256`]) {
    server.files.set(`/causeway-${OLD_TAG}/${file}`, await Deno.readFile(`${folder}/old/${file}`));
  }
  await runBlock(await readBlock("docs/operations/upgrades.md", "Upgrading and rolling back", 1), options);
  assert.equal(await runBlock("causeway --version", options), `causeway ${OLD_TAG}\n`);
  await runBlock(await readBlock("docs/operations/upgrades.md", "Upgrading and rolling back", 0), options);
  assert.match(await runBlock("causeway --version", options), new RegExp(`^causeway ${tag.slice(1)} `));
}

/**
 * Packages of a bill of materials, each with the checksum of the lock file, and none that the lock file does not have;
 * among them are those that both programs import by name.
 */
async function readBill(file: string): Promise<ReadonlySet<string>> {
  const { components } = JSON.parse(await Deno.readTextFile(file));
  const { npm } = JSON.parse(await Deno.readTextFile(`${REPOSITORY}/deno.lock`));
  const locked = new Map(
    Object.entries<{ readonly integrity: string }>(npm).map(([key, { integrity }]) =>
      [key.replace(/^(@?[^@]+@[^@_]+)_.*$/, "$1"), integrity] as const
    ),
  );
  const names = new Set<string>();
  for (const { type, group, name, version, hashes, purl } of components) {
    if (type !== "library") continue;
    const specifier = `${group === undefined ? "" : `${group}/`}${name}@${version}`;
    assert.equal(purl, `pkg:npm/${specifier.replace(/^@/, "%40")}`);
    assert.deepEqual(hashes.map(({ alg }: { readonly alg: string }) => alg), ["SHA-512"]);
    const integrity = `sha512-${Uint8Array.fromHex(hashes[0].content).toBase64()}`;
    assert.equal(integrity, locked.get(specifier), specifier);
    names.add(specifier);
  }
  const needed = [
    "commander",
    "zod",
    "toml-eslint-parser",
    "viem",
    "@noble/curves",
    "@noble/hashes",
    "scale-ts",
  ];
  for (const name of [...needed, "prom-client", "@scure/sr25519"]) {
    assert.ok([...names].some((each) => each.startsWith(`${name}@`)), `${name} is not in ${file}`);
  }
  return names;
}

async function fromArchive(stage: Stage): Promise<void> {
  const { env } = stage;
  const cwd = `${stage.folder}/archive`;
  await Deno.mkdir(cwd);
  await runBlock(await readBlock("docs/install.md", "From the archive", 0), { cwd, env });
  assert.deepEqual(namesIn(`${cwd}/causeway-${TARGET}`), [
    "LICENSE",
    "README.md",
    "THIRD-PARTY-LICENCES.txt",
    "alerts.yml",
    "causeway",
    "causeway.service",
    "config.example.toml",
    "dashboard.json",
    "docs",
  ]);
  const licences = await Deno.readTextFile(`${cwd}/causeway-${TARGET}/THIRD-PARTY-LICENCES.txt`);
  const listed = await readBill(`${stage.folder}/dist/causeway.cdx.json`);
  for (const name of listed) assert.ok(licences.includes(`\n${name.replace(/@(?=[^@]*$)/, " ")} (`), name);
  await readBill(`${stage.folder}/dist/causeway-consensus.cdx.json`);
  await makeWorkFolder(stage, "archive");
  await deliver(stage, startBlock(await readBlock("docs/install.md", "From the archive", 1), { cwd, env }));
}

async function fromSource(stage: Stage): Promise<void> {
  const { folder, env, identity, tag } = stage;
  const origin = await makeOrigin(folder, tag);
  // Deeper than the first folder: relative paths differ, too.
  const cwd = `${folder}/from/source`;
  await Deno.mkdir(cwd, { recursive: true });
  const home = Deno.env.get("HOME") ?? "/root";
  const base = await Deno.stat(`${REPOSITORY}/build/denort`).then(
    () => ({ DENORT_BIN: `${REPOSITORY}/build/denort` }),
    () => ({}),
  );
  // The caches of Deno and npm are below the true home.
  const options = { cwd, env: { ...env, HOME: home, SOURCE: origin, ...identity, ...base } };
  await runBlock(await readBlock("docs/install.md", "From source", 0), options);
  const checkout = `${cwd}/causeway-source`;
  for (const { name } of PROGRAMS) {
    assert.equal(
      await sha256Of(`${checkout}/build/${name}`),
      await sha256Of(`${REPOSITORY}/build/${name}`),
      `${name} differs between two folders`,
    );
  }
  await Deno.copyFile((await makeWorkFolder(stage, "source")) + "/relayer.toml", `${checkout}/relayer.toml`);
  await deliver(
    stage,
    startBlock(await readBlock("docs/install.md", "From source", 1), { ...options, cwd: checkout }),
  );
  // What the container is made of; published files of the other folder must be the same. It was built above.
  const [packing = ""] = (await readBlock("docs/install.md", "In a container", 0)).split("\n");
  await runBlock(`${packing} --no-build`, {
    ...options,
    cwd: checkout,
  });
  assert.deepEqual(await readSums(`${checkout}/dist`), await readSums(`${folder}/dist`));
}

/** A repository that holds what the one around this file holds now, committed or not, tagged as the release. */
async function makeOrigin(folder: string, tag: string): Promise<string> {
  const origin = `${folder}/origin`;
  await runBlock(
    `mkdir ${origin}
git ls-files -co --exclude-standard | while read -r file; do [ ! -e "$file" ] || echo "$file"; done |
  tar -cf - -T - | tar -xf - -C ${origin}
cd ${origin}
git init -q
git add -A
git -c user.name=test -c user.email=test@example.org -c commit.gpgsign=false commit -qm release
git tag ${tag}`,
    { cwd: REPOSITORY, env: {} },
  );
  return origin;
}

/** Checksums by file; installers with the place of releases taken out, which differs. */
async function readSums(dist: string): Promise<ReadonlyMap<string, string>> {
  await runBlock("sha256sum -c --quiet SHA256SUMS", { cwd: dist, env: {} });
  const lines = (await Deno.readTextFile(`${dist}/SHA256SUMS`)).trimEnd().split("\n");
  return new Map(
    await Promise.all(lines.map(async (line) => {
      const [sum = "", name = ""] = line.split("  ");
      if (!name.endsWith("-installer.sh")) return [name, sum] as const;
      const text = await Deno.readTextFile(`${dist}/${name}`);
      return [name, text.replace(/^BAKED_URL=.*$/m, "")] as const;
    })),
  );
}

/** On top of what was made from source. */
async function inContainer(stage: Stage): Promise<void> {
  const { folder, devnet, certificates } = stage;
  const { bin } = await prepareContainers(`${folder}/containers`);
  const env = { ...stage.env, PATH: `${bin}:${stage.env.PATH}` };
  const checkout = { cwd: `${folder}/from/source/causeway-source`, env };
  await runBlock((await readBlock("docs/install.md", "In a container", 0)).split("\n")[1] ?? "", checkout);
  const cwd = await makeWorkFolder(stage, "container");
  const options = { cwd, env };
  const image = await runBlock("docker image inspect causeway", options);
  const [{ Config }] = JSON.parse(image);
  assert.deepEqual([Config.User, Config.Entrypoint, Config.Volumes], [
    "65532:65532",
    ["/usr/local/bin/relayer", "--listen=127.0.0.1:9180"],
    undefined,
  ]);
  await assert.rejects(runBlock("docker run --rm --entrypoint /bin/sh causeway -c true", options), /sh/);

  // Chain and hub are reached over TLS, with an authority that only the mapped directory knows.
  const { chains, hub } = devnet;
  const [a] = chains;
  assert.ok(a !== undefined);
  using chainFront = startTlsFront(Number(new URL(a.node.rpcUrl).port), certificates);
  using hubFront = startTlsFront(Number(new URL(hub.wsUrl).port), certificates);
  const config = relayerConfig(devnet.endpoints, {
    rpcUrls: { [a.stateMachine]: [`https://localhost:${chainFront.port}`] },
    hubUrl: `wss://localhost:${hubFront.port}`,
  });
  await Deno.writeTextFile(`${cwd}/relayer.toml`, config);
  const run = await readBlock("docs/install.md", "In a container", 2);

  await runBlock("mkdir -p data; cp relayer.toml data/", options);
  await Deno.chmod(`${cwd}/data/relayer.toml`, 0o644);
  const denied = await runBlock(run, options, 1);
  assert.match(denied, /may not read and write .*\(owned by 0:0\).*chown -R 65532:65532/);

  await runBlock(await readBlock("docs/install.md", "In a container", 1), options);
  await Deno.copyFile(certificates.authorityFile, `${cwd}/data/ca.pem`);
  const trusting = { cwd, env: { ...env, DOCKER_RUN_OPTIONS: "-e DENO_CERT=/data/ca.pem" } };
  await deliver(stage, startBlock(run, trusting), "B");
  const { uid } = await Deno.stat(`${cwd}/data/relayer.db`);
  assert.equal(uid, 65_532);
  // The other program, out of the same file.
  const other = ((await readBlock("docs/install.md", "In a container", 0)).split("\n")[1] ?? "")
    .replaceAll("causeway", "causeway-consensus");
  await runBlock(other, checkout);
  const said = await runBlock(
    "docker run --rm --read-only --cap-drop ALL causeway-consensus --version",
    options,
  );
  assert.match(said, /^causeway-consensus /);
}

async function canRunServices(folder: string): Promise<boolean> {
  const can = Deno.uid() === 0 && await canMakeNamespaces(folder);
  if (!can) say("\n!!! NOT TESTED: services, because no mount namespace can be made here\n");
  return can;
}

/** On top of what the archive left behind. */
async function asService(stage: Stage): Promise<void> {
  const { folder, env } = stage;
  const lines = onServiceHost(await readBlock("docs/install.md", "As a service", 0), folder);
  await deliver(stage, startBlock(lines, { cwd: `${folder}/archive`, env }));
  assert.equal(await Deno.stat("/etc/causeway").then(() => true, () => false), false, "it left its overlay");
}

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

async function sha256Of(file: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(file))).toHex();
}

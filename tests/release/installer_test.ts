/** `install.sh` does what installers of this kind must do, in dash and in busybox. Nothing here is compiled. */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { haveCommands } from "./support/debian.ts";
import { archivePath, InstallerBench, type InstallOptions, TAG } from "./support/installer_bench.ts";
import { makeCertificates, startTlsFront } from "./support/tls.ts";
import { type Shell, SHELLS, type ToolboxChanges } from "./support/toolbox.ts";

const isReady = await haveCommands({
  dash: "dash",
  busybox: "busybox",
  shellcheck: "shellcheck",
  curl: "curl",
  wget: "wget",
  openssl: "openssl",
});

/** A test per shell. */
function eachShell(name: string, play: (bench: InstallerBench, shell: Shell) => Promise<void>): void {
  for (const shell of SHELLS) {
    Deno.test({
      name: `installer in ${shell}: ${name}`,
      ignore: !isReady,
      fn: async () => {
        await using bench = await InstallerBench.open(shell);
        await play(bench, shell);
        assert.deepEqual(bench.leftovers(), [], "nothing stays in the temporary folder");
      },
    });
  }
}

/** Runs the installed program. */
async function versionOf(file: string): Promise<string> {
  return (await runOnce(file, ["--version"])).stdout.trim();
}

/** All files below a folder, with paths relative to it. */
function filesBelow(folder: string, below = ""): string[] {
  return [...Deno.readDirSync(`${folder}/${below}`)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(folder, `${below}${name}/`) : [`${below}${name}`]
  ).sort();
}

/** Runs an installer that must fail, with the status and a text in what it says, and install nothing. */
async function assertRefused(
  bench: InstallerBench,
  options: InstallOptions,
  { code = 1, said }: { readonly code?: number; readonly said: RegExp },
): Promise<void> {
  const result = await bench.run({
    ...options,
    args: ["--to", `${bench.folder}/to`, ...(options.args ?? [])],
  });
  assert.deepEqual([result.code, result.stdout], [code, ""], result.stderr);
  assert.match(result.stderr, said);
  assert.equal(
    await Deno.stat(`${bench.folder}/to/causeway`).then(() => true, () => false),
    false,
    "it was installed",
  );
}

eachShell("installs the program once and again, beside what is there", async (bench) => {
  const to = `${bench.folder}/to`;
  await Deno.mkdir(to);
  for (const name of ["relayer.toml", "relayer.db", "key"]) await Deno.writeTextFile(`${to}/${name}`, name);
  for (const _ of ["first", "second"]) {
    const { code, stdout, stderr } = await bench.run({ args: ["--to", to] });
    assert.deepEqual([code, stdout], [0, ""], stderr);
    assert.ok(stderr.includes(`installed causeway ${TAG}`) && stderr.includes(`${to}/causeway`), stderr);
    assert.equal(await versionOf(`${to}/causeway`), `causeway ${TAG}`);
    assert.equal((await Deno.stat(`${to}/causeway`)).mode, 0o100755);
    assert.deepEqual(filesBelow(to), ["causeway", "key", "relayer.db", "relayer.toml"]);
  }
  assert.equal(await Deno.readTextFile(`${to}/relayer.db`), "relayer.db");
  // The checksum of its own release is in the script: nobody is asked for it.
  assert.deepEqual(new Set(bench.server.requests), new Set([archivePath(TAG)]));
});

eachShell("works from a pipe and changes nothing in HOME but the program", async (bench) => {
  await Deno.mkdir(bench.home);
  await Deno.writeTextFile(`${bench.home}/.profile`, "# mine\n");
  await bench.install({ isPiped: true });
  assert.deepEqual(filesBelow(bench.home), [".local/bin/causeway", ".profile"]);
  assert.equal(await Deno.readTextFile(`${bench.home}/.profile`), "# mine\n");
});

eachShell("installs the other program under its own name", async (bench) => {
  const script = await bench.installer("causeway-consensus");
  await bench.install({ script });
  assert.equal(
    await versionOf(`${bench.home}/.local/bin/causeway-consensus`),
    `causeway-consensus ${TAG}`,
  );
});

eachShell(
  "--to, CAUSEWAY_INSTALL_DIR, XDG_BIN_HOME and HOME choose the folder, in this order",
  async (bench) => {
    const folder = (name: string): string => `${bench.folder}/by-${name}`;
    const env = { CAUSEWAY_INSTALL_DIR: folder("own"), XDG_BIN_HOME: folder("xdg") };
    const cases: readonly (readonly [InstallOptions, string])[] = [
      [{ args: [`--to=${folder("to")}`], env }, folder("to")],
      [{ env }, folder("own")],
      [{ env: { ...env, CAUSEWAY_INSTALL_DIR: undefined } }, folder("xdg")],
      [{}, `${bench.home}/.local/bin`],
    ];
    for (const [options, expected] of cases) {
      await bench.install(options);
      assert.equal(await versionOf(`${expected}/causeway`), `causeway ${TAG}`);
      await Deno.remove(`${expected}/causeway`);
    }
    const { code, stderr } = await bench.run({ env: { HOME: undefined } });
    assert.equal(code, 1);
    assert.match(stderr, /HOME is not set: say where to install with --to/);
  },
);

eachShell("another release is checked against the checksum that was published with it", async (bench) => {
  await bench.publish("v1.3.0");
  const ways: readonly InstallOptions[] = [
    { args: ["--version", "v1.3.0"] },
    { args: ["--version=1.3.0"] },
    { env: { CAUSEWAY_VERSION: "v1.3.0" } },
  ];
  for (const options of ways) {
    await bench.install(options);
    assert.equal(await versionOf(`${bench.home}/.local/bin/causeway`), "causeway v1.3.0");
  }
  assert.deepEqual(
    new Set(bench.server.requests),
    new Set([archivePath("v1.3.0"), `${archivePath("v1.3.0")}.sha256`]),
  );
  for (const text of ["", "<html>", "0".repeat(63), `${"0".repeat(64)}  x`]) {
    bench.server.files.set(`${archivePath("v1.3.0")}.sha256`, new TextEncoder().encode(text));
    const said = text.includes("x") ? /checksum of .* is wrong/ : /sha256 holds no checksum/;
    await assertRefused(bench, { args: ["--version", "v1.3.0"] }, { said });
  }
});

eachShell("a wrong checksum, a missing release and a cut archive install nothing", async (bench) => {
  const good = await bench.installer();
  await assertRefused(bench, { args: ["--version=v9.9.9"] }, {
    said: /\/causeway-v9\.9\.9\/causeway-x86_64-unknown-linux-gnu\.tar\.gz could not be downloaded: .*404/,
  });
  const archive = bench.server.files.get(archivePath(TAG));
  assert.ok(archive instanceof Uint8Array);
  bench.server.files.set(archivePath(TAG), archive.slice(0, -1));
  await assertRefused(bench, { script: good }, {
    said: /checksum of http.* is wrong .*nothing was installed/,
  });
  // Published with the right checksum, and still not what it should be.
  bench.server.files.set(archivePath(TAG), new TextEncoder().encode("no archive"));
  await assertRefused(bench, {}, { said: /could not be unpacked/ });
});

eachShell("a passing fault of the server is tried again", async (bench) => {
  const archive = bench.server.files.get(archivePath(TAG));
  const script = await bench.installer();
  assert.ok(archive instanceof Uint8Array);
  bench.server.files.set(archivePath(TAG), () => {
    return bench.server.requests.length === 1 ? new Response("busy", { status: 503 }) : new Response(archive);
  });
  await bench.install({ script });
  assert.equal(bench.server.requests.length, 2);
});

eachShell("a machine that the program cannot run on is reported, with a way out", async (bench) => {
  const cases: readonly (readonly [ToolboxChanges, RegExp])[] = [
    [{ false: { uname: "echo Darwin" } }, /runs on Linux, and this is Darwin: .*container/],
    [{ false: { uname: '[ "$1" = -s ] && echo Linux || echo aarch64' } }, /x86_64, and this is aarch64/],
    [{ false: { getconf: '[ "$1" = LONG_BIT ] && echo 32' } }, /32-bit on a 64-bit CPU/],
    [
      { false: { getconf: '[ "$1" = LONG_BIT ] && echo 64 || echo glibc 2.26' } },
      /glibc 2\.27 or newer is needed, and this is 2\.26: .*container/,
    ],
    [{ false: { getconf: "exit 1", ldd: "echo musl libc >&2; exit 1" } }, /musl .*container image/],
    [{ without: ["getconf"], false: { ldd: "echo musl libc" } }, /musl .*container image/],
  ];
  for (const [tools, said] of cases) await assertRefused(bench, { tools }, { said });
  assert.deepEqual(bench.server.requests, [], "nothing was downloaded");
});

eachShell("a newer glibc of any kind passes, also where its version is unknown", async (bench) => {
  for (const version of ["2.27", "2.36", "2.100", "3.0", "2.39.9000"]) {
    const getconf = `[ "$1" = LONG_BIT ] && echo 64 || echo glibc ${version}`;
    await bench.install({ tools: { false: { getconf } } });
  }
  await bench.install({ tools: { without: ["getconf", "ldd"] } });
});

eachShell("a program that does not run is not installed", async (bench) => {
  await bench.publish(TAG, { script: "echo version GLIBC_2.99 not found >&2; exit 1" });
  await assertRefused(bench, {}, { said: /does not run on this system, .*: version GLIBC_2\.99 not found/ });
});

eachShell(
  "missing commands are named; curl or wget, and any tool for checksums will do",
  async (bench, shell) => {
    for (const name of ["uname", "tar", "gzip", "mktemp", "mv"]) {
      // Without uname it cannot even be told where it runs.
      const said = name === "uname" ? /uname/ : new RegExp(`command '${name}' is needed and missing`);
      const result = await bench.run({ tools: { without: [name] } });
      assert.notEqual(result.code, 0);
      assert.match(result.stderr, said);
    }
    await assertRefused(bench, { tools: { without: ["curl", "wget"] } }, { said: /curl or wget is needed/ });
    await assertRefused(bench, { tools: { without: ["sha256sum", "shasum", "openssl"] } }, {
      said: /sha256sum, shasum or openssl is needed to check the download/,
    });
    const enough: readonly ToolboxChanges[] = shell === "busybox" ? [{ without: ["shasum", "openssl"] }] : [
      { without: ["wget", "shasum", "openssl"] },
      { without: ["curl", "shasum", "openssl"] },
      { without: ["sha256sum", "openssl"] },
      { without: ["sha256sum", "shasum"] },
    ];
    for (const tools of enough) {
      await bench.install({ tools });
    }
  },
);

eachShell("wrong arguments end with 2 and download nothing; --help ends with 0", async (bench) => {
  const cases: readonly (readonly [InstallOptions, RegExp])[] = [
    [{ args: ["--verison"] }, /unknown argument '--verison'/],
    [{ args: ["--version"] }, /--version needs a tag/],
    [{ args: ["--version", "latest"] }, /'vlatest' is no release tag/],
    [{ args: ["--version", "v1.2.3/../.."] }, /no release tag/],
    [{ args: ["--version", "v1.2"] }, /no release tag/],
    [{ env: { CAUSEWAY_DOWNLOAD_URL: "ftp://example.org" } }, /must begin with https/],
  ];
  for (const [options, said] of cases) await assertRefused(bench, options, { code: 2, said });
  const source = await Deno.readTextFile(`${REPOSITORY}/install.sh`);
  await assertRefused(bench, { script: source }, { code: 2, said: /say which release/ });
  await assertRefused(bench, { script: source, args: ["--version=v1.2.3"] }, {
    code: 2,
    said: /set CAUSEWAY_DOWNLOAD_URL/,
  });
  const help = await bench.run({ args: ["--help"] });
  assert.deepEqual([help.code, help.stderr], [0, ""]);
  assert.match(help.stdout, /--version TAG .* than v1\.2\.3.*--to FOLDER.*CAUSEWAY_DOWNLOAD_URL/s);
  assert.deepEqual(bench.server.requests, []);
});

eachShell(
  "a mirror without TLS is used, with a warning that --quiet does not hide; this machine needs none",
  async (bench) => {
    for (const args of [[], ["--quiet"]]) {
      const CAUSEWAY_DOWNLOAD_URL = `${bench.server.url.replace("127.0.0.1", "127.1")}/`;
      const { stderr } = await bench.install({ args, env: { CAUSEWAY_DOWNLOAD_URL } });
      assert.match(stderr, /warning: http:.* is not encrypted/);
    }
    for (
      const start of [
        "http://localhost:x@",
        "http://127.0.0.1:1@",
        "http://localhost@",
        "http://localhost.example.org@",
      ]
    ) {
      const CAUSEWAY_DOWNLOAD_URL = bench.server.url.replace("http://", start);
      const { stderr } = await bench.run({ args: ["-q"], env: { CAUSEWAY_DOWNLOAD_URL } });
      assert.match(stderr, /warning: http:.* is not encrypted/, start);
    }
    const local = bench.server.url.replace("127.0.0.1", "localhost");
    assert.equal((await bench.run({ args: ["-q"], env: { CAUSEWAY_DOWNLOAD_URL: local } })).stderr, "");
  },
);

Deno.test({
  // The wget of busybox finds no cipher with the TLS of the runtime.
  name: "installer in dash: a redirect to where nothing is encrypted is refused by curl and by wget",
  ignore: !isReady,
  fn: async () => {
    await using bench = await InstallerBench.open("dash");
    const certificates = await makeCertificates(bench.folder);
    using front = startTlsFront(Number(new URL(bench.server.url).port), certificates);
    const base = `https://localhost:${front.port}`;
    await Deno.writeTextFile(`${bench.folder}/wgetrc`, `ca_certificate = ${certificates.authorityFile}\n`);
    const env = {
      CAUSEWAY_DOWNLOAD_URL: base,
      CURL_CA_BUNDLE: certificates.authorityFile,
      WGETRC: `${bench.folder}/wgetrc`,
    };
    const archive = bench.server.files.get(archivePath(TAG));
    assert.ok(archive !== undefined);
    const script = await bench.installer();
    bench.server.files.set("/moved", archive);
    const moveTo = (place: string): void => {
      const headers = { location: `${place}/moved` };
      bench.server.files.set(archivePath(TAG), () => new Response(null, { status: 302, headers }));
    };
    const tools: readonly ToolboxChanges[] = [{ without: ["curl"] }, { without: ["wget"] }];
    for (const each of tools) {
      moveTo(base);
      await bench.install({ script, env, tools: each });
      await Deno.remove(`${bench.home}/.local/bin/causeway`);
      moveTo(bench.server.url);
      await assertRefused(bench, { script, env, tools: each }, {
        said: /not encrypted|[Pp]rotocol .*http.* (?:disabled|not supported)/,
      });
    }
  },
});

eachShell(
  "the name of the copy cannot be foreseen: what lies in its way is not written to",
  async (bench) => {
    const to = `${bench.folder}/to`;
    await Deno.mkdir(to);
    await Deno.writeTextFile(`${bench.folder}/victim`, "precious");
    // The program is tried before it is copied: here it plants links at names made of the numbers of its ancestors.
    const script = `pid=$PPID; for _ in 1 2 3; do
  /bin/ln -s ${bench.folder}/victim ${to}/.causeway.$pid
  read -r _ _ _ pid _ </proc/$pid/stat
done; echo "causeway ${TAG}"`;
    await bench.publish(TAG, { script });
    await bench.install({ args: ["--to", to] });
    assert.equal(await Deno.readTextFile(`${bench.folder}/victim`), "precious");
    assert.equal((await Deno.lstat(`${to}/causeway`)).isFile, true);
  },
);

eachShell("--quiet says nothing of what went well", async (bench) => {
  const { code, stdout, stderr } = await bench.run({ args: ["--quiet"] });
  assert.deepEqual([code, stdout, stderr], [0, "", ""]);
  await assertRefused(bench, { args: ["-q", "--version=v9.9.9"] }, { said: /could not be downloaded/ });
});

eachShell("the effect on PATH is reported: not on it, or another one in front", async (bench) => {
  const to = `${bench.folder}/to`;
  const other = `${bench.folder}/other`;
  await Deno.mkdir(other);
  const away = await bench.run({ args: ["--to", to] });
  assert.match(away.stderr, new RegExp(`to use it now: export PATH="${to}:\\$PATH"`));
  const there = await bench.run({ args: ["--to", to], pathInFront: [to] });
  assert.doesNotMatch(there.stderr, /PATH|warning/);
  await Deno.writeTextFile(`${other}/causeway`, "#!/bin/sh\n", { mode: 0o755 });
  const behind = await bench.run({ args: ["--to", to], pathInFront: [other, to] });
  assert.match(behind.stderr, new RegExp(`warning: ${other}/causeway comes earlier on PATH`));
  const hidden = await bench.run({ args: ["--to", to], pathInFront: [other] });
  assert.match(hidden.stderr, new RegExp(`warning: until then, ${other}/causeway is run instead`));
  for (const { code } of [away, there, behind, hidden]) assert.equal(code, 0);
});

eachShell("a running program is replaced, and keeps running", async (bench) => {
  const to = `${bench.folder}/to`;
  await Deno.mkdir(to);
  await Deno.copyFile("/bin/sleep", `${to}/causeway`);
  const running = new Deno.Command(`${to}/causeway`, { args: ["60"] }).spawn();
  try {
    await bench.install({ args: ["--to", to] });
    assert.equal(await versionOf(`${to}/causeway`), `causeway ${TAG}`);
    assert.match(await Deno.readLink(`/proc/${running.pid}/exe`), /\/causeway \(deleted\)$/);
  } finally {
    running.kill("SIGKILL");
    await running.status;
  }
});

eachShell("a folder that cannot be written is reported, and nothing stays there", async (bench) => {
  const to = `${bench.folder}/to`;
  await Deno.mkdir(to, { mode: 0o555 });
  // Root may write everywhere.
  const someone = Deno.uid() === 0 ? { uid: 65_534 } : {};
  for (const folder of [to, `${to}/deeper`]) {
    const { code, stderr } = await bench.run({ args: ["--to", folder], ...someone });
    assert.equal(code, 1);
    assert.match(stderr, /cannot be (?:made|written): choose a folder of yours with --to/);
  }
  assert.deepEqual(filesBelow(to), []);
});

eachShell("a script that was cut off anywhere does nothing", async (bench) => {
  const script = await bench.installer();
  const last = script.trimEnd().lastIndexOf("\n") + 1;
  const ends = [...script.matchAll(/\n/g)].map(({ index }) => index + 1)
    .filter((end, at) => end < script.length && (at % 12 === 0 || end >= last));
  for (let end = last; end < script.trimEnd().length; end++) ends.push(end);
  for (const end of ends) await bench.run({ script: script.slice(0, end), isPiped: true });
  assert.deepEqual(bench.server.requests, []);
  assert.equal(await Deno.stat(bench.home).then(() => true, () => false), false, "HOME was made");
});

eachShell("stopped in the middle of a download, it leaves nothing behind", async (bench) => {
  const script = await bench.installer();
  const asked = Promise.withResolvers<void>();
  const { promise, resolve } = Promise.withResolvers<Response>();
  bench.server.files.set(archivePath(TAG), () => {
    asked.resolve();
    return promise;
  });
  const child = await bench.start({ script });
  await Promise.race([asked.promise, child.status]);
  assert.equal(bench.leftovers().length, 1);
  // As Ctrl-C does: to everything that was started.
  await new Deno.Command("kill", { args: ["-INT", "--", `-${child.pid}`] }).output();
  const { code } = await child.output();
  assert.notEqual(code, 0);
  resolve(new Response());
  assert.equal(await Deno.stat(bench.home).then((found) => found.isFile, () => false), false);
});

Deno.test({
  name: "installer: shellcheck finds nothing",
  ignore: !isReady,
  fn: async () => {
    const result = await runOnce("shellcheck", ["-s", "sh", `${REPOSITORY}/install.sh`]);
    assert.deepEqual(result, { code: 0, stdout: "", stderr: "" });
  },
});

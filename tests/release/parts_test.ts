/** The parts that releases are put together from, each by itself: names, texts, archives. Nothing is compiled. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { packFolder, sha256Of } from "../../src/build/archive.ts";
import { checkBase } from "../../src/build/base.ts";
import { billOfMaterials } from "../../src/build/bill_of_materials.ts";
import { nameByOrder, packagesIn, withoutMachine } from "../../src/build/bundle.ts";
import { checkTag } from "../../src/build/identity.ts";
import { makeInstaller } from "../../src/build/release.ts";
import { licencesText } from "../../src/build/licences.ts";
import { type Package, readChecksums, readPackages } from "../../src/build/packages.ts";
import { PROGRAMS } from "../../src/build/programs.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";

const TEXT = "Permission is granted";
const PACKAGES: readonly Package[] = [
  { name: "@a/b", version: "1.0.0", licence: "MIT", author: "Ann", licenceText: TEXT, sha512: "ab" },
  { name: "c", version: "2.0.0-rc.1", licence: "MIT", author: "Cem", licenceText: undefined, sha512: "cd" },
  {
    name: "d",
    version: "3.0.0",
    licence: "(MIT OR Apache-2.0)",
    author: "",
    licenceText: TEXT,
    sha512: "ef",
  },
];

Deno.test("release: only the tag of the version in deno.json is accepted", () => {
  checkTag("v1.2.3", "1.2.3");
  for (const tag of ["1.2.3", "v1.2.4", "v1.2.3-rc.1", "v1.2", ""]) {
    assert.throws(() => checkTag(tag, "1.2.3"), /does not fit version 1\.2\.3 .*tag v1\.2\.3/);
  }
});

Deno.test("consensus proofs: paths into the package cache lose where it is and which registry it is of", () => {
  const expected = '// npm/viem/2.57.1/index.js\n  "npm/@a/b/1.0.0/x.js"(exports) {}';
  for (const cache of ["../../root/.cache/deno/npm", "../../../a+b (c)/npm", "build/npm"]) {
    for (const host of ["registry.example.org", "127.0.0.1_4873"]) {
      const text =
        `// ${cache}/${host}/viem/2.57.1/index.js\n  "${cache}/${host}/@a/b/1.0.0/x.js"(exports) {}`;
      assert.equal(withoutMachine(text, cache), expected);
    }
  }
  assert.deepEqual(packagesIn([expected, "// npm/viem/2.57.1/other.js", "// src/npm/no.ts"]), [
    "@a/b@1.0.0",
    "viem@2.57.1",
  ]);
});

Deno.test("consensus proofs: files are named by the order in which they are named, and references follow", () => {
  const bundled = (a: string, b: string): Map<string, string> =>
    new Map([
      [a, `import { x } from "./main.js";\nexport const y = "./missing.js";`],
      ["main.js", `import "./${b}";\nconst late = await import('./${a}');`],
      ["lonely-AAAA.js", "export {};"],
      [b, `export * from "./${a}";`],
    ]);
  const named = nameByOrder(bundled("chunk-AAAA.js", "chunk-BBBB.js"));
  assert.deepEqual([...named], [
    ["main.js", `import "./part_1.js";\nconst late = await import('./part_2.js');`],
    ["part_1.js", `export * from "./part_2.js";`],
    ["part_2.js", `import { x } from "./main.js";\nexport const y = "./missing.js";`],
  ]);
  assert.deepEqual(nameByOrder(bundled("z-1.js", "a-2.js")), named, "other hashes, other order of files");
});

Deno.test("packages: checksums come from the lock file, whatever peers stand behind a name", () => {
  const integrity = `sha512-${new Uint8Array([1, 254]).toBase64()}`;
  const lock = { npm: { "viem@2.57.1_zod@4.6.7": { integrity }, "@a/b_c@1.0.0": { integrity } } };
  const checksums = readChecksums(JSON.stringify(lock));
  assert.deepEqual([...checksums], [["viem@2.57.1", "01fe"], ["@a/b_c@1.0.0", "01fe"]]);
  for (const broken of [{}, { npm: { "a@1.0.0": {} } }, { npm: { "a@1.0.0": { integrity: "sha1-x" } } }]) {
    assert.throws(() => readChecksums(JSON.stringify(broken)), /lock file has no/);
  }
});

Deno.test("packages: a package without a licence or a checksum makes no release", async () => {
  const npmCache = await Deno.makeTempDir();
  try {
    const folder = `${npmCache}/registry.example.org/a/1.0.0`;
    const lockFile = `${npmCache}/deno.lock`;
    const integrity = `sha512-${new Uint8Array([1]).toBase64()}`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(lockFile, JSON.stringify({ npm: { "a@1.0.0": { integrity } } }));
    const read = (): Promise<readonly Package[]> => readPackages(["a@1.0.0"], { npmCache, lockFile });
    await Deno.writeTextFile(`${folder}/package.json`, "{}");
    await assert.rejects(read(), /a@1\.0\.0 names no licence/);
    await Deno.writeTextFile(`${folder}/package.json`, '{"license":"MIT","author":{"name":"Ann"}}');
    const known = { name: "a", version: "1.0.0", licence: "MIT", author: "Ann", sha512: "01" };
    assert.deepEqual(await read(), [{ ...known, licenceText: undefined }]);
    await Deno.writeTextFile(`${folder}/NOTICE`, "notice\r\n");
    await Deno.writeTextFile(`${folder}/LICENCE.md`, "licence\n");
    await Deno.writeTextFile(`${folder}/licences.js`, "code");
    assert.deepEqual(await read(), [{ ...known, licenceText: "licence\n\nnotice" }]);
    await Deno.writeTextFile(lockFile, '{"npm":{}}');
    await assert.rejects(read(), /no checksum of a@1\.0\.0/);
    await assert.rejects(readPackages(["b@1.0.0"], { npmCache, lockFile }), /not in the package cache/);
  } finally {
    await Deno.remove(npmCache, { recursive: true });
  }
});

Deno.test("licences: every package is named once with its terms, equal texts stand once", () => {
  const text = licencesText("causeway", { version: "2.7.11", licenceText: "Deno's\n" }, PACKAGES);
  for (const title of ["Deno 2.7.11 (MIT)", "@a/b 1.0.0 (MIT)", "c 2.0.0-rc.1 (MIT)"]) {
    assert.equal(text.split(`${title}\n`).length, 2, title);
  }
  assert.match(text, /@a\/b 1\.0\.0 \(MIT\)\nd 3\.0\.0 \(\(MIT OR Apache-2\.0\)\)\n-+\n\nPermission/);
  assert.equal(text.split(TEXT).length, 2);
  assert.match(text, /c by Cem is published under the licence MIT without a copy/);
});

Deno.test("bill of materials: CycloneDX with the program, Deno, and each package with its checksum", () => {
  const [program] = PROGRAMS;
  assert.ok(program !== undefined);
  const identity = { version: "1.2.3", commit: "0123456789ab", epochSec: 1_700_000_000 };
  const facts = { program, identity, denoVersion: "2.7.11", sha256: "ff", packages: PACKAGES };
  const text = billOfMaterials(facts);
  assert.equal(billOfMaterials(facts), text);
  const bill = JSON.parse(text);
  assert.deepEqual([bill.bomFormat, bill.specVersion, bill.version], ["CycloneDX", "1.6", 1]);
  assert.equal(bill.metadata.timestamp, "2023-11-14T22:13:20Z");
  const { name, version, hashes } = bill.metadata.component;
  assert.deepEqual([name, version, hashes], ["causeway", "1.2.3", [{ alg: "SHA-256", content: "ff" }]]);
  const found = bill.components.map(({ purl }: { readonly purl: string }) => purl);
  assert.deepEqual(found, [
    "pkg:github/denoland/deno@v2.7.11",
    "pkg:npm/%40a/b@1.0.0",
    "pkg:npm/c@2.0.0-rc.1",
    "pkg:npm/d@3.0.0",
  ]);
  assert.deepEqual(bill.components[1], {
    type: "library",
    "bom-ref": "pkg:npm/%40a/b@1.0.0",
    group: "@a",
    name: "b",
    version: "1.0.0",
    hashes: [{ alg: "SHA-512", content: "ab" }],
    licenses: [{ license: { id: "MIT" } }],
    purl: "pkg:npm/%40a/b@1.0.0",
  });
  assert.deepEqual(bill.components[3].licenses, [{ expression: "(MIT OR Apache-2.0)" }]);
  assert.deepEqual(bill.dependencies[0].dependsOn, found);
});

/** An ELF header whose section table ends at `length`; nothing else of it is read. */
function executable(length: number, fill: number): Uint8Array {
  const bytes = new Uint8Array(length + 16).fill(fill);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x7f454c46);
  view.setBigUint64(40, BigInt(length - 64), true);
  view.setUint16(58, 64, true);
  view.setUint16(60, 1, true);
  return bytes;
}

Deno.test("base: an executable on other bytes than the pinned ones is refused, whatever is behind them", () => {
  const good = executable(256, 1);
  const pinned = createHash("sha256").update(good.subarray(0, 256)).digest("hex");
  checkBase(good, pinned);
  checkBase(good.with(260, 9), pinned);
  for (const wrong of [good.with(100, 9), executable(255, 1), executable(256, 2)]) {
    assert.throws(() => checkBase(wrong, pinned), /not the pinned one/);
  }
  assert.throws(() => checkBase(good), /not the pinned one/);
  assert.throws(
    () => checkBase(new TextEncoder().encode("#!/bin/sh\n".repeat(9)), pinned),
    /not an ELF executable/,
  );
});

Deno.test("installer: the settings of a release are filled in, and nothing else changes", async () => {
  const source = await Deno.readTextFile(`${REPOSITORY}/install.sh`);
  const settings = { program: "p", tag: "v1.2.3", sha256: "ab", url: "https://example.org/r/" };
  const made = makeInstaller(source, settings);
  const changed = made.split("\n").filter((line, at) => line !== source.split("\n")[at]);
  assert.deepEqual(changed, [
    "PROGRAM='p'",
    "BAKED_VERSION='v1.2.3'",
    "BAKED_SHA256='ab'",
    "BAKED_URL='https://example.org/r'",
  ]);
  assert.throws(() => makeInstaller(source, { ...settings, url: "https://a'; rm -rf /'" }), /cannot be/);
  assert.throws(() => makeInstaller(source.replace("BAKED_URL=''", ""), settings), /BAKED_URL exactly once/);
  assert.throws(() => makeInstaller(`${source}PROGRAM='x'\n`, settings), /PROGRAM exactly once/);
});

Deno.test("archive: the bytes depend on content and time only, not on folder, file times or modes of the user", async () => {
  const parent = await Deno.makeTempDir();
  try {
    const sums: string[] = [];
    for (const [folder, mode, at] of [["a", 0o775, 1], ["deeper/b", 0o700, 2_000_000_000]] as const) {
      const place = `${parent}/${folder}/thing`;
      await Deno.mkdir(place, { recursive: true });
      // In another order, at other times.
      for (const name of at === 1 ? ["z", "a"] : ["a", "z"]) {
        await Deno.writeTextFile(`${place}/${name}`, name);
      }
      await Deno.chmod(`${place}/z`, mode);
      await Deno.chmod(`${place}/a`, mode & 0o666);
      await Deno.utime(`${place}/a`, at, at);
      const outFile = `${parent}/${folder}/out.tar.gz`;
      await packFolder(`${parent}/${folder}`, "thing", { outFile, epochSec: 1_700_000_000 });
      sums.push(await sha256Of(outFile));
    }
    assert.equal(new Set(sums).size, 1);
    const listing = await new Deno.Command("tar", {
      args: ["--numeric-owner", "-tvzf", `${parent}/a/out.tar.gz`],
      env: { TZ: "UTC" },
    }).output();
    assert.deepEqual(
      new TextDecoder().decode(listing.stdout).trimEnd().split("\n").map((line) => line.split(/ +/)),
      [
        ["drwxr-xr-x", "0/0", "0", "2023-11-14", "22:13", "thing/"],
        ["-rw-r--r--", "0/0", "1", "2023-11-14", "22:13", "thing/a"],
        ["-rwxr-xr-x", "0/0", "1", "2023-11-14", "22:13", "thing/z"],
      ],
    );
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
});

Deno.test("programs: what a release takes from the repository is there, and the units run what is installed", async () => {
  for (const { name, entry, exampleConfig, unit } of PROGRAMS) {
    for (const file of [entry, exampleConfig]) assert.ok((await Deno.stat(`${REPOSITORY}/${file}`)).isFile);
    const text = await Deno.readTextFile(`${REPOSITORY}/packaging/systemd/${unit}`);
    assert.match(text, new RegExp(`^ExecStart=/usr/local/bin/${name} --config=/etc/${name}/`, "m"));
    assert.match(text, new RegExp(`^User=${name}$`, "m"));
    for (const hardening of ["NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="]) {
      assert.ok(text.includes(`\n${hardening}\n`), `${unit}: ${hardening}`);
    }
  }
});

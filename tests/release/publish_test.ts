/** Publishing, with stand-ins for `gh` and `docker` that write down what they are told; and how workflows use actions. */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce, type RunResult } from "../scenario/support/run_once.ts";
import { parse } from "yaml";
import { sha256Of } from "../../src/build/archive.ts";

/** In the order of file names. */
const PROGRAMS = ["causeway-consensus", "causeway"];

/** Files as `deno task release` would leave them. */
function filesOf(program: string): readonly string[] {
  const archive = `${program}-x86_64-unknown-linux-gnu.tar.gz`;
  return [archive, `${archive}.sha256`, `${program}-installer.sh`, `${program}.cdx.json`];
}

/** Digests as docker names them: of the base, and of an image with those of other names. */
const DOCKER = `case "$*" in
  *"{{index"*) echo gcr.io/base@sha256:${"b".repeat(64)} ;;
  *inspect*) for image; do :; done
    echo other/name@sha256:${"c".repeat(64)}
    echo "\${image%:*}@sha256:${"d".repeat(64)}" ;;
  build*) for folder; do :; done
    ls "$folder" >&2 ;;
  *) echo "chatter of docker" ;;
esac
`;

/** An archive as a release has it. */
async function packProgram(folder: string, file: string): Promise<void> {
  const name = file.replace(".tar.gz", "");
  await Deno.mkdir(`${folder}/${name}`);
  const { code } = await runOnce("tar", ["-czf", `dist/${file}`, name], { cwd: folder });
  assert.equal(code, 0);
}

async function publish(
  args: readonly string[],
  change: (dist: string) => Promise<void> = () => Promise.resolve(),
): Promise<RunResult & { readonly calls: readonly string[] }> {
  const folder = await Deno.makeTempDir({ prefix: "publish-" });
  try {
    await Deno.mkdir(`${folder}/dist`);
    await Deno.mkdir(`${folder}/bin`);
    const sums: string[] = [];
    for (const file of PROGRAMS.flatMap(filesOf)) {
      await Deno.writeTextFile(`${folder}/dist/${file}`, file);
      if (file.endsWith(".tar.gz")) await packProgram(folder, file);
      sums.push(`${await sha256Of(`${folder}/dist/${file}`)}  ${file}\n`);
    }
    await Deno.writeTextFile(`${folder}/dist/SHA256SUMS`, sums.join(""));
    await change(`${folder}/dist`);
    for (const name of ["gh", "docker"]) {
      const script = `#!/bin/sh\necho "${name} $*" >>"${folder}/calls"\n${name === "docker" ? DOCKER : ""}`;
      await Deno.writeTextFile(`${folder}/bin/${name}`, script, { mode: 0o755 });
    }
    const result = await runOnce(`${REPOSITORY}/packaging/publish.sh`, args, {
      cwd: folder,
      env: { PATH: `${folder}/bin:${Deno.env.get("PATH")}` },
    });
    const calls = await Deno.readTextFile(`${folder}/calls`).catch(() => "");
    return { ...result, calls: calls.split("\n").slice(0, -1) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("publish: images of both programs, then a release of each with all of its files", async () => {
  const { code, stdout, stderr, calls } = await publish(["v1.2.3", "0123abc", "ghcr.io/Somebody"]);
  assert.equal(code, 0, stderr);
  const images = PROGRAMS.map((program) => `ghcr.io/somebody/${program}`);
  const digest = `sha256:${"d".repeat(64)}`;
  assert.equal(
    stdout,
    PROGRAMS.map((program, at) => `${program}-image=${images[at]}\n${program}-digest=${digest}\n`).join(""),
    "what the workflow attests",
  );
  for (const program of PROGRAMS) {
    assert.ok(stderr.includes(`${program}-x86_64-unknown-linux-gnu\n`), "unpacked");
  }
  const notes = calls.filter((call) => call.startsWith("gh ")).map((call) =>
    / --notes (.*?)\. What/.exec(call)?.[1]
  );
  assert.deepEqual(notes, images.map((image) => `Image: ${image}:v1.2.3@${digest}`));
  const shortened = calls.filter((call) => !call.startsWith("docker image"))
    .map((call) => call.replace(/ --(?:label|notes|title) .*?(?= --| dist\/)/g, ""));
  const base = `gcr.io/base@sha256:${"b".repeat(64)}`;
  assert.deepEqual(shortened, [
    "docker pull --quiet gcr.io/distroless/cc-debian12:nonroot",
    ...images.flatMap((image, at) => [
      `docker build --build-arg PROGRAM=${
        PROGRAMS[at]
      } --build-arg BASE=${base} --tag ${image}:v1.2.3 --file Dockerfile build/release`,
      `docker push ${image}:v1.2.3`,
      `docker tag ${image}:v1.2.3 ${image}:latest`,
      `docker push ${image}:latest`,
    ]),
    ...PROGRAMS.map((program) =>
      `gh release create ${program}-v1.2.3 --latest=false --target 0123abc ` +
      [...filesOf(program), "SHA256SUMS"].map((file) => `dist/${file}`).join(" ")
    ),
  ]);
});

Deno.test("publish: a preview is marked as one and is never the latest", async () => {
  const { code, calls } = await publish(["v1.2.3-rc.1", "0123abc", "ghcr.io/a"]);
  assert.equal(code, 0);
  assert.ok(calls.every((call) => !call.includes("latest")));
  assert.equal(
    calls.filter((call) => /^gh release create \S+-v1\.2\.3-rc\.1 --prerelease /.test(call)).length,
    2,
  );
});

Deno.test("publish: files that differ from their checksums, and missing arguments, publish nothing", async () => {
  const args = ["v1.2.3", "0123abc", "ghcr.io/a"];
  const changed = await publish(args, (dist) => Deno.writeTextFile(`${dist}/causeway.cdx.json`, "other"));
  assert.notEqual(changed.code, 0);
  assert.deepEqual(changed.calls, []);
  const missing = await publish(args.slice(1));
  assert.deepEqual([missing.code, missing.calls], [2, []]);
});

Deno.test("workflows: what may publish runs no code of others, and takes what was built by its digest", async () => {
  const { permissions, jobs } = parse(await Deno.readTextFile(`${REPOSITORY}/.github/workflows/release.yml`));
  assert.deepEqual(permissions, { contents: "read" });
  const { publish: publishing, ...reading } = jobs;
  for (const job of Object.values(reading)) {
    assert.ok(typeof job === "object" && job && !("permissions" in job));
  }
  assert.deepEqual([Object.keys(reading), publishing.needs], [["test", "build"], ["test", "build"]]);
  const lines: readonly string[] = publishing.steps.flatMap(({ run = "" }: { readonly run?: string }) => run);
  assert.doesNotMatch(lines.join("\n"), /deno|npm|npx|\.ci/);
  assert.ok(lines.includes('echo "$DIGEST  dist/SHA256SUMS" | sha256sum --check --strict'));
  const attested = publishing.steps.flatMap((
    { with: given = {} }: { readonly with?: Record<string, string> },
  ) => given["subject-digest"] ?? given["subject-checksums"] ?? []);
  assert.deepEqual(attested, [
    "dist/SHA256SUMS",
    ...["causeway", "causeway-consensus"].map((name) => `\${{ steps.images.outputs.${name}-digest }}`),
  ]);
});

Deno.test("workflows: every action is pinned by its commit, and only ./deno names a version of Deno", async () => {
  const folder = `${REPOSITORY}/.github/workflows`;
  let actions = 0;
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    for (const [, action] of text.matchAll(/uses:\s*(.*)/g)) {
      assert.match(action ?? "", /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      actions++;
    }
    assert.doesNotMatch(text, /deno@/);
  }
  assert.ok(actions >= 4);
  const version = /^version=(\S+)$/m.exec(await Deno.readTextFile(`${REPOSITORY}/deno`))?.[1];
  assert.ok(
    version !== undefined && (await Deno.readTextFile(`${REPOSITORY}/src/build/base.ts`)).includes(version),
  );
});

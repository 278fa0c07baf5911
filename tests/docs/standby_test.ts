/** What runs a standby: script, service, image and compose file agree with each other and with the program. */
import assert from "node:assert/strict";
import { parse } from "yaml";
import { parseArguments } from "../../src/messaging/arguments.ts";
import { LITESTREAM_VERSION } from "../standby/litestream.ts";
import { readFile } from "./support/tree.ts";

const FOLDER = "packaging/standby";
const SCRIPT = await readFile(`${FOLDER}/causeway-standby`);
const UNIT = await readFile(`${FOLDER}/causeway-standby.service`);
const IMAGE = await readFile(`${FOLDER}/Dockerfile`);

/** What the tests read of the compose file. */
interface Service {
  readonly user: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly tmpfs: readonly string[];
  readonly stop_grace_period: string;
}

const { services: { causeway: service } }: { readonly services: { readonly causeway: Service } } = parse(
  await readFile(`${FOLDER}/compose.yaml`),
);

/** Arguments of the relayer as the script runs it, with what whoever starts the script adds. */
function assertTaken(added: readonly string[]): void {
  const own = ["--db=/data/relayer.db", "--fence=/run/causeway/fence"];
  assert.equal(parseArguments([...added, ...own], "test").kind, "run", added.join(" "));
}

Deno.test("standby: the relayer takes the arguments that service and image give", () => {
  const ofUnit = /^ExecStart=\S+ (.*)$/m.exec(UNIT)?.[1];
  assert.ok(ofUnit !== undefined);
  assertTaken(ofUnit.split(" "));
  const entry: readonly string[] = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(IMAGE)?.[1] ?? "[]");
  assert.equal(entry[0], "/usr/local/bin/causeway-standby");
  assertTaken([...entry.slice(1), ...service.command]);
});

Deno.test("standby: what the script needs to know is in its head, and given by service and compose file", async () => {
  const needed = [...SCRIPT.matchAll(/"\$\{(\w+):\?\}"/g)].map(([, name]) => name ?? "");
  assert.deepEqual(needed, ["CAUSEWAY_DB", "CAUSEWAY_REPLICA", "CAUSEWAY_FENCE"]);
  const text = await readFile("docs/operations/standby.md");
  for (const name of needed) {
    assert.match(SCRIPT, new RegExp(`^# +${name} `, "m"));
    if (name === "CAUSEWAY_REPLICA") assert.match(text, /^CAUSEWAY_REPLICA=/m);
    else {
      assert.match(UNIT, new RegExp(`^Environment=.*\\b${name}=`, "m"));
      assert.ok(service.environment[name] !== undefined, name);
    }
  }
});

Deno.test("standby: the image is the relayer's in user, folders and time to stop", async () => {
  const user = /^USER (.*)$/m.exec(await readFile("Dockerfile"))?.[1];
  assert.equal(/^USER (.*)$/m.exec(IMAGE)?.[1], user);
  assert.equal(service.user, user);
  assert.equal(service.stop_grace_period, `${/^TimeoutStopSec=(\d+)$/m.exec(UNIT)?.[1]}s`);
  const { CAUSEWAY_DB: db = "", CAUSEWAY_FENCE: fence = "" } = service.environment;
  assert.ok(service.volumes.some((volume) => volume.split(":")[1] === db.slice(0, db.lastIndexOf("/"))));
  assert.ok(service.tmpfs.some((place) => place.split(":")[0] === fence.slice(0, fence.lastIndexOf("/"))));
});

Deno.test("standby: Litestream is the one that the tests run, in the image, on Kubernetes and in the documents", async () => {
  const version = LITESTREAM_VERSION.slice(1);
  const image = `docker.io/litestream/litestream:${version}`;
  assert.ok(IMAGE.includes(`\nARG LITESTREAM_IMAGE=${image}\n`));
  const patch = await readFile("packaging/kubernetes/litestream/stateful_set.yaml");
  assert.deepEqual(
    [...patch.matchAll(/image: (.*litestream.*)/g)].map(([, name]) => name),
    [image, image],
  );
  assert.ok(
    (await readFile("docs/operations/backup.md")).includes(`Version ${version} is what the tests run`),
  );
});

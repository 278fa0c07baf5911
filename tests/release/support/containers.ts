/**
 * Containers without a daemon and without a network: buildah and podman with a storage of their own, behind a command
 * named `docker`, and a stand-in for the base image that holds what the real one has of it, taken from this machine.
 */
import { runBlock } from "./shell_block.ts";

/** Base image of the Dockerfile, which cannot be fetched everywhere. */
const BASE = "gcr.io/distroless/cc-debian12:nonroot";

/** Bases of the image of a standby, as its Dockerfile names them. */
const STANDBY_BASES = { DEBIAN: "debian:12-slim", LITESTREAM: "docker.io/litestream/litestream:0.5.18" };

/** Commands and their packages. */
export const CONTAINER_COMMANDS = {
  buildah: "buildah",
  podman: "podman",
  runc: "runc",
  dpkg: "dpkg",
  openssl: "openssl",
} as const;

/** Prepares storage, base image and the command `docker` in `folder/bin`. */
export async function prepareContainers(folder: string): Promise<{ readonly bin: string }> {
  const bin = `${folder}/bin`;
  await Deno.mkdir(bin, { recursive: true });
  await Deno.writeTextFile(
    `${folder}/storage.conf`,
    `[storage]\ndriver="vfs"\ngraphroot="${folder}/graph"\nrunroot="${folder}/run"\n`,
  );
  await Deno.writeTextFile(`${bin}/docker`, dockerCommand(folder), { mode: 0o755 });
  await runBlock(BASE_SCRIPT, {
    cwd: folder,
    env: { CONTAINERS_STORAGE_CONF: `${folder}/storage.conf`, BASE },
  });
  return { bin };
}

/**
 * Adds stand-ins for the bases of the image of a standby to a prepared storage: what its start script uses of Debian, with
 * what its Dockerfile installs there already, and the image of Litestream.
 * @param litestream path of the executable
 */
export async function addStandbyBases(folder: string, litestream: string): Promise<void> {
  await runBlock(STANDBY_SCRIPT, {
    cwd: folder,
    env: {
      CONTAINERS_STORAGE_CONF: `${folder}/storage.conf`,
      EXECUTABLE: litestream,
      ...STANDBY_BASES,
    },
  });
}

/** Options that this machine needs: no cgroup version 2, limits that podman may not raise, the devnet on the host. */
function dockerCommand(folder: string): string {
  return `#!/bin/bash
export CONTAINERS_STORAGE_CONF=${folder}/storage.conf
podman=(podman --storage-driver vfs --root ${folder}/graph --runroot ${folder}/run
  --runtime runc --cgroup-manager cgroupfs)
action=$1
shift
case $action in
  build) exec buildah build --quiet --isolation chroot --pull-never --timestamp 0 "$@" ;;
  run) exec "\${podman[@]}" run --network host --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 \\
    \${DOCKER_RUN_OPTIONS:-} "$@" ;;
  *) exec "\${podman[@]}" "$action" "$@" ;;
esac
`;
}

/** libc and libgcc, a user, and nothing else: no shell. */
const BASE_SCRIPT = `
mkdir -p root/proc root/dev root/tmp root/etc
chmod 1777 root/tmp
dpkg -L libc6 libgcc-s1 | grep -E '^(/usr)?/lib(64)?/' | grep -v /gconv/ |
  while read -r file; do [ -d "$file" ] || echo "$file"; done | xargs cp -L --parents -t root
echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >root/etc/passwd
echo 'nonroot:x:65532:' >root/etc/group
container=$(buildah from scratch)
buildah add -q "$container" root /
buildah config --user 65532:65532 "$container"
buildah commit -q "$container" "$BASE"
buildah rm "$container"
`;

/** A shell, the tools of scripts and etcdctl; `apt-get` only knows what is there already and in Debian's lists. */
const STANDBY_SCRIPT = `
packages='ca-certificates etcd-client'
apt-cache show $packages >/dev/null
mkdir -p debian/proc debian/dev debian/tmp debian/etc debian/var/lib/apt/lists debian/usr/local/bin
chmod 1777 debian/tmp
dpkg -L dash coreutils etcd-client | grep -E '^(/usr)?/s?bin/' |
  while read -r file; do [ -d "$file" ] || echo "$file"; done >files
dpkg -L libc6 libgcc-s1 | grep -E '^(/usr)?/lib(64)?/' | grep -v /gconv/ |
  while read -r file; do [ -d "$file" ] || echo "$file"; done >>files
xargs -a files ldd 2>/dev/null | sed -nE 's/.* => ([/][^ ]+) .*/\\1/p' | sort -u >libraries || true
sort -u files libraries >all
xargs -a all cp -L --parents -t debian
for place in bin usr/bin; do mkdir -p "debian/$place"; cp -L /bin/dash "debian/$place/sh"; done
cat >debian/usr/bin/apt-get <<END
#!/bin/sh
case "\\$*" in update | 'install -y --no-install-recommends $packages') ;; *) exit 100 ;; esac
END
chmod 755 debian/usr/bin/apt-get
mkdir -p litestream/usr/local/bin
cp "$EXECUTABLE" litestream/usr/local/bin/litestream
for name in debian litestream; do
  container=$(buildah from scratch)
  buildah add -q "$container" "$name" /
  image=$DEBIAN
  [ "$name" = debian ] || image=$LITESTREAM
  buildah commit -q "$container" "$image"
  buildah rm "$container"
done
`;

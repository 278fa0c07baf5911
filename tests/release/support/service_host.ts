/**
 * A machine for a service, as far as that goes without systemd as process 1: `/etc`, `/usr/local` and `/var/lib` are
 * overlays in a mount namespace of their own, and `systemctl enable --now` starts what the unit says, as its user.
 */
import { runBlock } from "./shell_block.ts";

/** True where namespaces and overlays may be made. */
export async function canMakeNamespaces(folder: string): Promise<boolean> {
  return await runBlock(`unshare --mount bash -euc '${overlays(folder)}'`, { cwd: folder, env: {} })
    .then(() => true, () => false);
}

/** Puts `sudo` and `systemctl` into `bin`, for lines that are run with {@link onServiceHost}. */
export async function prepareServiceHost(bin: string): Promise<void> {
  await Deno.writeTextFile(`${bin}/sudo`, '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  await Deno.writeTextFile(`${bin}/systemctl`, SYSTEMCTL, { mode: 0o755 });
}

/** Lines that run in the namespace; those that start a service end with it running in the foreground. */
export function onServiceHost(text: string, folder: string): string {
  return `exec unshare --mount bash -euo pipefail -c "$(cat <<'LINES'\n${
    overlays(folder)
  }\n${text}\nLINES\n)"`;
}

function overlays(folder: string): string {
  return `mkdir -p ${folder}/overlay
mount -t tmpfs tmpfs ${folder}/overlay
for place in etc usr/local var/lib; do
  upper=${folder}/overlay/$place
  mkdir -p $upper/new $upper/work
  mount -t overlay overlay -o lowerdir=/$place,upperdir=$upper/new,workdir=$upper/work /$place
done`;
}

/** The unit is checked by systemd's own tool, then its command is run with its user and without capabilities. */
const SYSTEMCTL = `#!/bin/bash
set -euo pipefail
[ "$*" != daemon-reload ] || exit 0
[ "$1 $2" = 'enable --now' ]
unit=/etc/systemd/system/$3.service
systemd-analyze verify --man=no "$unit"
systemd-analyze security --offline=true --threshold=20 "$unit" >/dev/null
setting() { sed -n "s/^$1=//p" "$unit"; }
if [ -n "$(setting StateDirectory)" ]; then
  install -d -m "$(setting StateDirectoryMode)" -o "$(setting User)" -g "$(setting Group)" "/var/lib/$(setting StateDirectory)"
fi
read -ra command <<<"$(setting ExecStart)"
exec setpriv --reuid "$(setting User)" --regid "$(setting Group)" --clear-groups --no-new-privs \\
  --bounding-set=-all --inh-caps=-all "\${command[@]}"
`;

#!/bin/sh
# Installs one of the relayers from a published release. `deno task release` makes the installer of each program from
# this file by filling in the four settings below.
#
#   curl --proto '=https' --tlsv1.2 -LsSf URL-OF-THE-INSTALLER | sh
#   curl --proto '=https' --tlsv1.2 -LsSf URL-OF-THE-INSTALLER | sh -s -- --version v1.2.3 --to /opt/bin
#
# Everything happens in functions, the first of which is called by the last line: a download that was cut off does
# nothing. It asks nothing, needs no root, and touches nothing but the one file that it installs.
set -eu

PROGRAM='causeway'
BAKED_VERSION=''
BAKED_SHA256=''
BAKED_URL=''

TARGET='x86_64-unknown-linux-gnu'
LEAST_GLIBC='2.27'
is_quiet=no
work=''
new=''

main() {
  version="${CAUSEWAY_VERSION:-$BAKED_VERSION}"
  folder=''
  read_arguments "$@"
  url="${CAUSEWAY_DOWNLOAD_URL:-$BAKED_URL}"
  check_settings
  check_machine
  for needed in uname mktemp tar gzip mkdir cp chmod mv rm; do
    has "$needed" || fail "the command '$needed' is needed and missing: install it, then run this again"
  done
  has curl || has wget || fail "curl or wget is needed to download: install one of them, then run this again"
  choose_folder

  work="$(mktemp -d)" || fail "no temporary folder could be made: set TMPDIR to a folder that can be written"
  trap 'rm -rf "$work" ${new:+"$new"}' EXIT
  trap 'exit 1' HUP INT TERM

  base="$PROGRAM-$TARGET"
  release="$url/$PROGRAM-$version"
  say "downloading $PROGRAM $version"
  download "$release/$base.tar.gz" "$work/archive.tar.gz"
  verify "$release/$base.tar.gz"
  tar -xzf "$work/archive.tar.gz" -C "$work" ||
    fail "$release/$base.tar.gz could not be unpacked: is there room in ${TMPDIR:-/tmp}?"
  try_program "$work/$base/$PROGRAM"
  put_in_place "$work/$base/$PROGRAM"
  tell_about_path
}

read_arguments() {
  while [ $# -gt 0 ]; do
    case "$1" in
      --version) [ $# -gt 1 ] || usage_error "--version needs a tag such as v1.2.3"; version="$2"; shift 2 ;;
      --version=*) version="${1#*=}"; shift ;;
      --to) [ $# -gt 1 ] || usage_error "--to needs a folder"; folder="$2"; shift 2 ;;
      --to=*) folder="${1#*=}"; shift ;;
      -q | --quiet) is_quiet=yes; shift ;;
      -h | --help) show_help; exit 0 ;;
      *) usage_error "unknown argument '$1'" ;;
    esac
  done
}

show_help() {
  cat <<HELP
Installs $PROGRAM, one file, from a published release.

  --version TAG  another release than ${BAKED_VERSION:-the newest}, e.g. v1.2.3 (or CAUSEWAY_VERSION)
  --to FOLDER    where to put it (or CAUSEWAY_INSTALL_DIR, else XDG_BIN_HOME, else ~/.local/bin)
  -q, --quiet    say only what went wrong, or may be wrong
  -h, --help     show this

CAUSEWAY_DOWNLOAD_URL names a mirror: a folder that holds folders such as $PROGRAM-v1.2.3.
Exit status: 0 installed, 1 failed, 2 wrong arguments.
HELP
}

check_settings() {
  [ -n "$version" ] || usage_error "say which release, e.g. --version v1.2.3"
  case "$version" in
    v*) ;;
    *) version="v$version" ;;
  esac
  case "${version#v}" in
    [0-9]*.[0-9]*.[0-9]*) ;;
    *) usage_error "'$version' is no release tag such as v1.2.3" ;;
  esac
  case "$version" in
    *[!A-Za-z0-9.+-]*) usage_error "'$version' is no release tag such as v1.2.3" ;;
  esac
  [ -n "$url" ] || usage_error "set CAUSEWAY_DOWNLOAD_URL to where the releases are"
  url="${url%/}"
  authority="${url#*://}"
  case "${authority%%/*}" in
    # What stands before an @ is a name of somebody, not of a machine.
    *@*) host='' ;;
    *) host="${authority%%[:/]*}" ;;
  esac
  case "$url" in
    https://*) ;;
    http://*) [ "$host" = 127.0.0.1 ] || [ "$host" = localhost ] || warn "$url is not encrypted" ;;
    *) usage_error "CAUSEWAY_DOWNLOAD_URL must begin with https://, not '$url'" ;;
  esac
}

check_machine() {
  system="$(uname -s)"
  [ "$system" = Linux ] ||
    fail "$PROGRAM runs on Linux, and this is $system: use the container image, or build from source"
  machine="$(uname -m)"
  case "$machine" in
    x86_64 | amd64) ;;
    *) fail "$PROGRAM is published for x86_64, and this is $machine: run it on another machine" ;;
  esac
  if has getconf; then
    bits="$(getconf LONG_BIT 2>/dev/null || echo 64)"
    [ "$bits" = 64 ] || fail "this system is ${bits}-bit on a 64-bit CPU: a 64-bit system is needed"
    libc="$(getconf GNU_LIBC_VERSION 2>/dev/null || true)"
  else
    libc=''
  fi
  case "$libc" in
    'glibc '*) check_glibc "${libc#glibc }" ;;
    *)
      if is_musl; then
        fail "this system uses musl instead of glibc (Alpine?): use the container image of $PROGRAM"
      fi
      ;;
  esac
}

check_glibc() {
  major="${1%%.*}"
  minor="${1#*.}"
  minor="${minor%%.*}"
  if [ "$major" -lt "${LEAST_GLIBC%%.*}" ] ||
    { [ "$major" -eq "${LEAST_GLIBC%%.*}" ] && [ "$minor" -lt "${LEAST_GLIBC#*.}" ]; }; then
    fail "glibc $LEAST_GLIBC or newer is needed, and this is $1: use a newer system or the container image"
  fi
}

is_musl() {
  if has ldd; then
    case "$(ldd --version 2>&1 || true)" in
      *musl*) return 0 ;;
    esac
  fi
  return 1
}

choose_folder() {
  if [ -z "$folder" ]; then folder="${CAUSEWAY_INSTALL_DIR:-${XDG_BIN_HOME:-}}"; fi
  if [ -z "$folder" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set: say where to install with --to FOLDER"
    folder="$HOME/.local/bin"
  fi
  mkdir -p "$folder" 2>/dev/null ||
    fail "$folder cannot be made: choose a folder of yours with --to FOLDER"
  folder="$(cd "$folder" && pwd)"
  [ -w "$folder" ] || fail "$folder cannot be written: choose a folder of yours with --to FOLDER"
}

# download URL FILE
download() {
  if has curl; then
    case "$1" in
      https://*) set -- "$1" "$2" --proto '=https' --tlsv1.2 ;;
    esac
    from="$1"
    to="$2"
    shift 2
    reason="$(curl "$@" --fail --location --silent --show-error --retry 3 --connect-timeout 20 \
      --output "$to" "$from" 2>&1)" || fail "$from could not be downloaded: ${reason:-curl failed}"
  else
    download_with_wget "$1" "$2" || fail "$1 could not be downloaded: ${reason:-wget failed}"
  fi
}

# Tried three times: the wget of busybox has no option for it, and the one for a time limit kills some versions of it.
# Neither can be kept from following a redirect to where nothing is encrypted: what came from there is refused.
download_with_wget() {
  case "$(wget --version 2>&1 || true)" in
    *GNU*) limit='--timeout=60' ;;
    *) limit='' ;;
  esac
  for try in 1 2 3; do
    if reason="$(wget -q -S ${limit:+"$limit"} -O "$2" "$1" 2>&1)"; then
      case "$1 $reason" in
        https://*[Ll][Oo][Cc][Aa][Tt][Ii][Oo][Nn]:*[Hh][Tt][Tt][Pp]://*)
          reason='it leads to an address that is not encrypted'
          return 1
          ;;
      esac
      return 0
    fi
    if [ "$try" -lt 3 ]; then sleep 1; fi
  done
  return 1
}

# verify URL: what was downloaded must be what was published
verify() {
  if [ "$version" = "$BAKED_VERSION" ] && [ -n "$BAKED_SHA256" ]; then
    expected="$BAKED_SHA256"
  else
    download "$1.sha256" "$work/sha256"
    read -r expected _ <"$work/sha256" || true
  fi
  case "$expected" in
    *[!0-9a-f]* | '') fail "$1.sha256 holds no checksum" ;;
  esac
  [ "${#expected}" -eq 64 ] || fail "$1.sha256 holds no checksum"
  if has sha256sum; then
    sum="$(sha256sum "$work/archive.tar.gz")"
  elif has shasum; then
    sum="$(shasum -a 256 "$work/archive.tar.gz")"
  elif has openssl; then
    sum="$(openssl dgst -sha256 -r "$work/archive.tar.gz")"
  else
    fail "sha256sum, shasum or openssl is needed to check the download: install one of them"
  fi
  sum="${sum%% *}"
  [ "$sum" = "$expected" ] ||
    fail "the checksum of $1 is wrong (it is $sum, published is $expected): nothing was installed; try again later"
}

try_program() {
  [ -f "$1" ] || fail "the archive does not hold $base/$PROGRAM: nothing was installed"
  installed="$("$1" --version 2>&1)" ||
    fail "$PROGRAM does not run on this system, so nothing was installed: ${installed:-no reason given}"
}

# The copy is made beside the target and moved over it: a running program keeps its old file.
put_in_place() {
  before="$("$folder/$PROGRAM" --version 2>/dev/null || true)"
  new="$(mktemp "$folder/.$PROGRAM.XXXXXX")" || fail "$folder cannot be written: is there room?"
  if cp "$1" "$new" && chmod 755 "$new" && mv -f "$new" "$folder/$PROGRAM"; then
    say "installed $installed"
    say "in $folder/$PROGRAM; to remove it, delete that file"
    case "$before" in
      '' | "$installed") ;;
      *) say "it was $before before: restart the program or service that runs it" ;;
    esac
  else
    fail "$folder/$PROGRAM could not be written: is there room?"
  fi
}

tell_about_path() {
  first="$(command -v "$PROGRAM" 2>/dev/null || true)"
  case ":${PATH:-}:" in
    *":$folder:"*)
      [ "$first" = "$folder/$PROGRAM" ] || say "warning: $first comes earlier on PATH and will be run instead"
      ;;
    *)
      say "$folder is not on PATH; to use it now: export PATH=\"$folder:\$PATH\""
      [ -z "$first" ] || say "warning: until then, $first is run instead"
      ;;
  esac
}

has() {
  command -v "$1" >/dev/null 2>&1
}

say() {
  [ "$is_quiet" = yes ] || printf '%s-installer: %s\n' "$PROGRAM" "$1" >&2
}

warn() {
  printf '%s-installer: warning: %s\n' "$PROGRAM" "$1" >&2
}

fail() {
  printf '%s-installer: %s\n' "$PROGRAM" "$1" >&2
  exit 1
}

usage_error() {
  printf '%s-installer: %s\n(--help lists the options)\n' "$PROGRAM" "$1" >&2
  exit 2
}

{ main "$@"; }

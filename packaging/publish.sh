#!/bin/sh
# Publishes what `deno task release` made: per program an image with the tags of the version and `latest`, and a
# release named <program>-<tag> with its files. Needs gh and docker, both logged in; the forge's workflow runs it.
# Standard output has <program>-image=NAME and <program>-digest=sha256:... of each image, for what signs them.
# Usage: packaging/publish.sh TAG COMMIT IMAGES, e.g. v1.2.3 0123abc ghcr.io/somebody
set -eu

BASE='gcr.io/distroless/cc-debian12:nonroot'
TARGET='x86_64-unknown-linux-gnu'

main() {
  [ $# -eq 3 ] || { echo 'usage: packaging/publish.sh TAG COMMIT IMAGES' >&2; exit 2; }
  tag="$1"
  commit="$2"
  # Names of images have no capital letters, names of people may.
  images="$(printf %s "$3" | tr '[:upper:]' '[:lower:]')"
  (cd dist && sha256sum --check --quiet --strict SHA256SUMS) >&2
  programs="$(cd dist && for installer in *-installer.sh; do echo "${installer%-installer.sh}"; done)"
  # Images hold what the archives hold, on one base that is named by its digest.
  rm -rf build/release
  mkdir -p build/release
  for program in $programs; do tar -xzf "dist/$program-$TARGET.tar.gz" -C build/release; done
  docker pull --quiet "$BASE" >&2
  base="$(docker image inspect --format '{{index .RepoDigests 0}}' "$BASE")"
  # Images first: who reads of a release shall find all of it.
  for program in $programs; do publish_image; done
  for program in $programs; do publish_release; done
}

# A version such as v1.2.3-rc.1 is nobody's newest.
is_preview() {
  case "$tag" in
    *-*) return 0 ;;
    *) return 1 ;;
  esac
}

publish_image() {
  docker build --build-arg "PROGRAM=$program" --build-arg "BASE=$base" \
    --label "org.opencontainers.image.version=$tag" --label "org.opencontainers.image.revision=$commit" \
    --label "org.opencontainers.image.base.name=$base" \
    --label org.opencontainers.image.licenses=Apache-2.0 --label "org.opencontainers.image.title=$program" \
    --tag "$images/$program:$tag" --file Dockerfile build/release >&2
  docker push "$images/$program:$tag" >&2
  echo "$program-image=$images/$program"
  echo "$program-digest=$(digest_of "$images/$program")"
  if is_preview; then return 0; fi
  docker tag "$images/$program:$tag" "$images/$program:latest" >&2
  docker push "$images/$program:latest" >&2
}

# digest_of IMAGE: what the registry knows the pushed image by
digest_of() {
  pushed="$(docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$1:$tag" | grep "^$1@sha256:")"
  echo "${pushed#*@}"
}

publish_release() {
  archive="dist/$program-$TARGET.tar.gz"
  kind="$(if is_preview; then echo --prerelease; else echo --latest=false; fi)"
  gh release create "$program-$tag" "$kind" --target "$commit" --title "$program $tag" \
    --notes "Image: $images/$program:$tag@$(digest_of "$images/$program"). What changed is in CHANGELOG.md." \
    "$archive" "$archive.sha256" "dist/$program-installer.sh" "dist/$program.cdx.json" dist/SHA256SUMS >&2
}

main "$@"

# The container image of one of the programs. Made from an unpacked release (deno task release):
#
#   docker build --build-arg PROGRAM=causeway -t causeway -f Dockerfile build/release
#   docker build --build-arg PROGRAM=causeway-consensus -t causeway-consensus -f Dockerfile build/release
#
# There is nothing to build here: the executables need glibc and libgcc, and nothing else. Any other base that has
# them will do: --build-arg BASE=debian:12-slim
ARG BASE=gcr.io/distroless/cc-debian12:nonroot
FROM ${BASE}
ARG PROGRAM=causeway
ARG TARGET=x86_64-unknown-linux-gnu
COPY ${PROGRAM}-${TARGET}/LICENSE ${PROGRAM}-${TARGET}/THIRD-PARTY-LICENCES.txt /usr/share/doc/causeway/
# The same name for every program: an entry point without a shell cannot hold a variable.
COPY --chmod=0755 ${PROGRAM}-${TARGET}/${PROGRAM} /usr/local/bin/relayer
# Nobody in particular. No VOLUME: the operator maps the directory that holds configuration and database, and an
# anonymous volume would belong to root.
USER 65532:65532
WORKDIR /data
# The probe needs somebody who listens; only this container reaches the address. A second --listen replaces it, which
# containers in the network of the host need to have a port each.
ENTRYPOINT ["/usr/local/bin/relayer", "--listen=127.0.0.1:9180"]
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
  CMD ["/usr/local/bin/relayer", "health", "--url=http://127.0.0.1:9180"]

# The Signer in an image of its own: one program, no shell, no root.
#
#   docker build -t merchant-signer .
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges --stop-timeout 30 \
#     -p 127.0.0.1:9980:9980 -v signer-journal:/data \
#     -v "$PWD/signer":/etc/signer:ro merchant-signer
#
# /etc/signer   signer.toml, secrets/ and keys/, as these write them on any machine:
#                 merchant-signer -c signer/signer.toml init --network polygon --chain 7 --data /data
#                 merchant-signer -c signer/signer.toml keys new billing
# /data         the journal. It has to outlive the container: without it a period can be charged twice.
#               On a local disk, never on a network share.
#
# The user is 65532. It must be able to write /data, and must own the key files, which nobody else may
# read. A command goes at the end: `docker run … merchant-signer check`.
#
# There is no HEALTHCHECK: what a container is judged by is its orchestrator's choice. `merchant-signer health` fails
# unless the Signer in it serves (operate/compose.yml uses it); from outside, `GET /health/live` says whether to
# restart it and `GET /health/serving` whether to send requests, both on port 9980. In Kubernetes these are two
# httpGet probes.
#
# Keys can be on a token of PKCS#11: mount the library of its maker (for glibc), and name it in keys.pkcs11.module.
#
# Opening a keystore takes 256 MiB for about a second, so give it a limit of 512 MiB. Stopping takes as
# long as `http.shutdown_grace`, 20 s, so wait longer than that before you kill it. Two containers
# cannot share one journal: replace the old one, do not roll over.

# operate/pin-images writes the digest of each image into this file; from then on the tests want one for all.
FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
# Where it was built is nobody's business: paths in messages begin at the name of a crate. The last that fits counts.
ENV RUSTFLAGS="--remap-path-prefix=/build/= --remap-path-prefix=/usr/local/cargo/= --remap-path-prefix=/usr/local/cargo/registry/src/index.crates.io-1949cf8c6b5b557f/="
ENV CFLAGS="-ffile-prefix-map=/usr/local/cargo/registry/src/index.crates.io-1949cf8c6b5b557f/= -ffile-prefix-map=/build/="
# The program has the defaults and the schema built in and needs no other file.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --profile image --locked -p merchant-signer --bin merchant-signer \
    && install -D -m 0755 target/image/merchant-signer /image/merchant-signer \
    && install -d -m 0700 /image/data

# Only the C library and the certificates of public authorities. A new volume takes the owner of /data.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /image/merchant-signer /merchant-signer
COPY --from=build --chown=65532:65532 /image/data /data
USER 65532:65532
WORKDIR /
# Inside a container the loopback address is nobody's.
ENV SIGNER__HTTP__LISTEN=0.0.0.0:9980
EXPOSE 9980
VOLUME /data
ENTRYPOINT ["/merchant-signer", "--config", "/etc/signer/signer.toml"]

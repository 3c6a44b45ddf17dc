#!/bin/sh
# Runs the kernels' tests as 64-bit Arm code under emulation, on a Linux machine of another kind. This proves the NEON
# kernel right, not fast. Needs a compiler and a linker for the target, and qemu's user emulation; on Debian:
#
#     rustup target add aarch64-unknown-linux-gnu
#     apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
#
# Arguments go to `cargo test`, for example a test's name.
set -eu
cd "$(dirname "$0")/../.."

for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: see the top of $0" >&2; exit 1; }
done

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L ${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}"
exec cargo test -p kernels --target aarch64-unknown-linux-gnu "$@"

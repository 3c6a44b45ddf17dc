#!/usr/bin/env bash
# What needs a card, in under five minutes: the model against the reference, speculative against autoregressive ids, and
# the speed at the published sizes. Needs a CUDA driver. (The kernels one by one are checked without a card.)
#   tests/device/check.sh              builds here (Rust, and nvcc 13.0 on the PATH or in GRAVITYOCR_NVCC), then runs
#   tests/device/check.sh pack FOLDER  builds here and puts everything into FOLDER, for a machine with a card but without
#                                      Rust and network; run FOLDER/check.sh there
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

build() { # FOLDER: the test program and what it reads
    cd "$here/../.."
    local messages program
    messages=$(cargo test --locked -p engine --features engine/cuda --test device --no-run --message-format=json)
    program=$(grep -o '"executable":"[^"]*/device-[0-9a-f]*"' <<<"$messages" | tail -1 | cut -d'"' -f4)
    mkdir -p "$1"
    cp "$program" "$1/device"
    strip "$1/device"
    rm -rf "$1/fixtures"
    mkdir "$1/fixtures"
    cp -r tests/fixtures/{glm_ocr_tiny,glm_ocr_tiny_trained,block_diffusion_cases,real_size} "$1/fixtures/"
    cp "$here/check.sh" "$1/check.sh"
}

run() { # FOLDER
    export GRAVITYOCR_FIXTURES=$1/fixtures GRAVITYOCR_CARD=1
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || echo "nvidia-smi does not answer"
    local failed=0
    step() {
        printf '\n== %s\n' "$1"
        shift
        timeout 90 "$@" || failed=1
    }
    step "The model on the card" "$1/device" card:: --nocapture --test-threads 1
    step "Speed at the published sizes, random weights" "$1/device" speed::the_published --ignored --nocapture
    step "The bundled checkpoint on the sample" "$1/device" speed::the_bundled --ignored --nocapture
    return "$failed"
}

if [ "${1:-}" = pack ]; then
    build "$(mkdir -p "${2:?which folder?}" && cd "$2" && pwd)"
elif [ -x "$here/device" ]; then
    run "$here"
else
    build "$here/../../target/device-check"
    run "$(cd "$here/../../target/device-check" && pwd)"
fi

#!/usr/bin/env bash
# What needs a card, in under five minutes: the kernels one by one, the model against the reference, speculative against
# autoregressive ids, the speed of each kernel and of the program. Needs a CUDA driver (580 or later).
#   tests/device/check.sh              builds here (Rust, and nvcc 13.0 on the PATH or in GRAVITYOCR_NVCC), then runs
#   tests/device/check.sh pack FOLDER  builds here and puts everything into FOLDER, for a machine with a card but without
#                                      Rust and network; run FOLDER/check.sh there
# PROFILE names the cargo profile of the program that is timed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
profile=${PROFILE:-profiling}

build() { # FOLDER: the programs and what they read
    cd "$here/../.."
    local made program
    made=$(
        cargo test --locked -p kernels -p engine --features kernels/cuda,engine/cuda --test cuda --test device --no-run \
            --message-format=json &&
            cargo build --locked -p gravityocr --no-default-features --features cuda --profile "$profile" --message-format=json
    )
    made=$(grep -o '"executable":"[^"]*"' <<<"$made" | cut -d'"' -f4)
    for program in cuda device gravityocr; do
        strip -o "$1/$program" "$(grep "/$program\(-[0-9a-f]*\)\?$" <<<"$made")"
    done
    rm -rf "$1/fixtures"
    mkdir "$1/fixtures"
    cp -r tests/fixtures/{glm_ocr_tiny,glm_ocr_tiny_trained,block_diffusion_cases,real_size} "$1/fixtures/"
    cp "$here/check.sh" assets/samples/gravity-sample.{pdf,md} "$1/"
}

run() { # FOLDER
    cd "$1"
    [ ! -e gravityocr.gz ] || gzip -df ./*.gz
    export GRAVITYOCR_FIXTURES=$1/fixtures GRAVITYOCR_CARD=1
    local devices failed=()
    devices=$(./gravityocr devices)
    grep '^cuda:' <<<"$devices"
    if grep -q '^cuda:0 *not available' <<<"$devices"; then
        echo "There is no card that could be checked here." >&2
        return 1
    fi
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || true
    step() { # SECONDS TITLE COMMAND
        local status=0 limit=$1 title=$2
        shift 2
        printf '\n== %s\n' "$title"
        timeout "$limit" "$@" || status=$?
        [ "$status" != 124 ] || title="$title (not done after $limit s)"
        [ "$status" = 0 ] || failed+=("$title")
    }
    step 60 "The kernels on the card" ./cuda
    step 70 "The model on the card" ./device card:: --nocapture --test-threads 1
    step 30 "The speed of each kernel" ./cuda speed:: --ignored --nocapture
    step 80 "The program at the published sizes, random weights" \
        ./gravityocr bench --device cuda --checkpoint fixtures/real_size --assume-accepted 17.4 --runs 5
    step 40 "The program with the bundled checkpoint on the sample" ./gravityocr bench --device cuda --runs 3
    step 15 "The text of the sample" \
        bash -c 'diff <(./gravityocr recognize gravity-sample.pdf --device cuda) gravity-sample.md && echo "As it should be."'
    echo
    [ "${#failed[@]}" = 0 ] && echo "All passed." && return
    printf 'FAILED: %s\n' "${failed[@]}" >&2
    return 1
}

if [ "${1:-}" = pack ]; then
    mkdir -p "${2:?which folder?}"
    folder=$(cd "$2" && pwd)
    build "$folder"
    gzip -f "$folder"/{cuda,device,gravityocr}
    du -sh "$folder"
elif [ -d "$here/fixtures" ]; then
    run "$here"
else
    packed=$here/../../target/device-check
    mkdir -p "$packed"
    build "$(cd "$packed" && pwd)"
    run "$(cd "$packed" && pwd)"
fi

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The CUDA backend's host files compile with the headers of the oldest, the last 12.x and a newer
# CUDA, from PyPI, which has no nvcc of 11.8 and 12.x to compile the kernels with.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"

mapfile -t files < <(cd "$srcdir" && find trainer/backends/cuda -name '*.c' -not -path '*/test/*')
compile() { # FOLDER: with the headers in it
    local flags=() folder file
    while read -r folder; do flags+=(-isystem "$folder"); done < <(find "$1" -name include -type d)
    for file in "${files[@]}"; do
        cc -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only -DHAVE_CONFIG_H \
            -DHAVE_CUDA=1 -DBUILT_ARCHS='"75 80"' "${flags[@]}" -I "$builddir" -I "$srcdir" \
            "$srcdir/$file" || return
    done
}
for packages in "nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-nvcc-cu11==11.8.89" \
    "nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvcc-cu12==12.9.86" \
    "nvidia-cuda-runtime==13.0.88 nvidia-cuda-crt==13.0.88"; do
    release=${packages##*=}
    # shellcheck disable=SC2086 # several packages
    if ! python3 -m pip download -q --no-deps -d "$release" $packages >"$OUT" 2>&1; then
        skip "pip cannot download $packages: $(tail -n 1 "$OUT")" "CUDA $release"
        continue
    fi
    for wheel in "$release"/*.whl; do python3 -m zipfile -e "$wheel" "$release"; done
    is "$(find "$release" -name cuda_runtime_api.h | wc -l)" 1 "the headers of CUDA $release"
    exits 0 "${#files[@]} files compile with them" compile "$release"
done
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tiles (AMX): their instructions are in the one object that is chosen at run time, all of them, and
# in no other; and a whole training with the emulated ones learns what it learns without.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

# --- the objects ---
# OBJECT INSTRUCTION of what touches tiles
tile_instructions() { # ARCHIVE OR OBJECT
    objdump -d --no-show-raw-insn "$1" | awk '
        / file format / { object = $1; sub(/:$/, "", object); sub(/^libtrainer_a-/, "", object) }
        $2 ~ /^(tdp|tile|ldtilecfg|sttilecfg)/ { print object, $2 }' | sort -u
}
if [ "$(uname -m)" = x86_64 ] && command -v objdump >/dev/null; then
    tile_instructions "$builddir/libtrainer.a" >found
    is "$(cut -d ' ' -f 2 found | xargs)" "ldtilecfg tdpbf16ps tileloadd tilerelease tilestored" \
        "the program configures, loads, multiplies, stores and releases tiles"
    is "$(cut -d ' ' -f 1 found | sort -u)" amx_tiles_real.o \
        "only amx_tiles_real.o has instructions of tiles"
    is "$(tile_instructions "$builddir/libcore.a")" "" "nor in the other library"
    printf 'void f(void) { __asm__("tilezero %%tmm0"); }\n' >other.c
    cc -c other.c
    is "$(tile_instructions other.o)" "other.o tilezero" \
        "instructions of tiles in another object would be found"
else
    skip "no x86-64, or no objdump" "the instructions of tiles"
fi

# --- a training ---
ok "synthetic data" unet-train data synth --out data --count 20 --size 52x76 --seed 1
train() { # UNET_ISA THREADS OUT DTYPE
    UNET_ISA=$1 unet-train train --data data --size 52x76 --set model.base=8 --set model.depth=2 \
        --threads "$2" --epochs 6 \
        --batch-size 3 --lr 0.01 --set train.lr_scaling=none --seed 1 --dtype "$4" --out "$3"
}
field() { # FILE KEY: a number or word of a JSON line
    sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" "$1" | tail -n 1
}
loss() { tail -n 1 "$1/log.csv" | cut -d, -f3; }
exits 0 "a training in bf16 by emulated tiles succeeds" train amx-emulated 1 tiles bf16
exits 0 "the same training on two threads succeeds" train amx-emulated 2 two bf16
exits 0 "a training in bf16 without tiles succeeds" train bf16 1 without bf16
exits 0 "a training in floats succeeds" train bf16 1 floats f32
is "$(field two/DONE weights_sha256)" "$(field tiles/DONE weights_sha256)" \
    "the number of threads changes no bit"
ok "tiles were in use, as they change the weights" test "$(field tiles/DONE weights_sha256)" != \
    "$(field without/DONE weights_sha256)"
first=$(sed -n 2p tiles/log.csv | cut -d, -f3)
ok "the loss falls ($first to $(loss tiles))" awk "BEGIN { exit !($(loss tiles) < $first - 0.1) }"
ok "the loss in tiles is near the loss in floats ($(loss floats))" awk \
    "BEGIN { exit !(($(loss tiles) - $(loss floats))^2 < 0.02^2) }"
done_testing

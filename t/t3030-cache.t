#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Decoded images in a mapped file: the same weights as from memory, made once for all ranks, whole
# after any kill; a data set larger than the memory that a process may have.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"

sanitized() { nm "$builddir/unet-train" 2>/dev/null | grep -q '__[at]san_init'; }
train=(unet-train train --size 32x32 --set model.base=4 --set model.depth=2 --threads 1 --epochs 2 \
    --batch-size 4
    --set model.batch_norm=none --set train.lr_scaling=none)
weights() { sed -n 's/.*"weights_sha256":"\([^"]*\).*/\1/p' "$1/DONE"; }
files() { (cd "$1" && find . -name '*.cache' | wc -l); }
decodings() { cat "$@" | grep -c 'decoding .* samples'; }
ok "a set is made" unet-train data synth --out data --count 12 --size 48x40 --seed 3
ok "its split is made" unet-train data split --data data --out split.json
train+=(--data data --set data.split=split.json)

ok "a training from memory" "${train[@]}" --set data.cache=off --out memory
ok "a training of a small set with cache auto" "${train[@]}" --out auto
[ ! -e cache ]
report $? "a training whose images fit in memory makes no cache"
ok "a training from a cache" "${train[@]}" --set data.cache=here --out file
cp "$ERR" first
entries=(here/*)
is "$(files here) ${#entries[@]}" "1 1" "the cache is one file"
is "$(weights file)" "$(weights memory)" "the weights are the same"
mv data away
ok "a training from the cache without the images" "${train[@]}" --set data.cache=here --out again
cp "$ERR" second
is "$(weights again)" "$(weights memory)" "the weights are the same"
is "$(decodings first) $(decodings second)" "1 0" "images are decoded once"
mv away data
ok "a training at another size" "${train[@]}" --size 16x16 --set data.cache=here --out other
is "$(files here)" 2 "it has another cache file"

if command -v mpirun >/dev/null && unet-train devices --json | grep -q '"mpi"\]'; then
    ok "a training of three ranks" mpirun -np 3 "${train[@]}" --set data.cache=ranks --out ranks3
    is "$(files ranks)" 1 "they share one cache file"
else
    skip "no MPI" "three ranks share a file"
fi

# Killed while the file is made, at eight moments.
for i in 1 2 3 4 5 6 7 8; do
    rm -rf killed
    "${train[@]}" --set data.cache=killed --out "killed-$i" >/dev/null 2>&1 &
    pid=$!
    sleep "0.0$i"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    "${train[@]}" --set data.cache=killed --out "after-$i" >"$OUT" 2>"$ERR" || break
done
is "$(for i in 1 2 3 4 5 6 7 8; do weights "after-$i"; done | sort -u)" "$(weights memory)" \
    "a run after one that was killed while decoding has the same weights"
is "$(find killed -name '*.tmp-*' | wc -l)" 0 "no incomplete file is left"

exits 7 "a folder that cannot be written is an error" \
    "${train[@]}" --set data.cache=/proc/none --out bad1
like "$ERR" 'data.cache' "the error says what to do"
for f in here/*.cache; do printf x | dd of="$f" bs=1 seek=200 conv=notrunc 2>/dev/null; done
exits 7 "a damaged record is an error" "${train[@]}" --set data.cache=here --out bad2
like "$ERR" 'here/.*\.cache: record .* is damaged' "the error names it"
for f in here/*.cache; do printf XX | dd of="$f" bs=1 conv=notrunc 2>/dev/null; done
ok "a cache with a damaged header is made again" \
    "${train[@]}" --set data.cache=here --out remade
is "$(grep -c 'cache is damaged and is created again' "$ERR") $(weights remade)" \
    "1 $(weights memory)" "one warning, and the weights are the same"

# 100 pairs at 448 x 448 are 153 MiB decoded; the process may have 120 MiB.
if sanitized; then
    skip "a sanitizer needs memory for itself" "a set larger than memory"
else
    ok "a larger set is made" unet-train data synth --out large --count 100 --size 64x64 --seed 4
    ok "its split is made" unet-train data split --data large --out large.json --val-fraction 0.05
    large=(unet-train train --data large --set data.split=large.json --size 448x448 \
        --set model.base=1 --set model.depth=1
        --threads 1 --epochs 1 --batch-size 2 --set data.workers=1)
    limited() { (ulimit -d 120000 && exec "$@"); }
    exits 3 "a set that does not fit in memory is refused" \
        limited "${large[@]}" --set data.cache=off --out no
    like "$ERR" 'the decoded images need 0.15 GiB of memory, but only 0\.[0-9]+ GiB is available \(ulimit -d\); set data.cache to a folder' \
        "the error has the memory that is needed and that there is"
    ok "it is trained from a cache" limited "${large[@]}" --set data.cache=large-cache --out yes
    ok "the folder has only the cache" \
        test "$(ls large-cache)" = "$(cd large-cache && echo *.cache)"

    # A step that does not fit is refused before anything is decoded.
    exits 3 "a batch that does not fit in memory is refused" \
        limited "${large[@]}" --batch-size 64 --set data.cache=step-cache \
        --out step
    like "$ERR" 'a batch of 64 needs [01]\.[0-9]+ GiB for activations and images, and there are 0\.[0-9]+ GiB \(ulimit -d\): a batch of [1-9][0-9]* fits' \
        "the error has the memory that is needed and a batch that fits"
    batch=$(sed -n 's/.* a batch of \([0-9]*\) fits.*/\1/p' "$ERR")
    ok "no cache is made then" test ! -e step-cache
    ok "the batch that fits ($batch), in the same folder" limited "${large[@]}" \
        --batch-size "$batch" --set data.remainder=drop --set data.cache=step-cache --out step
fi

# A disk of 4 MiB has no room for 12 samples of 512x512 (24 MiB).
mkdir disk
if mount -t tmpfs -o size=4m none disk 2>/dev/null; then
    unmount() { umount disk; }
    cleanup_hooks+=(unmount)
    exits 7 "a disk too small" "${train[@]}" --size 512x512 --set data.cache=disk/cache --out full
    like "$ERR" 'disk/cache: the cache of decoded images needs 0.02 GiB; free some space.*No space left on device' \
        "the error has the space that is needed"
    is "$(ls -A disk)" "" "no file is left"
    ok "with another cache the same folder serves" "${train[@]}" --set data.cache=off --out full
else
    skip "no right to mount a file system" "a disk too small"
fi

# Ctrl-C while images are decoded: nothing of the cache stays, and the same command starts.
"${train[@]}" --size 2048x2048 --set data.cache=stopped-cache --out stopped 2>"$ERR" &
pid=$!
ok "a training is decoding images" wait_until 20 compgen -G 'stopped-cache/*.tmp-*'
kill -INT $pid
wait $pid
is $? 130 "SIGINT while decoding: exit code 130"
ok "neither a cache nor a marker is left" test ! -e stopped-cache -a ! -e stopped/FAILED
done_testing

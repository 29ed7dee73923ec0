#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The rules of doc/HACKING.md that a machine can check. New folders and headers: extend the tables.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
cd "$srcdir" || exit 255

# FOLDER|WHAT ITS FILES MAY INCLUDE, as paths from the top. The longest folder that fits a file
# decides; a folder may always include itself and src/. Tests may include their whole program.
includes='src|
launcher|launcher/
trainer|trainer/
trainer/core|
trainer/ops|trainer/core/
trainer/backends|trainer/core/
trainer/models|trainer/core/ trainer/ops/
trainer/comm|trainer/core/
trainer/optim|trainer/core/
trainer/metric|trainer/core/
trainer/data|trainer/core/
trainer/checkpoint|trainer/core/
trainer/export|trainer/core/'

# HEADER (regex of the name between <>) and FILES (regex of the path) where it may stand
third_party='slurm/.* launcher/slurm/
mpi\.h trainer/comm/(comm_mpi\.c|test/)
nccl\.h trainer/comm/comm_nccl\.c
(cuda|cudnn|cublas).* trainer/(backends/cuda/|comm/comm_nccl\.c)
(oneapi/)?dnnl.* trainer/backends/dnnl/
jansson\.h launcher/
yaml\.h launcher/
cjson/.* trainer/
png\.h trainer/data/png_file\.c
tiffio\.h trainer/data/(tiff_file\.c|test/)
jpeglib\.h trainer/data/(jpeg_file\.c|test/)
zlib\.h trainer/data/
omp\.h trainer/(backends/|core/network\.c|ops/test/)'

# FILE and SYMBOLS (regexes of the whole) beside those that begin with the name of the file, or with it
# in the singular (results.c: result_*).
foreign_symbols='trainer/backends/(ref|dnnl|cuda)/.* (ref|dnnl|cuda)_.*
trainer/ops/loss (bce|softmax_ce|dice)_kind
trainer/data/(split|source)_(file|list) (split|source)_.*
trainer/spec_read spec_.*'

mapfile -t sources < <(find src launcher trainer t -name '*.[ch]' | sort)
mapfile -t headers < <(printf '%s\n' "${sources[@]}" | grep '\.h$')
ok 'the tree is where it should be' test ${#sources[@]} -gt 20

# The rule for a file: the longest folder of the table that it lies in.
rule() {
    awk -F'|' -v f="$1" 'index(f, $1 "/") == 1 && length($1) >= n { n = length($1); r = $0 } END { print r }' \
        <<<"$includes"
}
forbidden_includes() {
    local f rule program allowed header prefix
    for f in "${sources[@]}"; do
        rule=$(rule "$f")
        allowed="config.h src/ ${rule%%|*}/ ${rule#*|}"
        case $f in
        t/*) continue ;;
        */test/*)
            program=${f%%/*}
            allowed="config.h src/ $program/ t/tap.h"
            ;;
        esac
        while read -r header; do
            for prefix in $allowed; do
                [[ $header == "$prefix"* ]] && continue 2
            done
            echo "$f includes $header; it may include: $allowed"
        done < <(sed -n 's/^ *# *include *"\(.*\)".*/\1/p' "$f")
    done
}
is "$(forbidden_includes)" '' 'includes follow the direction of dependencies'

misplaced_headers() {
    local f header pattern place
    while read -r pattern place; do
        while IFS=: read -r f header; do
            [[ $f =~ ^($place) ]] || echo "$f includes <$header>, which belongs in $place"
        done < <(grep -HoE "^ *# *include *<($pattern)>" "${sources[@]}" | sed 's/:.*</:/; s/>$//')
    done <<<"$third_party"
}
is "$(misplaced_headers)" '' 'third-party headers stand where the table says'

is "$(for f in "${sources[@]}" configure.ac Makefile.am $(find src launcher trainer t m4 -name '*.inc' -o -name '*.m4' -o -name '*.t' \
    -o -name '*.sh' | grep -vE '/(test|fuzz)/.*\.t$'); do
    head -n 3 "$f" | grep -q 'SPDX-License-Identifier: ' || echo "$f"
done)" '' 'every source names its licence'

misordered_includes() {
    local f included
    for f in "${sources[@]}"; do
        [[ $f == *.c ]] || continue
        included=$(sed -n 's/^ *# *include *["<]\(.*\)[">].*/\1/p' "$f")
        [ "$(sed -n 1p <<<"$included")" = config.h ] || echo "$f: config.h is not its first include"
        grep -qxF "${f%.c}.h" <<<"$included" || continue
        [ "$(sed -n 2p <<<"$included")" = "${f%.c}.h" ] || echo "$f: its own header is not its second include"
    done
}
is "$(misordered_includes)" '' 'config.h first, then the own header'

is "$(grep -nE '(^|[^_a-z>.])(exit|abort|quick_exit) *\(' "${sources[@]}" |
    grep -vE '^(t/tap\.h|[^:]*/main\.c|[^:]*/test/[^:]*):|^[^:]*:[0-9]+: *(/?\*|//)|"[^"]*(exit|abort) *\(')" '' \
    'exit and abort only in main.c'

# Unfinished marks, spelled so that this file has none.
is "$(grep -nE 'TO''DO|FIX''ME|XX''X:|HA''CK\b' "${sources[@]}")" '' 'no unfinished marks'

cc=$(sed -n "s/^CC = //p" "$builddir/Makefile")
flags=$(sed -n 's/^\(CJSON\|CUDA\|DNNL\|JANSSON\|MPI\|PNG\|TIFF\|JPEG\|SLURM\|YAML\)_CFLAGS = //p' "$builddir/Makefile" | tr '\n' ' ')
# shellcheck disable=SC2086 # lists of words
ok 'each header compiles alone' \
    ${cc:-cc} -std=gnu11 -fsyntax-only -Wall -Wno-unused-function -I. -I"$builddir" $flags -include config.h "${headers[@]}"

# build/src/foo.o and launcher/liblauncher_a-foo.o define foo, foo_* and nothing else.
foreign() {
    local object folder name symbol file symbols
    while read -r object; do
        name=$(basename "$object" .o)
        name=${name#*_a-}
        folder=$(dirname "${object#"$builddir/"}")
        # An object of a source that is gone is no matter.
        if [ "$name" = main ] || [ ! -e "$folder/$name.c" ]; then continue; fi
        while read -r symbol; do
            [[ $symbol == "$name" || $symbol == "${name%s}"_* || $symbol == "$name"_* || $symbol == _* ]] && continue
            while read -r file symbols; do
                [[ $folder/$name =~ ^($file)$ && $symbol =~ ^($symbols)$ ]] && continue 2
            done <<<"$foreign_symbols"
            echo "$folder/$name.c defines $symbol"
        done < <(nm --defined-only --extern-only --format=posix "$object" | awk '$2 ~ /[A-Z]/ { print $1 }')
    done < <(find "$builddir/src" "$builddir/launcher" "$builddir/trainer" -name '*.o' -not -path '*/test/*')
}
is "$(foreign)" '' 'the symbols of a file begin with its name'
done_testing

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
trainer/data/image|
trainer/data/source|trainer/core/ trainer/data/image/
trainer/data/set|trainer/core/ trainer/data/image/ trainer/data/source/
trainer/checkpoint|trainer/core/
trainer/export|trainer/core/ trainer/checkpoint/'

# HEADER (regex of the name between <>) and FILES (regex of the path) where it may stand
third_party='slurm/.* launcher/scheduler/slurm/library/
mpi\.h trainer/comm/(comm_mpi\.c|test/)
nccl\.h trainer/comm/nccl_library\.c
(cuda|cudnn|cublas).* trainer/backends/cuda/
(oneapi/)?dnnl.* trainer/backends/dnnl/
jansson\.h launcher/
yaml\.h (launcher/|trainer/models/description\.c)
cjson/.* trainer/
png\.h trainer/data/image/png_file\.c
tiffio\.h trainer/data/image/(tiff_file\.c|test/)
jpeglib\.h trainer/data/image/(jpeg_file\.c|test/)
zlib\.h trainer/data/
omp\.h trainer/(backends/|core/network\.c|data/set/candidates\.c|ops/test/)'

# FILE and SYMBOLS (regexes of the whole) beside those that begin with the name of the file, or with it
# in the singular (results.c: result_*).
foreign_symbols='trainer/backends/(ref|simd|dnnl|cuda)/.* (ref|simd|dnnl|cuda)_.*
trainer/ops/loss (bce|softmax_ce|dice)_kind
trainer/data/(set/split|source/source)_(file|list) (split|source)_.*
trainer/run/spec_read spec_.*'

mapfile -t sources < <(find src launcher trainer t -name '*.[ch]' | sort)
mapfile -t headers < <(printf '%s\n' "${sources[@]}" | grep '\.h$')
ok 'the tree is where it should be' test ${#sources[@]} -gt 20

# FILE HEADER of every #include "..."
included=$(awk '/^ *# *include *"/ { split($0, part, "\""); print FILENAME, part[2] }' "${sources[@]}")

forbidden_includes() {
    awk -v table="$includes" '
        BEGIN {
            n = split(table, line, "\n")
            for (i = 1; i <= n; i++) { split(line[i], part, "|"); also[part[1]] = part[2] }
        }
        function rule(file,    folder, longest) { # the longest folder of the table that it lies in
            for (folder in also)
                if (index(file, folder "/") == 1 && length(folder) > length(longest)) longest = folder
            return "config.h src/ " longest "/ " also[longest]
        }
        $1 ~ /^t\// { next }
        {
            allowed = rule($1)
            if ($1 ~ /\/test\//) allowed = "config.h src/ " substr($1, 1, index($1, "/")) " t/tap.h t/port.h"
            m = split(allowed, prefix, " ")
            for (i = 1; i <= m; i++) if (index($2, prefix[i]) == 1) next
            print $1 " includes " $2 "; it may include: " allowed
        }' <<<"$included"
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

# Or a distribution has not what it is built of.
unlisted() {
    local f lists
    mapfile -t lists < <(find src launcher trainer t -name '*.inc' ! -name '*_isa.inc')
    find src launcher trainer -name '*.[ch]' -o -name '*.cu' -o -name '*_isa.inc' | sort | while read -r f; do
        grep -qF -- "$f" Makefile.am "${lists[@]}" || echo "$f"
    done
}
is "$(unlisted)" '' 'every source is listed for the build'

unlicensed() {
    {
        printf '%s\n' "${sources[@]}" configure.ac Makefile.am
        find src launcher trainer t m4 -name '*.inc' -o -name '*.m4' -o -name '*.t' -o -name '*.sh' |
            grep -vE '/(test|fuzz)/.*\.t$'
    } | xargs awk 'FNR <= 3 && /SPDX-License-Identifier: / { licensed[FILENAME] = 1 }
        END { for (i = 1; i < ARGC; i++) if (!licensed[ARGV[i]]) print ARGV[i] }'
}
is "$(unlicensed)" '' 'every source names its licence'

misordered_includes() {
    awk '
        FILENAME !~ /\.c$/ { next }
        FNR == 1 { seen = 0; own = FILENAME; sub(/c$/, "h", own) }
        /^ *# *include *["<]/ {
            split($0, part, /["<>]/)
            seen++
            if (seen == 1 && part[2] != "config.h") print FILENAME ": config.h is not its first include"
            if (seen != 2 && part[2] == own) print FILENAME ": its own header is not its second include"
        }' "${sources[@]}"
}
is "$(misordered_includes)" '' 'config.h first, then the own header'

is "$(grep -nE '(^|[^_a-z>.])(exit|abort|quick_exit) *\(' "${sources[@]}" |
    grep -vE '^(t/tap\.h|[^:]*/main\.c|[^:]*/test/[^:]*):|^[^:]*:[0-9]+: *(/?\*|//)|"[^"]*(exit|abort) *\(')" '' \
    'exit and abort only in main.c'

# The helper depends on what Slurm's headers declare, and on one release of them in one place.
is "$(grep -nE '^extern .*\(|SLURM_VERSION_NUM\(' launcher/scheduler/slurm/*.[ch] launcher/scheduler/slurm/*/*.[ch] |
    grep -v '^launcher/scheduler/slurm/library/version\.h:')" '' \
    'only launcher/scheduler/slurm/library/version.h tells releases of Slurm apart, and no file declares what is not ours'

# Unfinished marks, spelled so that this file has none.
is "$(grep -nE 'TO''DO|FIX''ME|XX''X:|HA''CK\b' "${sources[@]}")" '' 'no unfinished marks'

cc=$(sed -n "s/^CC = //p" "$builddir/Makefile")
flags=$(sed -n 's/^\(CJSON\|CUDA\|DNNL\|JANSSON\|MPI\|PNG\|TIFF\|JPEG\|SLURM\|YAML\)_CFLAGS = //p' "$builddir/Makefile" | tr '\n' ' ')
# gpu.h and who includes it need CUDA.
grep -q '^CUDA_CFLAGS = .' "$builddir/Makefile" ||
    mapfile -t headers < <(printf '%s\n' "${headers[@]}" | grep -vE 'backends/cuda/(gpu|cuda_kernel|narrow[a-z_]*|norm_pass|pass|warp)\.h')
# shellcheck disable=SC2086 # lists of words
ok 'each header compiles alone' \
    ${cc:-cc} -std=gnu11 -fsyntax-only -Wall -Wno-unused-function -I. -I"$builddir" $flags -include config.h "${headers[@]}"

# build/src/foo.o and launcher/liblauncher_a-foo.o define foo, foo_* and nothing else. An object of a
# source that is gone is no matter.
foreign() {
    find "$builddir/src" "$builddir/launcher" "$builddir/trainer" -name '*.o' -not -path '*/test/*' -print0 |
        xargs -0 nm --defined-only --extern-only --format=posix --print-file-name |
        awk -v builddir="$builddir/" -v table="$foreign_symbols" -v sources="${sources[*]}" '
            BEGIN {
                n = split(table, line, "\n")
                for (i = 1; i <= n; i++) {
                    file[i] = symbols[i] = line[i]
                    sub(/ .*/, "", file[i]); sub(/^[^ ]* /, "", symbols[i])
                }
                m = split(sources, part, " ")
                for (i = 1; i <= m; i++) exists[part[i]] = 1
            }
            $3 ~ /[A-Z]/ && $2 !~ /^_/ {
                path = substr($1, length(builddir) + 1); sub(/\.o:$/, "", path)
                folder = path; sub(/\/[^\/]*$/, "", folder)
                name = substr(path, length(folder) + 2); sub(/^.*_a-/, "", name)
                path = folder "/" name
                if (name == "main" || !exists[path ".c"]) next
                singular = name; sub(/s$/, "", singular)
                if ($2 == name || index($2, name "_") == 1 || index($2, singular "_") == 1) next
                for (i = 1; i <= n; i++)
                    if (path ~ "^(" file[i] ")$" && $2 ~ "^(" symbols[i] ")$") next
                print path ".c defines " $2
            }'
}
is "$(foreign)" '' 'the symbols of a file begin with its name'
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the rules of doc/HACKING.md that a machine can check. The tables need a line for each new
# folder and third-party header.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
cd "$srcdir" || exit 255

# Lines ROOM|THE ROOMS THAT IT MAY INCLUDE AND CALL|ITS DOORS. A room names only rooms above it, so
# there is no circle. A file belongs to the longest room that fits; X/ is X and everything below it;
# src/ is open to all. Doors are the headers, three at most, that other rooms may include; - is
# none: the room is called through an interface that another room declares. Tests may include all of
# their program.
rooms='src|
src/cluster|src
src/format|src
src/run|src
src/settings|src src/cluster src/run
launcher/host||child path jsonio
launcher/sandbox|launcher/host|sandbox
launcher/energy|launcher/host|energy
launcher/stage|launcher/host|stage
launcher/scheduler|launcher/host launcher/sandbox|scheduler job
launcher/scheduler/local|launcher/host launcher/scheduler|-
launcher/scheduler/slurm|launcher/host launcher/sandbox launcher/scheduler|-
launcher/study|launcher/host launcher/scheduler launcher/scheduler/local '\
'launcher/scheduler/slurm|study plan workspace
launcher/script|launcher/host launcher/sandbox launcher/scheduler launcher/study|'\
'script template container
launcher/plan|launcher/host launcher/scheduler launcher/script launcher/stage '\
'launcher/study|look cost begin
launcher/remote|launcher/host launcher/script launcher/study|remote
launcher/spec|launcher/host|spec_source
launcher/status|launcher/energy launcher/host launcher/scheduler launcher/study|status watch
launcher/submit|launcher/host launcher/plan launcher/scheduler launcher/script launcher/status '\
'launcher/study|submission attempt
launcher/doctor|launcher/energy launcher/host launcher/plan launcher/sandbox launcher/scheduler '\
'launcher/script launcher/spec launcher/stage launcher/study launcher/submit|doctor
launcher/collect/results||results
launcher/collect/log|launcher/collect/results|log_file
launcher/collect|launcher/collect/ launcher/energy launcher/host launcher/scheduler '\
'launcher/status launcher/study|collect
launcher/analysis/statistics||interval distribution hypothesis
launcher/analysis/model|launcher/analysis/statistics|model
launcher/analysis|launcher/analysis/ launcher/collect/results|analysis decision series
launcher/analysis/design|launcher/analysis/ launcher/collect/results|design
launcher/rounds|launcher/analysis/ launcher/collect/ launcher/host launcher/status launcher/study '\
'launcher/submit|rounds left sources
launcher/report|launcher/analysis/ launcher/collect/ launcher/host|report document proposal
launcher/report/live|launcher/report launcher/analysis/ launcher/collect/ launcher/scheduler '\
'launcher/status launcher/study|live_page
launcher/cmd|launcher/|cmd
launcher|launcher/cmd launcher/remote
trainer/json||cjson
trainer/data/image||pixels classes image_file
trainer/data/source|trainer/json trainer/data/image|source mask_stats tree
trainer/data/prepare|trainer/json trainer/data/|prepare
trainer/core||kernel graph host
trainer/ops|trainer/core|ops
trainer/backends/ref|trainer/core trainer/ops|ref
trainer/backends/cpu|trainer/core trainer/ops trainer/backends/ref|simd_backend
trainer/backends/cuda/runtime|trainer/core trainer/ops|cuda_kernel cuda_info cudnn_library
trainer/backends/cuda/kernels|trainer/core trainer/ops trainer/backends/cuda/runtime
trainer/backends/cuda/cudnn|trainer/core trainer/ops trainer/backends/cuda/runtime '\
'trainer/backends/cuda/kernels|cudnn_conv
trainer/backends/cuda|trainer/core trainer/ops trainer/backends/cuda/|cuda_backend
trainer/backends|trainer/core trainer/ops trainer/backends/|backends
trainer/passes|trainer/core trainer/ops|passes
trainer/models|trainer/core trainer/ops|model
trainer/network|trainer/core trainer/ops trainer/backends trainer/passes trainer/models|network
trainer/comm/rendezvous||rendezvous
trainer/comm|trainer/core trainer/backends trainer/comm/|comm comm_open nccl_library
trainer/checkpoint|trainer/json trainer/core trainer/ops trainer/models trainer/network|checkpoint
trainer/metric|trainer/core trainer/ops|metric
trainer/optim|trainer/core|optim
trainer/data/set|trainer/json trainer/core trainer/data/|dataset loader
trainer/data|trainer/core trainer/data/
trainer/evaluate|trainer/json trainer/core trainer/models trainer/network trainer/metric '\
'trainer/data/image trainer/data/set|evaluate
trainer/step|trainer/core trainer/models trainer/network trainer/comm trainer/metric '\
'trainer/optim trainer/data/set trainer/evaluate|step
trainer/run/ranks|trainer/comm/|ranks
trainer/run|trainer/json trainer/core trainer/models trainer/passes trainer/network '\
'trainer/backends/ trainer/comm/ trainer/checkpoint trainer/evaluate trainer/metric '\
'trainer/optim trainer/data/set trainer/step trainer/run/ranks|session run_log setup
trainer/cmd|trainer/|cmd
trainer|trainer/'

# Lines HEADER|FILES: a regex of the name between <> and a regex of the paths that may include it.
third_party='slurm/.* launcher/scheduler/slurm/unetctl-slurm\.c
mpi\.h trainer/comm/(comm_mpi\.c|test/)
nccl\.h trainer/comm/nccl_library\.c
(cuda|cudnn|cublas).* trainer/backends/cuda/
jansson\.h launcher/
nettle/.* (src/format/|trainer/comm/rendezvous/rendezvous\.c)
pcre2\.h (src/format/pattern|launcher/collect/log/log_container)\.c
yaml\.h src/format/document\.c
cjson/.* trainer/
png\.h trainer/data/image/png_file\.c
tiffio\.h trainer/data/image/(tiff_file\.c|test/)
(jpeglib|jerror)\.h trainer/data/image/(jpeg_file\.c|test/)
zlib\.h trainer/data/
omp\.h trainer/(backends/|network/network\.c|data/set/candidates\.c|ops/test/)'

mapfile -t sources < <(find src launcher trainer t -name '*.[ch]' | sort)
mapfile -t headers < <(printf '%s\n' "${sources[@]}" | grep '\.h$')
ok 'the tree is where it should be' test ${#sources[@]} -gt 20

# Prints FILE HEADER for every #include "...".
included=$(awk '/^ *# *include *"/ { split($0, part, "\""); print FILENAME, part[2] }' \
    "${sources[@]}")

# Prints FILE USED-FILE WHAT for every include and, from the objects, for every call. Objects whose
# source is gone are ignored.
uses() {
    awk '{ print $0, "its-header" }' <<<"$included"
    find "$builddir/src" "$builddir/launcher" "$builddir/trainer" -name '*.o' -not -path \
        '*/test/*' -print0 |
        xargs -0 nm --extern-only --format=posix --print-file-name |
        awk -v builddir="$builddir/" \
            -v sources="$(find src launcher trainer -name '*.c' -o -name '*.cu')" '
            BEGIN {
                n = split(sources, path, "\n")
                for (i = 1; i <= n; i++) {
                    stem = path[i]; sub(/\.cu?$/, "", stem)
                    source[stem] = path[i]
                }
            }
            {
                stem = substr($1, length(builddir) + 1)
                sub(/\.o:$/, "", stem); sub(/\/[a-z0-9_]+-/, "/", stem)
                if (!(stem in source) || $2 == "main") next
                if ($3 == "U") used[source[stem], $2] = 1
                else if (!($2 in definer)) definer[$2] = source[stem]
            }
            END {
                for (pair in used) {
                    split(pair, part, SUBSEP)
                    if (part[2] in definer) print part[1], definer[part[2]], part[2]
                }
            }'
}

forbidden_uses() {
    awk -v table="$rooms" '
        BEGIN {
            n = split(table, line, "\n")
            for (i = 1; i <= n; i++) {
                split(line[i], part, "|")
                room[i] = part[1]; row[part[1]] = i
                ndoors[i] = split(part[3], name, " ")
                if (ndoors[i] > 3) print part[1] " has more than three doors"
                for (k = 1; k <= ndoors[i]; k++) door[part[1] "/" name[k] ".h"] = 1
                m = split(part[2], below, " ")
                for (k = 1; k <= m; k++) {
                    if (below[k] !~ /\/$/ && !(below[k] in row)) print part[1] " may not use " below[k] ", which is not above it"
                    for (r = 1; r < i; r++)
                        if (room[r] == below[k] ||
                            below[k] ~ /\/$/ && index(room[r] "/", below[k]) == 1) may[i, r] = 1
                }
            }
        }
        function find(file,    r, longest) {
            longest = 0
            for (r = 1; r <= n; r++)
                if (index(file, room[r] "/") == 1 &&
                    (!longest || length(room[r]) > length(room[longest]))) longest = r
            return longest
        }
        $1 ~ /^t\// || $2 == "config.h" { next }
        $1 ~ /\/test\// {
            if (index($2, substr($1, 1, index($1, "/"))) != 1 &&
                $2 !~ /^src\/|^t\/(tap|port)\.h$/) print $1 " uses " $2
            next
        }
        {
            from = find($1); to = find($2)
            if (from != to && room[to] !~ "^src" && $3 == "its-header" && $2 ~ /\.h$/ &&
                !($2 in door))
                print $1 " includes " $2 ", which is no door of its room"
            if (from && (from == to || may[from, to] || $2 ~ /^src\// && $1 !~ /^src\//)) next
            print $1 " uses " $2 " (" $3 "); rooms that " room[from] " may use stand in the table"
        }'
}
is "$(uses | sort -u | forbidden_uses)" '' 'rooms include and call only rooms below them'

is "$(find src launcher -name '*.[ch]' -not -path '*/test/*' | sed 's,/[^/]*$,,' | sort -u |
    grep -vxF "$(cut -d'|' -f1 <<<"$rooms")")" '' 'each folder is a room of the table'

overfull() {
    find src launcher trainer -type f -not -path '*/test/*' -name '*.*' -not -name '*.*o' -not \
        -name '.*' |
        sed 's,/[^/]*$,,' | sort | uniq -c | while read -r count folder; do
        [ "$count" -le 30 ] || echo "$folder has $count files"
    done
}
is "$(overfull)" '' 'no folder has more than 30 files'

misplaced_headers() {
    local f header pattern place
    while read -r pattern place; do
        while IFS=: read -r f header; do
            [[ $f =~ ^($place) ]] || echo "$f includes <$header>, which belongs in $place"
        done < <(grep -HoE "^ *# *include *<($pattern)>" "${sources[@]}" | sed 's/:.*</:/; s/>$//')
    done <<<"$third_party"
}
is "$(misplaced_headers)" '' 'third-party headers stand where the table says'

# An unlisted source would be missing from the distribution.
unlisted() {
    local f lists
    mapfile -t lists < <(find src launcher trainer t -name '*.inc' ! -name '*_isa.inc')
    find src launcher trainer -name '*.[ch]' -o -name '*.cu' -o -name '*_isa.inc' | sort |
        while read -r f; do # the one source of a program f.t may go without saying
        grep -qF -e "$f" -e "${f%.c}.t" -- Makefile.am "${lists[@]}" || echo "$f"
    done
}
is "$(unlisted)" '' 'every source is listed for the build'

# Text that becomes a user's (job scripts, sites, models), documents and test data have no header:
# LICENSE is theirs.
unlicensed() {
    {
        printf '%s\n' configure.ac Makefile.am bootstrap packages.debian .ci/run
        find src launcher trainer bench t m4 templates examples debian -type f -size -200k \
            -not -path '*/corpus/*' -not -path 't/golden/*' -not -name '*.png' -not -name '*.md' \
            -not -path 'templates/*.sh' -not -path 'templates/*.yaml' -not -path 'examples/*.yaml' \
            -not -path 'templates/tags/*' -not -path 'debian/[!rt]*' -not -path debian/tests/control \
            -not -name .dirstamp -not -path '*/.deps/*' -not -path '*/__pycache__/*' \
            -exec grep -Il '' {} +
    } 2>/dev/null | xargs awk '
        FNR <= 3 && /SPDX-License-Identifier: / { licensed[FILENAME] = 1 }
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
            if (seen == 1 && part[2] != "src/base.h") print FILENAME ": src/base.h is not its first include"
            if (seen != 2 && part[2] == own) print FILENAME ": its own header is not its second include"
        }' "${sources[@]}"
}
is "$(misordered_includes)" '' 'src/base.h first, then the own header'

is "$(grep -nE '(^|[^_a-z>.])(exit|abort|quick_exit) *\(' "${sources[@]}" |
    grep -vE '^(t/tap\.h|[^:]*/main\.c|[^:]*/test/[^:]*):|^[^:]*:[0-9]+: *(/?\*|//)|"[^"]*(exit|abort) *\(')" '' \
    'exit and abort only in main.c'

# Slurm's headers declare what the helper uses, and only the helper depends on their release.
is "$(grep -nE '^extern .*\(|SLURM_VERSION_NUM\(' launcher/scheduler/slurm/*.[ch] |
    grep -vE '^launcher/scheduler/slurm/unetctl-slurm\.c:[0-9]+:#if SLURM_VERSION_NUMBER < ')" '' \
    'only launcher/scheduler/slurm/unetctl-slurm.c tells releases of Slurm apart, and no file declares what is not ours'

# A wall clock may be set back.
is "$(grep -nE 'difftime\(time\(|[-+<>]=? *time\(NULL\)|time\(NULL\) *[-+<>]' "${sources[@]}" |
    grep -vE '^(src/clock\.c|launcher/doctor/study_folder\.c|t/[^:]*|[^:]*/test/[^:]*):')" '' \
    'ages come from clock_age'

# Marks of unfinished work, spelled so that this file contains none.
is "$(grep -nE 'TO''DO|FIX''ME|XX''X:|HA''CK\b' "${sources[@]}")" '' 'no unfinished marks'

cc=$(sed -n "s/^CC = //p" "$builddir/Makefile")
flags=$(sed -n 's/^\(CJSON\|CUDA\|JANSSON\|MPI\|PNG\|TIFF\|JPEG\|NETTLE\|PCRE2\|SLURM\|YAML\)_CFLAGS = //p' \
    "$builddir/Makefile" | tr '\n' ' ')
# gpu.h and headers that include it need CUDA.
grep -q '^CUDA_CFLAGS = .' "$builddir/Makefile" ||
    mapfile -t headers < <(printf '%s\n' "${headers[@]}" |
        grep -vE 'backends/cuda/runtime/(gpu|cuda_kernel)\.h')
# shellcheck disable=SC2086 # lists of words
ok 'each header compiles alone' \
    ${cc:-cc} -std=gnu11 -fsyntax-only -Wall -Wno-unused-function -I. -I"$builddir" $flags \
    -include config.h "${headers[@]}"

overlong() {
    find src launcher trainer \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) -not -path '*/test/*' \
        -exec wc -l {} + | awk '$1 > 900 && $2 != "total" { print $2 " has " $1 " lines" }'
}
is "$(overlong)" '' 'no file has more than 900 lines'

# Files that call libc themselves for files of the user, this process or the system, which are not
# below a study, a run or a report. All others use src/files.h.
own_calls='src/(files|cluster/connection|run/marker)\.c|
launcher/(host/(path|child)|study/study)\.c|
launcher/plan/(cost|look)\.c|launcher/submit/attempt\.c|launcher/cmd/cmd_init\.c|
launcher/(stage/stage|remote/(ssh|remote))\.c|launcher/doctor/preflight\.c|
launcher/scheduler/(local/(local_runner|scheduler_local)|slurm/query)\.c|trainer/data/.*|
trainer/(core/host|backends/cuda/cudnn/cudnn_choices|comm/node|cmd/cmd_(predict|data_preview))\.c'
calls='f?open(at)?|(un|sym)?link(at)?|rename(at2?)?|(mk|rm|open|scan)dir|mkdirat|n?ftw|truncate'
calls+='|mko?stemp|json_load_file'
is "$(printf '%s\n' "${sources[@]}" | grep -E '^(src|launcher|trainer)/.*\.c$' | grep -v /test/ |
    xargs grep -nE "(^|[^_a-zA-Z>.])($calls)\(" |
    grep -vE '"/(dev|proc|sys)/|^[^:]*:[0-9]*: ?[/ ]\*|unlinkat\(dirfd' |
    grep -vE "^(${own_calls//$'\n'/})")" '' \
    'files below studies, runs and reports are opened by src/files.h'

is "$(grep -l '#include "trainer/backends/cuda/' "$srcdir"/trainer/backends/cuda/test/network.c \
    "$srcdir"/trainer/ops/test/*.c)" '' 'tests of every build include no header that needs CUDA'
is "$(find "$srcdir/t" -name '*.t' -type f ! -perm -100)" '' 'every test may be executed'
done_testing

# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# What every shell test sources: TAP, a private work folder, a clean environment.
#
#   ok COMMAND...                "ok" if the command succeeds; its output is shown when it fails
#   is GOT WANT TEXT             compares strings
#   exits CODE TEXT COMMAND...   runs it; out and err are kept in $OUT and $ERR
#   like FILE REGEX TEXT         the file has a line that matches (extended regex)
#   unlike FILE REGEX TEXT
#   skip_all REASON              the prerequisite is missing: the whole file is skipped
#   skip REASON TEXT
#   broken GLOB...               these files, below $TMP, are on purpose not as their schemas say
#   wait_until SECONDS COMMAND   polls; false when time is up
#   without_pictures             figures of reports are SVG and CSV only, as where rsvg-convert
#                                fails: the PDF and PNG of a report take a second of a processor
#   with_pictures                ends that
#   done_testing                 last line of every test

set -u
builddir=${builddir:-$(pwd)}
srcdir=${srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
builddir=$(cd "$builddir" && pwd)
srcdir=$(cd "$srcdir" && pwd)
UNETCTL_SHARED=${UNETCTL_SHARED:-$srcdir/../shared}
export builddir srcdir UNETCTL_SHARED LC_ALL=C

# A test must behave the same inside a job, an MPI run or a user's session.
for v in $(compgen -e); do
    case $v in
    UNETCTL_SHARED | UNETCTL_SLURM_INTERFACE | UNETCTL_OLDER_SLURM) ;;
    SLURM* | PMI* | OMPI* | PRTE* | UNETCTL_* | TF_CONFIG | MASTER_* | XDG_* | \
        CUDA_VISIBLE_DEVICES) unset "$v" ;;
    esac
done
# Tests compute on the CPU on any machine; tests of auto unset this variable.
export UNET_GPUS=fake
PATH=$builddir:$PATH
# Allows MPI as root and more ranks than cores, which Open MPI 4, 5 and 6 spell differently.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_mapby=:oversubscribe
case $(mpirun --version 2>/dev/null) in
*' 5.'*) export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe ;; # 6 warns of it
esac

if [ -n "${KEPT_JSON:-}" ]; then KEPT_JSON+=/${0##*/} && mkdir -p "$KEPT_JSON"; fi
TMP=$(cd "$(mktemp -d "${TMPDIR:-/tmp}/unetctl-t.XXXXXX")" && pwd -P)
OUT=$TMP/.out ERR=$TMP/.err
export HOME=$TMP/home XDG_STATE_HOME=$TMP/home/state XDG_CONFIG_HOME=$TMP/home/config
mkdir -p "$HOME"
cleanup_hooks=()
cleanup() {
    local hook
    for hook in ${cleanup_hooks[@]+"${cleanup_hooks[@]}"}; do $hook; done
    if [ -n "${KEEP_TMP:-}" ]; then echo "# kept $TMP"; else rm -rf "$TMP"; fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM
cd "$TMP" || exit 255

test_n=0 test_failed=0
report() { # STATUS TEXT
    test_n=$((test_n + 1))
    if [ "$1" = 0 ]; then
        echo "ok $test_n - $2"
    else
        echo "not ok $test_n - $2"
        test_failed=$((test_failed + 1))
        return 1
    fi
}
diag() { sed 's/^/# /' | head -n 60; }
ok() {
    local text=$1
    shift
    if [ $# = 0 ]; then set -- true; fi
    if "$@" >"$OUT" 2>"$ERR"; then report 0 "$text"; else
        report 1 "$text"
        { echo "command: $*"; cat "$OUT" "$ERR"; } | diag
    fi
    keep_printed 0 "$@"
}
is() {
    if [ "$1" = "$2" ]; then report 0 "$3"; else
        report 1 "$3"
        printf 'got:  %s\nwant: %s\n' "$1" "$2" | diag
    fi
}
exits() {
    local want=$1 text=$2 got
    shift 2
    "$@" >"$OUT" 2>"$ERR"
    got=$?
    if [ $got = "$want" ]; then report 0 "$text"; else
        report 1 "$text"
        { echo "command: $*"; echo "exit code $got, want $want"; cat "$OUT" "$ERR"; } | diag
    fi
    keep_printed $got "$@"
}
like() {
    if grep -Eq -- "$2" "$1"; then report 0 "$3"; else
        report 1 "$3"
        { echo "no line matches: $2"; cat "$1"; } | diag
    fi
}
unlike() {
    local rc=0
    grep -Eq -- "$2" "$1" || rc=$?
    report "$((rc != 1))" "$3"
    [ $rc -eq 1 ] || { echo "a line matches, or there is no such file: $2"; cat "$1"; } | diag
}
skip_all() {
    [ "${test_n:-0}" = 0 ] || { skip "$1" "the rest" && done_testing; }
    echo "1..0 # skip $1"
    exit 0
}
skip() {
    test_n=$((test_n + 1))
    echo "ok $test_n - $2 # skip $1"
}
# t/run-tests checks all JSON that tests keep in $KEPT_JSON by one t/schemas.py: what `ok` and
# `exits` saw of --json, and up to KEPT files of each name that are there in the end, but
# those that only stand in for one: {"schema":1}.
KEPT=20 nprinted=0 broken=()
broken() { broken+=("$@"); }
keep_printed() { # CODE COMMAND...
    local code=$1 kind=${3:-} from=$OUT all=" ${*:2} "
    shift
    [[ -n ${KEPT_JSON:-} && $all == *' --json '* && ${1##*/} == unet* ]] || return 0
    case $kind in
    data | site | template | sandbox) kind+=-${3:-} ;;
    model) kind=model-info ;;
    report) if [[ $all == *' --predict '* ]]; then kind=predict; fi ;;
    esac
    if [[ $kind =~ report|predict && $all =~ ' --json '([^ -][^ ]*) ]]; then
        [ "$code" = 0 ] || return 0
        from=${BASH_REMATCH[1]}
    fi
    [ ! -s "$from" ] || cp "$from" "$KEPT_JSON/$kind.$((nprinted += 1)).json"
}
keep_files() {
    local file name names=() list=() not=()
    local -A nkept
    for name in {run,split,model,left,rounds,bandwidth,'rank-[0-9]*',report,extra-p}.json \
        {record,ledger}.jsonl DONE FAILED; do names+=(-o -name "$name"); done
    for file in ${broken[@]+"${broken[@]}"}; do not+=(! -path "./$file"); done
    while IFS= read -rd '' file; do
        name=${file##*/}
        nkept[$name]=$((${nkept[$name]:-0} + 1))
        [ "${nkept[$name]}" -gt $KEPT ] || list+=("$file")
    done < <(cd "$TMP" && find . -type f -size +15c \( "${names[@]:1}" \) "${not[@]}" -print0)
    [ ${#list[@]} -eq 0 ] || (cd "$TMP" && cp --parents -- "${list[@]}" "$KEPT_JSON")
}
# Polls every 0.1 s; a command that takes long, every 0.5 s, so that it keeps no core busy itself.
wait_until() { # SECONDS COMMAND...
    local end=$((SECONDS + $1)) begin ms
    shift
    while begin=${EPOCHREALTIME/[.,]/}; ! "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        ms=$(((${EPOCHREALTIME/[.,]/} - begin) * 8 / 1000))
        sleep 0.$((ms < 100 ? 100 : ms < 500 ? ms : 500))
    done
}
without_pictures() {
    mkdir -p "$TMP/no-pictures"
    printf '#!/bin/sh\nexit 1\n' >"$TMP/no-pictures/rsvg-convert"
    chmod +x "$TMP/no-pictures/rsvg-convert"
    PATH=$TMP/no-pictures:$PATH
}
with_pictures() { PATH=${PATH#"$TMP/no-pictures:"}; }
# What is in a folder of images, without names: hashes of the samples.
samples() { unet-train data check "$1" 2>/dev/null | cut -f 2- | sort; }
shared() { # PATH: fails when the shared data is absent
    [ -e "$UNETCTL_SHARED/$1" ]
}
# A file that calls a command which does not exist fails: what compares its output holds by chance.
command_not_found_handle() {
    echo "$1" | tee -a "$TMP/.unknown" | sed 's/$/: command not found/' >&2
    return 127
}
done_testing() {
    [ -z "${KEPT_JSON:-}" ] || keep_files
    [ ! -e "$TMP/.unknown" ] || is "$(cat "$TMP/.unknown")" "" "all commands of the test exist"
    echo "1..$test_n"
    [ $test_failed = 0 ]
    exit
}

# Returns whether the weights of two runs differ by at most $tolerance (root mean square, in each
# tensor).
difference() {
    "$builddir/trainer/checkpoint/test/checkpoint.t" "$1/checkpoint/weights.safetensors" \
        "$2/checkpoint/weights.safetensors"
}
close() { # RUN RUN
    local d
    d=$(difference "$1" "$2") || return 1
    echo "$d"
    awk -v d="${d%% *}" -v t="${tolerance:?}" 'BEGIN { exit !(d <= t) }'
}

# Writes run.json of a small training on ranks of one node, with data/ and split.json in $TMP.
write_run() { # FILE RANKS LR TIMEOUT_S
    cat >"$1" <<END
{"schema":1,"study":"t","study_id":"1","run":"unet-g0$2-s1","engine":"embedded","seed":1,
 "data":{"dir":"$TMP/data","split":"$TMP/split.json","height":32,"width":32,"channels":1,"repeat":1,
  "soft_masks":false,"remainder":"keep"},
 "model":{"name":"unet","base":4,"depth":2,"batch_norm":"local"},
 "train":{"epochs":2,"batch_per_gpu":4,"optimizer":"adam","lr":$3,"lr_scaling":"none","lr_schedule":"step",
  "backend":"auto","comm":"auto","threads":1,"bucket_mib":1,"timeout_s":$4},
 "layout":{"gpus":$2,"nodes":1,"tasks":$2,"tasks_per_node":$2,"gpus_per_task":1,"strategy":"multi-worker"}}
END
}

# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced after lib.sh, sandbox.sh and study.sh by tests that kill unetctl, its helper or sbatch, or
# stop sbatch, at a chosen system call of `submit --gpus 1..14`.
#
#   count_calls SITE [KILLAT OPTIONS]       how many there are; 0 if the submission failed
#   strata COUNT PARTS                      a random number in each of PARTS equal parts of 1..COUNT
#   kill_at_each SITE LANES [KILLAT OPTIONS] <NUMBERS
#                                           for each number, in a study of its own: kills at that
#                                           system call, submits again, and expects exactly those
#                                           jobs; several studies at a time; says what is wrong,
#                                           else nothing
#
# Sites: sandbox (jobs are held), one (likewise, with --one-allocation: one job for all) and local
# (each study has a queue of its own, whose first job hangs).

# These Slurms answer at once, so what they do not show may soon count as lost.
export UNETCTL_ABSENT_S=5 UNETCTL_SBATCH_S=10

killed_words() {
    case $1 in
    sandbox) echo "-- --hold" ;;
    one) echo "--one-allocation -- --hold" ;;
    esac
}
killed_count() { if [ "$1" = one ]; then echo 1; else echo 14; fi; } # SITE: jobs to expect
killed_jobs() { # SITE DIR: the tag of each job of the study, sorted
    local id comments=''
    id=$(cat "$2/.unetctl/id")
    if [ "$1" != local ]; then
        # shellcheck disable=SC2016 # expanded there
        wait_until 120 eval \
            'comments=$(login squeue -h -a -t all -o %k 2>/dev/null)' # a loaded Slurm gives no answer
        echo "$comments"
    else
        cat "$XDG_STATE_HOME"/unetctl/local/[0-9]*.json | sed -n 's/.*"tag": "\(.*\)",$/\1/p'
    fi | grep "^unetctl:$id:" | sort
}
killed_submit() { # SITE DIR [KILLAT AND ITS OPTIONS]
    local words
    read -ra words <<<"$(killed_words "$1")"
    "${@:3}" unetctl submit -C "$2" --gpus 1..14 ${words[@]+"${words[@]}"}
}
killed_study() { # SITE DIR
    [ -d "fresh-$1" ] || make_step_study "fresh-$1" "${1/one/sandbox}"
    if [ "$1" = local ]; then echo hang >fresh-local/behave; fi
    cp -r "fresh-$1" "$2"
}
count_calls() { # SITE [KILLAT OPTIONS]
    local site=$1 dir calls=0
    for _ in 1 2 3; do # a loaded Slurm may not answer in time
        dir=count-$RANDOM
        if [ "$site" = local ]; then local -x XDG_STATE_HOME=$TMP/$dir/state; fi
        killed_study "$site" $dir
        killed_submit "$site" $dir "${builddir:?}/t/killat" "${@:2}" -l $dir/calls 0 >$dir/out \
            2>&1 || cat $dir/out >&2
        if [ "$(killed_jobs "$site" $dir | uniq | wc -l)" = "$(killed_count "$site")" ]; then
            calls=$(cut -d' ' -f1 $dir/calls)
        fi
        if [ "$site" = local ]; then end_runners; fi
        if [ "$calls" != 0 ] || grep -q 'killat: ' $dir/out; then break; fi
    done
    echo "$calls"
}
end_runners() { # of the local queue's jobs
    local runner
    while read -r runner; do kill "$runner" 2>/dev/null; done < \
        <(cat "$XDG_STATE_HOME"/unetctl/local/[0-9]*.json |
        sed -n 's/.*"keeper": \([0-9]*\),$/\1/p' | sort -u)
}
kill_at() { # SITE N [KILLAT OPTIONS]
    local site=$1 n=$2 dir=killed-$BASHPID-$2 rc jobs want active
    if [ "$site" = local ]; then local -x XDG_STATE_HOME=$TMP/$dir/state; fi
    killed_study "$site" "$dir"
    killed_submit "$site" "$dir" "$builddir/t/killat" "${@:3}" -l "$dir/calls" "$n" >"$dir/out" 2>&1
    [ -s "$dir/calls" ] || sed 's/^/not traced: /' "$dir/out"
    # Busy: 4 (Slurm did not answer in time), 6 (the killed one's sbatch has the lock). Then once
    # more.
    for _ in 1 2 3 4 5; do
        killed_submit "$site" "$dir" >"$dir/again" 2>&1
        rc=$?
        if [ $rc != 4 ] && [ $rc != 6 ]; then break; fi
    done
    jobs=$(killed_jobs "$site" "$dir") want=$(killed_count "$site")
    active=14
    if [ "$site" = one ]; then
        wait_until 120 unetctl status -C "$dir"
        active=$(states "$dir" | grep -c PENDING)
    fi
    if [ "$rc $(wc -l <<<"$jobs") $(uniq <<<"$jobs" | wc -l) $active" != "0 $want $want 14" ]; then
        echo "killed at system call $n (number $(cut -d' ' -f2 "$dir/calls")) ${*:3}:" \
            "the next submit exits $rc, $(wc -l <<<"$jobs") jobs, $(uniq <<<"$jobs" | wc -l) tags, $active runs"
        sed 's/^/  killed: /' "$dir/out"
        sed 's/^/  again:  /' "$dir/again"
    fi
    if [ "$site" = local ]; then end_runners; fi
    wait_until 10 rm -rf "$dir" # a runner may still write while it ends
}
kill_at_each() { # SITE LANES [KILLAT OPTIONS]
    local site=$1 lanes=$2 n
    killed_study "$site" "warm-$RANDOM"
    while read -r n; do
        while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do wait -n; done
        kill_at "$site" "$n" "${@:3}" </dev/null &
    done
    wait
}
strata() { # COUNT PARTS
    local part width=$(($1 / $2))
    for ((part = 0; part < $2; part++)); do echo $((part * width + 1 + (RANDOM * 32768 + RANDOM) % \
        width)); done
}

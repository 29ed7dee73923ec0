#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several unetctl submit the same study at the same time: there are exactly the jobs of one of them.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 7 --gpus-per-node 2

jobs_of() { login squeue -h -a -t all -o %k | grep "^unetctl:$(cat "$1/.unetctl/id"):" | sort; }
submit() { unetctl submit -C "$@" -- --hold; }
# TEXT JOBS FIRST.. + SECOND..: starts both at the same time, in a new study, six times.
together() {
    local text=$1 jobs=$2 words first=() second=() pids rc i wrong=''
    shift 2
    words=("$@")
    while [ "${words[0]}" != + ]; do
        first+=("${words[0]}")
        words=("${words[@]:1}")
    done
    second=("${words[@]:1}")
    for i in 1 2 3 4 5 6; do
        rm -rf together
        cp -r fresh together
        submit together "${first[@]}" >first.out 2>&1 &
        pids=$!
        submit together "${second[@]}" >second.out 2>&1 &
        pids+=" $!"
        rc=''
        for pid in $pids; do
            wait "$pid"
            rc+=$?
        done
        if [ "$rc $(jobs_of together | wc -l) $(jobs_of together | uniq | wc -l)" != \
            "00 $jobs $jobs" ] ||
            [ "$(states together | grep -c PENDING)" != 14 ]; then
            wrong+="round $i: exit codes $rc, $(jobs_of together | wc -l) jobs; $(cat first.out second.out)"$'\n'
        fi
        login scancel -u "$(id -un)"
    done
    is "$wrong" "" "$text: $jobs"
}

make_step_study fresh sandbox
together "two submits of 14 runs" 14 --gpus 1..14 + --gpus 1..14
together "overlapping ones" 14 --gpus 1..10 + --gpus 1..14
together "with --one-allocation" 1 --gpus 1..14 --one-allocation + --gpus 1..14 --one-allocation

# Submits jobs and an allocation at the same time: the one that gets the lock first submits all
# runs.
cp -r fresh mixed
submit mixed --gpus 1..14 2>first.err &
pid=$!
exits 0 "one process submits jobs while another submits an allocation" \
    submit mixed --gpus 1..14 --one-allocation
cp "$ERR" second.err
wait $pid
is $? 0 "both succeed"
is "$(cat first.err second.err | grep -c '^unetctl: 14 runs submitted; before: 0 active')" 1 \
    "one of them submits all runs"
if grep -q '^unetctl: 14 runs submitted' first.err; then jobs=14; else jobs=1; fi
is "$(jobs_of mixed | wc -l)" "$jobs" "there are its jobs, and no other"
is "$(states mixed | grep -c PENDING)" 14 "all runs wait"
is "$(cat first.err second.err | grep -c '^unetctl: [0-9]* runs submitted;')" 2 \
    "both processes report how many runs they submitted"
login scancel -u "$(id -un)"

# Eight submits at the same time.
cp -r fresh eight
for i in 1 2 3 4 5 6 7 8; do
    submit eight --gpus 1..14 >"eight.$i" 2>&1 &
done
wait
is "$(jobs_of eight | wc -l) $(jobs_of eight | uniq | wc -l)" "14 14" "eight submits make 14 jobs"
is "$(cat eight.? | grep -c 'submitted as job')" 14 "each job is reported once"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Markers that this host sees some seconds late, as through NFS (t/late.c): a run whose job has
# ended is ENDED until its marker can be seen, and neither failed nor trained again.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 1 --gpus-per-node 2
unset UNETCTL_MARKER_S
late() { # SECONDS COMMAND...
    LATE=$1 LD_PRELOAD=$builddir/t/late.so ASAN_OPTIONS=verify_asan_link_order=0 "${@:2}"
}
interfaces=(commands)
if [ -x "$builddir/unetctl-slurm" ]; then interfaces+=(library); fi
has_marker() { [ -e "$1/runs/unet-g01-s1/attempt-1/$2" ]; } # STUDY MARKER
job_is_over() { ! login squeue -h -t PENDING,RUNNING,COMPLETING -o %j | grep -q "$1"; }

for interface in "${interfaces[@]}"; do
    export UNETCTL_SLURM_INTERFACE=$interface
    study=done-$interface
    make_step_study "$study" sandbox --name "$study"
    exits 0 "$interface: submit --wait succeeds with a late DONE" \
        late 6 unetctl submit -C "$study" --gpus 1 --wait --timeout 60
    like "$ERR" 'g01-s1: ENDED job [0-9]+.*: marker awaited: the job ended [0-9]+ s ago \(COMPLETED\)' \
        "$interface: it says what it waits for"
    study=failed-$interface
    make_step_study "$study" sandbox --name "$study"
    echo fail >"$study/behave"
    exits 1 "$interface: submit --wait fails with a late FAILED" \
        late 6 unetctl submit -C "$study" --gpus 1 --wait --timeout 60
    like "$ERR" 'g01-s1: ENDED .*: marker awaited: the job ended [0-9]+ s ago \(FAILED\)' \
        "$interface: it waits after a failure, too"
    like "$ERR" 'g01-s1: FAILED .*told to fail' "$interface: then it has the reason"
done

make_step_study later sandbox --name later
exits 0 "a run is submitted" unetctl submit -C later --gpus 1
has_marker_of_later() { has_marker later DONE && job_is_over later; }
ok "it ends" wait_until 30 has_marker_of_later
late 20 unetctl status -C later >"$OUT"
like "$OUT" 'g01-s1 +ENDED .*marker awaited' "status says that its marker is awaited"
exits 0 "resume" late 20 unetctl resume -C later
like "$ERR" 'no run needs to be resumed: 1 active' "resume leaves it alone"
exits 2 "resume of the run" late 20 unetctl resume -C later unet-g01-s1
like "$ERR" 'g01-s1 is ENDED, marker awaited' "the error says why"
late 20 unetctl collect -C later >"$OUT" 2>"$ERR"
like <(cat "$OUT" "$ERR") 'its job has ended: marker awaited' "collect awaits it, too"
exits 0 "submit" late 20 unetctl submit -C later --gpus 1
like "$ERR" '0 runs submitted; before: 1 active' "submit leaves it alone"
exits 0 "watch" late 20 unetctl watch -C later --timeout 60
is "$(states later | xargs) $(find later/runs -name 'attempt-*' | wc -l)" "unet-g01-s1 COMPLETED 1" \
    "it trained once"
done_testing

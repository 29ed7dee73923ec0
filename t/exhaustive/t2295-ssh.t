#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A study on another host with a real Slurm: connections killed in submit leave one job per run.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
# shellcheck source=t/killed.sh
. "$srcdir/t/killed.sh"
# shellcheck source=t/sshd.sh
. "$srcdir/t/sshd.sh"
sshd_up
export XDG_STATE_HOME=$there/state
sandbox_up --nodes 2
make_step_study lap sandbox --ssh "cluster:~/s"
cp lap/split.json "$there/s"
submit="unetctl submit -C lap --gpus 1..4 --seeds 6 -- --hold" codes=
for _ in 1 2 3 4; do
    # shellcheck disable=SC2086 # a list of words
    sshd_cut lap "$there/s" $submit
    codes+="$? "
    sshd_cut lap "$there/s" script -qec "$submit" tty.out </dev/null
    codes+="$? "
done
echo "# exit codes $codes"
like <(echo "$codes") 4 "connections died in submit, which exits with 4"
is "${codes//[04] /}" '' "... and with no other code"
# shellcheck disable=SC2086
exits 0 "submit succeeds after that" $submit
tags=$(killed_jobs sandbox "$there/s")
is "$(wc -l <<<"$tags") $(uniq <<<"$tags" | wc -l)" "24 24" "each run has one job"
done_testing

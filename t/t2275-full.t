#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A cluster with no room for more jobs (MaxJobCount): what fits is submitted once; the rest is left
# and submitted later. With Slurm's commands this takes 6 minutes, because sbatch itself retries for
# 2.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"

export UNETCTL_SLURM_INTERFACE=${UNETCTL_SLURM_INTERFACE:-library}
[ "$UNETCTL_SLURM_INTERFACE" != library ] || [ -x "$builddir/unetctl-slurm" ] ||
    skip_all "built without libslurm"
sandbox_up --nodes 2
conf=$XDG_STATE_HOME/unetctl/sandbox/etc/slurm.conf
room=6 # those before 26.05 take one less
case $(login sinfo --version) in *' 2'[2-5].*) ;; *) room=5 ;; esac
echo "MaxJobCount=$room" >>"$conf"
ok "the controller is limited to 5 jobs" sandbox_restart_controller 2
make_study full sandbox
tags() { login squeue -h -a -t all -o %k | sort; }
words=(-C full --gpus 1..4 --set seeds=2 -- --hold)
limit="MaxJobCount=$room; those that ended count for MinJobAge=600"
exits 4 "submit of more runs fails" unetctl submit "${words[@]}"
like "$ERR" "^unetctl: error: 3 runs are left for later.*: Slurm: .*$limit" \
    "the error names the limit"
is "$(grep -c 'error:' "$ERR")" 1 "the error is one line"
is "$(tags | wc -l) $(tags | uniq | wc -l)" "5 5" "each run that fits has one job"
is "$(states full | grep -c PLANNED)" 3 "three runs are left"
exits 4 "submit again fails" unetctl submit "${words[@]}"
like "$ERR" "3 runs are left for later.*$limit" "the same runs are left"
is "$(tags | wc -l)" 5 "no other job is submitted"
make_study other sandbox
exits 4 "submit of a study without any room fails" unetctl submit -C other --gpus 1 -- --hold
like "$ERR" "1 run is left for later.*$limit" "its run is left"

sed -i '/^MaxJobCount=/d' "$conf"
ok "the controller allows more jobs" sandbox_restart_controller 2
exits 0 "submit again succeeds" unetctl submit "${words[@]}"
is "$(tags | wc -l) $(tags | uniq | wc -l)" "8 8" "each run has one job"
done_testing

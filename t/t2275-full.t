#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A cluster with no room for more jobs (MaxJobCount): what fits is submitted, once; the rest is
# left, and follows. By Slurm's commands it takes 6 minutes: sbatch tries
# again by itself, for 2.
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
ok "a controller for 5 jobs" sandbox_restart_controller 2
make_study full sandbox
tags() { login squeue -h -a -t all -o %k | sort; }
words=(-C full --gpus 1..4 --set seeds=2 -- --hold)
limit="MaxJobCount=$room; those that ended count for MinJobAge=600"
exits 4 "submit more than there is room for" unetctl submit "${words[@]}"
like "$ERR" "^unetctl: error: 3 runs are left for later.*: Slurm: .*$limit" "names the limit"
is "$(grep -c 'error:' "$ERR")" 1 "in one line"
is "$(tags | wc -l) $(tags | uniq | wc -l)" "5 5" "one job for each run that fits"
is "$(states full | grep -c PLANNED)" 3 "three runs are left"
exits 4 "submit again" unetctl submit "${words[@]}"
like "$ERR" "3 runs are left for later.*$limit" "leaves the same"
is "$(tags | wc -l)" 5 "submits no other one"
make_study other sandbox
exits 4 "a study for which there is no room at all" unetctl submit -C other --gpus 1 -- --hold
like "$ERR" "1 run is left for later.*$limit" "is left whole"

sed -i '/^MaxJobCount=/d' "$conf"
ok "room for all" sandbox_restart_controller 2
exits 0 "submit again" unetctl submit "${words[@]}"
is "$(tags | wc -l) $(tags | uniq | wc -l)" "8 8" "one job for each run"
done_testing

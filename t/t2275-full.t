#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A cluster with no room for more jobs (MaxJobCount): what fits is submitted once; the rest is left
# and submitted later. sbatch itself would try again for two minutes.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"

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
SECONDS=0
exits 4 "submit of more runs fails" unetctl submit "${words[@]}"
took=$SECONDS
like "$ERR" "^unetctl: error: 3 runs are left for later.*: Slurm: .*$limit" \
    "the error names the limit"
is "$(grep -c 'error:' "$ERR")" 1 "the error is one line"
ok "it does not wait for sbatch, which tries again for two minutes" test $took -lt 60
is "$(tags | wc -l) $(tags | uniq | wc -l)" "5 5" "each run that fits has one job"
is "$(states full | grep -c PLANNED)" 3 "three runs are left"
exits 4 "submit again fails" unetctl submit "${words[@]}"
like "$ERR" "3 runs are left for later.*$limit" "the same runs are left"
is "$(tags | wc -l)" 5 "no other job is submitted"
make_study other sandbox
exits 4 "submit of a study without any room fails" unetctl submit -C other --gpus 1 -- --hold
like "$ERR" "1 run is left for later.*$limit" "its run is left"
exits 0 "cancel without an active run" unetctl cancel -C other --yes
like "$ERR" "what a submission left for later is given up" "gives it up"
exits 0 "another submission" unetctl submit -C full --gpus 1 -- --hold

sed -i '/^MaxJobCount=/d' "$conf"
ok "the controller allows more jobs" sandbox_restart_controller 2
exits 0 "watch submits nothing that was given up" unetctl watch -C other
is "$(tags | wc -l)" 5 "there is no other job"
exits 6 "watch submits what another submission has not completed" unetctl watch -C full --timeout 1
like "$ERR" "runs that were left for later are submitted: 'unetctl submit --gpus=1..4 --set=seeds=2 --study=full -- --hold'" \
    "it says what"
is "$(tags | wc -l) $(tags | uniq | wc -l)" "8 8" "each run has one job"
exits 0 "submit again succeeds" unetctl submit "${words[@]}"
ok "nothing is left" test ! -e full/.unetctl/left.json

# resume, also with another number of GPUs, waits for room and is repeated
exits 0 "two runs are cancelled" unetctl cancel -C full unet-g01-s1 unet-g02-s1
echo "MaxJobCount=$room" >>"$conf"
ok "the controller is limited again" sandbox_restart_controller 2
exits 4 "resume with more GPUs is refused" unetctl resume -C full --gpus 4 unet-g01-s1
like "$ERR" "^unetctl: error: 1 run is left for later.*$limit" "the error names the limit"
is "$(wc -l <"$ERR")" 1 "there is no other line"
like <(unetctl status -C full) '^unet-g01-s1 +PLANNED .*the scheduler refused it' \
    "the run is not called LOST"
exits 4 "resume without another number is refused, too" unetctl resume -C full unet-g02-s1
sed -i '/^MaxJobCount=/d' "$conf"
ok "the limit is gone" sandbox_restart_controller 2
exits 0 "submit finds both" unetctl submit -C full --gpus 1,2 -- --hold
like "$ERR" 'unet-g01-s1: PLANNED in attempt 2: the scheduler refused it, or one before it \(.unetctl resume unet-g01' \
    "submit leaves the run with its own size to resume"
like "$ERR" 'unet-g02-s1: submitted as job' "submit makes up for the other"
exits 0 "resume succeeds" unetctl resume -C full --gpus 4 unet-g01-s1 -- --hold
like <(unetctl status -C full) '^unet-g01-s1 +PENDING +[0-9]+ +4 ' "with the number asked for"
is "$(field full/runs/unet-g01-s1/run.json 'd["layout"]["gpus"]')" 1 "the run's own plan stays"
done_testing

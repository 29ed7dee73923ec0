#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The life of a study with --scheduler local: a short real training, then every way in which a run
# can end, with t/trainer.sh instead of the trainer.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"

# ---- a real study
ok "a data set is made" unetctl data synth --out "$TMP/real-data" --count 8 --size 32x32 --seed 1
ok "a study of it is made" \
    unetctl init real --full --data "$TMP/real-data" --site local --set data.height=32 \
    --set data.width=32 --set train.epochs=2 --set train.batch_per_gpu=2 --set model.base=2 \
    --set model.depth=2
exits 0 "submit --wait on 1 and 2 devices" unetctl submit -C real --gpus 1,2 --wait
like "$ERR" 'unet-g02-s1: COMPLETED' "each change of state is one line"
ok "the split is frozen" test -s real/split.json
exits 0 "status" unetctl status -C real
like "$OUT" 'unet-g02-s1 +COMPLETED.* 2/2 +IoU 0\.' "status shows epochs and IoU"
is "$(tail -n 1 "$OUT")" "2 done" "the last line counts the runs"
exits 0 "logs" unetctl logs -C real unet-g01-s1
like "$OUT" 'epoch 2/2' "logs prints the trainer's output"
run=real/runs/unet-g01-s1/attempt-1
mv $run/slurm-*.out kept.out
exits 7 "logs of a removed output" unetctl logs -C real unet-g01-s1
like "$ERR" 'has no output: no slurm-JOBID.out is in it any more' "says that it is gone"
mv kept.out "$run/slurm-$(cat "$run/job").out"
exits 0 "submit again" unetctl submit -C real --gpus 1,2
like "$ERR" '0 runs submitted; before: 0 active, 2 done' "submitting again does nothing"
sed -i 's/"training_time":[0-9.e-]*/"training_time":5400/' real/runs/unet-g02-s1/attempt-1/record.jsonl
exits 0 "plan with runs that are done" unetctl plan -C real --gpus 2,5 --seeds 2 -- --time=60
like "$OUT" '^unet-g02-s2 .* 1:30:00$' "the time of another seed is used"
like "$OUT" '^unet-g05-s1 .* -$' "that of another number of GPUs is not"
like "$OUT" '^measured by runs that are done: 2 of these runs train for 6\.0 GPU-hours$' \
    "the measured cost is summed"
like "$ERR" 'warning: the time limit \(60 min\) is shorter than the training with 2 GPUs took \(90 min\)' \
    "a time limit that is too short is reported"
exits 0 "plan with other settings" unetctl plan -C real --gpus 2 -s train.epochs=3 --json
is "$(field "$OUT" '"measured_s" in d["runs"][0]')" False "a run with other settings says nothing"
sed -i 's/strategy: auto/strategy: multi-worker/' real/study.yaml
if [ -n "$(command -v mpirun)" ] && unet-train devices --json | grep -q '"mpi"\]'; then
    exits 0 "3 ranks through mpirun" unetctl submit -C real --gpus 3 --wait
    like real/runs/unet-g03-s1/submit_file.sh 'mpirun .*-np 3 bash' "the script does not use srun"
else
    skip "no mpirun, or built without MPI" "3 ranks through mpirun"
fi
cp -r real real-moved
mv real/split.json kept.json
exits 0 "eval of a run of a study that was moved" unet-train eval -c real-moved/runs/unet-g01-s1 \
    --data "$TMP/real-data" --threads 1
like "$ERR" '7 of 8 images are training images of this run .*/split.json. and are left out' \
    "leaves out what it was trained on"
mv kept.json real/split.json
rm -r "$TMP/real-data/masks"
ok "a study of data without masks is made" cp -r real nomask
rm -rf nomask/split.json nomask/runs nomask/.unetctl
exits 7 "missing masks prevent the submission" unetctl submit -C nomask --gpus 1
ok "nothing was submitted" test ! -e nomask/.unetctl/ledger.jsonl

# ---- every end, with a stand-in
make_study study local
cd study || exit 255
ends() { # BEHAVIOUR COUNT STATE TEXT: what becomes of a run whose trainer behaves so
    echo "$1" >behave
    exits 1 "$1: submit --wait exits 1" unetctl submit --gpus "$2" --wait
    like <(states .) "unet-g0$2-s1 $3" "$1: status says $3"
    like <(unetctl status) "unet-g0$2-s1 .*$4" "$1: status says why"
}
ends fail 1 FAILED 'told to fail'
ends silent 2 FAILED 'without writing DONE'
ends crash 3 FAILED 'killed by signal 9: rank 0 of "C:\\x" is gone'
exits 0 "status --json" unetctl status --json
is "$(field "$OUT" '[r["exit_code"] for r in d["runs"]]')" "[5, 1, 137]" \
    "the JSON has the exit codes"

# ---- parts of a study, and several studies
exits 0 "status of a run" unetctl status unet-g02-s1
is "$(awk 'NR > 1' "$OUT" | cut -c 1-25)" "unet-g02-s1      FAILED  
1 failed" "it shows only that run"
exits 0 "status --state" unetctl status --state completed --state PENDING
is "$(cat "$OUT")" "3 failed" "no run is in these states; all are counted"
exits 2 "status of a state that does not exist" unetctl status --state RUNING
like "$ERR" "no run can be in this state; did you mean 'RUNNING'" "it names the nearest"
exits 2 "status of a run that does not exist" unetctl status unet-g02-s2
exits 0 "status of two studies" unetctl status ../real ../study
is "$(grep -c '^RUN ' "$OUT") $(tail -n 1 "$OUT")" "2 2 studies: $( [ -e ../real/runs/unet-g03-s1 ] && echo 3 || echo 2) done, 3 failed" \
    "each has a table, and the last line counts all"
exits 0 "status --json of two studies" unetctl status --json ../real ../study --state FAILED
is "$(field "$OUT" '[(s["study"], len(s["runs"])) for s in d["studies"]]')" \
    "[('real', 0), ('demo', 3)]" "it has both"
exits 2 "status of a study and a run" unetctl status ../real unet-g02-s1
echo 'x: [' >../broken.yaml && mkdir ../broken && mv ../broken.yaml ../broken/study.yaml
exits 3 "status of a study that cannot be read, and another" unetctl status ../broken ../real
like "$OUT" 'unet-g02-s1 +COMPLETED' "the other is shown"
like "$ERR" '^unetctl: error: \.\./broken: ' "the error names the study"

echo hang >behave
exits 0 "a run that hangs is submitted" unetctl submit --gpus 4
exits 0 "... and another one" unetctl submit --gpus 5
hangs() { grep -q hang runs/unet-g04-s1/attempt-1/*.out; } # the file is not there at once
ok "it is running" wait_until 60 hangs
exits 6 "submit --wait --timeout gives up" unetctl submit --gpus 4 --wait --timeout 1
like "$ERR" 'the jobs continue' "the message says that the jobs continue"
is "$(states . | grep g05)" "unet-g05-s1 PENDING" "the next run waits for its turn"
exits 0 "submit with options for jobs" unetctl submit --gpus 4,5 --after unet-g04-s1 \
    --max-in-flight 2 -s slurm.time=9 -- --nice=5
like "$ERR" 'warning: 2 runs are active and keep the options of their own submission; this call.s are only for new jobs: --set slurm.time=9 --max-in-flight 2 --after unet-g04-s1 --nice=5 \(.unetctl cancel RUN' \
    "options that do not reach active runs are named"
exits 0 "resume with options for jobs" unetctl resume --scheduler dry --max-in-flight 2 unet-g01-s1
unlike "$ERR" 'keep' "a run that is not named may keep its options"
exits 0 "release" unetctl release
like "$ERR" 'no job is held' "the local queue holds no jobs"
exits 2 "release of a run" unetctl release unet-g05-s1
like "$ERR" 'unet-g05-s1 is PENDING, and its job is not held' "it is waiting, not held"
exits 2 "release of an unknown run is refused" unetctl release unet-g99-s1
exits 0 "one run is cancelled" unetctl cancel unet-g05-s1
g05_ended() { states . | grep -q 'unet-g05-s1 CANCELLED'; }
ok "it ends" wait_until 20 g05_ended
exits 2 "cancel without names needs --yes in a pipe" unetctl cancel </dev/null
like "$ERR" "1 run of .* is active; name those .*'unetctl cancel --yes' for all" \
    "it says what to type"
if command -v script >/dev/null; then
    script -qec "unetctl cancel" tty.out <<<n >/dev/null
    is $? 1 "cancel asks on a terminal"
    like tty.out 'is active: unet-g04-s1\. Cancel it\? \[y/N\]' "the question names the run"
    like <(states .) 'unet-g04-s1 RUNNING' "the answer no cancels nothing"
    exits 0 "the answer yes" script -qec "unetctl cancel" tty.out <<<yes
else
    skip "script(1) is not installed" "cancel asks on a terminal"
fi
exits 0 "all runs are cancelled" unetctl cancel --yes
both_cancelled() { [ "$(states . | grep -c CANCELLED)" = 2 ]; }
ok "both are cancelled" wait_until 60 both_cancelled
exits 0 "cancel with nothing to cancel" unetctl cancel </dev/null
like "$ERR" 'no run is active' "it says so"
exits 2 "cancel of an unknown run is refused" unetctl cancel unet-g99-s1

exits 0 "submit skips runs without a result" unetctl submit --gpus 1..5
like "$ERR" "0 runs submitted.*5 without a result" "it counts them"
like "$ERR" "unet-g01-s1: FAILED in attempt 1.*unetctl resume" "it says what to type"
rm behave
exits 2 "resume of an unknown run is refused" unetctl resume unet-g1-s1
exits 3 "resume --max-gpu-hours without a time limit" unetctl resume --max-gpu-hours 1
exits 3 "resume of too much" unetctl resume --max-gpu-hours 4 unet-g01-s1 unet-g05-s1 -- --time=60
like "$ERR" 'cost 6\.0 GPU-hours .*, 2\.0 more than --max-gpu-hours 4; fewer RUNs would fit' \
    "the error says what would fit"
ok "nothing was submitted" test ! -e runs/unet-g01-s1/attempt-2
exits 2 "resume after a run that never had a job" unetctl resume unet-g01-s1 --after unet-g77-s1
exits 0 "one run is resumed after another" unetctl resume unet-g01-s1 --wait --after unet-g02-s1 \
    --max-gpu-hours 1 -- --time=60
like "$ERR" 'starts from the beginning' "it says that training starts from the beginning"
ok "attempt 2 is done" test -e runs/unet-g01-s1/attempt-2/DONE
ok "attempt 1 is unchanged" test -e runs/unet-g01-s1/attempt-1/FAILED
exits 2 "a run that is done is not resumed" unetctl resume unet-g01-s1
exits 0 "the other runs are resumed" unetctl resume --wait
ok "all runs are done" all_states . COMPLETED

# ---- the scheduler that has the job is asked, whichever is chosen for new ones
echo "slow 100" >behave
exits 0 "a run is submitted to the local queue" unetctl submit --gpus 10
exits 0 "submit to another scheduler" unetctl submit --gpus 10 --scheduler dry
like "$ERR" '0 runs would be submitted; before: 1 active' "the run is active, and not submitted again"
unlike "$ERR" 'no longer knows|LOST' "the job is not reported as lost"
exits 0 "the run is cancelled" unetctl cancel unet-g10-s1
rm -rf behave runs/unet-g10-s1

# ---- a run keeps the settings that it began with
echo fail >behave
exits 1 \
    "a run begins with settings of the command line" unetctl submit --gpus 8,9 -s train.epochs=7 \
    -s train.lr=0.002 --wait
exits 3 "submit without them is refused" unetctl submit --gpus 8
like "$ERR" "unet-g08-s1 has begun with other settings: train.epochs is 7, and .*study.yaml:[0-9]+ says 200 .*'unetctl resume'" \
    "the warning names the value and the setting that differs"
exits 2 "resume with another setting is refused" unetctl resume -s train.lr=0.5 unet-g08-s1
like "$ERR" 'error: --set train.lr: run unet-g08-s1 began with 0.002' "the error names the setting"
exits 0 "resume --scheduler dry" unetctl resume --scheduler dry -s slurm.time=1 unet-g08-s1
like "$ERR" 'unet-g08-s1: would be submitted \(8 GPUs' "it says that it submits nothing"
like "$ERR" '1 run would be resumed' "it counts what would be resumed"
like "$ERR" 'warning: the time limit \(1 min\) is not longer' "it warns of the time limit"
ok "it leaves no files" test ! -e runs/unet-g08-s1/attempt-2
exits 2 "resume with a setting of plans is refused" unetctl resume -s seeds=3 unet-g08-s1
rm behave
echo 'limit: {steps: 9}' >>study.yaml # a whole training stays one
exits 0 "resume with more time is accepted" unetctl resume -s slurm.time=7:00:00 unet-g08-s1 \
    --wait
like "$ERR" 'unet-g08-s1 continues with the settings it began with: train.epochs is 7, though .*study.yaml:[0-9]+ says 200; other settings' \
    "the warning says with which settings the run continues"
like runs/unet-g08-s1/submit_file.sh '--time=420' "the job has the new time limit"
ok "the plan of the first attempt is used" test ! -e runs/unet-g08-s1/attempt-2/run.json
sed -i '/^limit:/d' study.yaml

# ---- also where the study was moved, and its data
cd "$TMP" && mv study elsewhere && mv data data2
exits 0 "a run of a moved study is resumed" unetctl resume -C elsewhere -s data.dir=data2 \
    unet-g09-s1 --wait
like "$ERR" "the study was moved here from $TMP/study;" "it says that the study was moved"
is "$(field elsewhere/runs/unet-g09-s1/attempt-2/run.json 'd["data"]["split"], d["data"]["dir"], d["train"]["epochs"]')" \
    "('$TMP/elsewhere/split.json', '$TMP/data2', 7)" "the attempt has the files' new places"
exits 0 "submit in the moved study" unetctl submit -C elsewhere --gpus 1..5 -s data.dir="$TMP/data"
like "$ERR" '0 runs submitted; before: 0 active, 5 done' "it knows its runs"
unlike "$ERR" 'moved' "the move is reported only once"
mv elsewhere study && mv data2 data && cd study || exit 255

echo hang >behave
unetctl submit --gpus 6 --wait 2>watch.err &
pid=$!
ok "a watched run starts" wait_until 60 grep -q RUNNING watch.err
kill -s INT $pid
wait $pid
is $? 130 "Ctrl-C ends the watching with 130"
like watch.err 'the jobs continue' "the message says that the jobs continue"
like <(states .) 'unet-g06-s1 RUNNING' "the job continues"
exits 0 "the run is cancelled" unetctl cancel --yes
exits 1 "watch reports the end" unetctl watch unet-g06-s1

# ---- progress in a pipe
echo "slow 200" >behave
exits 0 "a long run is submitted" unetctl submit --gpus 11
exits 0 "another one is submitted behind it" unetctl submit --gpus 12
exits 6 "watch --every in a pipe" unetctl watch unet-g11-s1 unet-g12-s1 --every 1 --timeout 4
like "$ERR" 'unet-g11-s1: epoch [0-9]+/200  loss 0\.4000  0\.5 s/epoch  [0-9]+ (s|min) left$' \
    "a line of each running run, with the time left"
like "$ERR" '^unetctl: 1 running, 1 pending; [0-9]+ (s|min) left for those running$' "and one of all"
unlike "$ERR" 'unet-g12-s1: (epoch|starting)' "a run that waits has none"
like <(unetctl status unet-g11-s1) '^1 running; [0-9]+ (s|min) left$' "status has the time left, too"
exits 0 "they are cancelled" unetctl cancel unet-g11-s1 unet-g12-s1
if command -v script >/dev/null; then
    rm behave
    script -qec "TERM=xterm NO_COLOR=1 unetctl submit --gpus 7 --wait" tty.out </dev/null >/dev/null
    like tty.out 'unet-g07-s1 +COMPLETED +\[####' "a terminal gets progress bars"
    unlike tty.out $'\033\\[3[0-9]m' "NO_COLOR turns colours off"
else
    skip "script(1) is not installed" "a terminal gets bars"
fi
done_testing

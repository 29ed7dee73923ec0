#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --one-allocation: all runs of a study as steps of one job of a real Slurm.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
sandbox_up --nodes 7 --gpus-per-node 2
gone() { [ -z "$(login squeue -h)" ]; }
jobs_of() { login squeue -h -a -t all -o '%i %k' | grep -c "unetctl:$(cat "$1/.unetctl/id"):"; }

# ---- what it costs and looks like, before
make_step_study all sandbox
exits 0 "plan --one-allocation works" unetctl plan -C all --gpus 1..14 --one-allocation --json
is "$(field "$OUT" 'd["allocation"]["nodes"], d["allocation"]["gpus"], d["allocation"]["gpu_hours"]')" "(7, 14, 14.0)" \
    "the plan is one job of 7 nodes and 14 GPUs"
exits 3 "a budget below the allocation is refused" unetctl submit -C all --gpus 1..14 \
    --one-allocation \
    --max-gpu-hours 13
exits 0 "a budget of the allocation is accepted" \
    unetctl submit -C all --gpus 1..14 --one-allocation --max-gpu-hours 14 \
    --dry-run
like "$OUT" '^==> .unetctl/allocation-1/submit_file.sh \(new\)' "dry run shows the job's script"
like "$OUT" '^    "14 unet-g14-s1 1"$' "the script starts with the largest run"
exits 2 "--max-in-flight with --one-allocation is refused" \
    unetctl submit -C all --one-allocation --max-in-flight 2

# ---- all counts; two fail, and do not stop the others
mkdir -p all/runs/unet-g05-s1 all/runs/unet-g09-s1
echo fail >all/runs/unet-g05-s1/behave
echo crash >all/runs/unet-g09-s1/behave
mkdir -p all/runs/unet-g03-s1
echo nompi >all/runs/unet-g03-s1/behave
exits 1 "submit --one-allocation --wait" unetctl submit -C all --gpus 1..14 \
    --one-allocation --wait --timeout 300
like "$ERR" '14 runs submitted as job [0-9]+ \(7 nodes, 14 GPUs; allocation-1\)' \
    "it reports the job"
is "$(jobs_of all)" 1 "there is one job"
is "$(states all | awk '{ print $2 }' | sort | uniq -c | xargs)" "12 COMPLETED 2 FAILED" \
    "12 runs are done, and 2 have failed"
ok "the job ends after its last run's marker" wait_until 30 \
    gone # until then the output is not complete
is "$(grep -h -c 'trainer: good' all/runs/*/attempt-1/slurm-*.out | paste -sd' ')" \
    "1 1 3 4 0 6 7 8 0 10 11 12 13 14" "each run has as many ranks as planned and its own output"
like <(cat all/.unetctl/allocation-1/slurm-*.out) 'g13-s1 starts on 13 of 14' \
    "the run on 13 GPUs starts when the run on 14 GPUs has ended"
like <(cat all/.unetctl/allocation-1/slurm-*.out) 'g01-s1 starts on 1 of 1' \
    "a run on 1 GPU starts beside the run on 13 GPUs"
like <(cat all/.unetctl/allocation-1/slurm-*.out) 'g09-s1/attempt-1 ended with exit code [1-9]' \
    "the output of the job says how each run ended"
like <(cat all/runs/unet-g03-s1/attempt-1/slurm-*.out) \
    "g03-s1: the ranks start once more: .*MPI did not come up" \
    "ranks whose MPI did not start are started again, and the reason is printed"
good() { grep -h "trainer: good, $1" all/runs/*/attempt-1/slurm-*.out |
    grep -o 'node[0-9]:[0-9]*'; }
is "$(good rank | sort -u | wc -l)" "$(good 'rank 0,' | wc -l)" "each run has its own addresses"
exits 0 "submit again succeeds" unetctl submit -C all --gpus 1..14 --one-allocation
like "$ERR" '0 runs submitted; before: 0 active, 12 done, 2 without a result' "it does nothing"
rm all/runs/*/behave
exits 0 "resume --one-allocation --wait" unetctl resume -C all --one-allocation --wait
ok "all runs are done" all_states all COMPLETED
is "$(jobs_of all) $(find all/runs -name attempt-2 | wc -l)" "2 2" \
    "there is one more job, with two attempts"

# ---- the trainer itself, two runs at a time
ok "a data set is made" unetctl data synth --out "$TMP/images" --count 8 --size 32x32 --seed 1
ok "a study of it is made" \
    unetctl init real --data "$TMP/images" --site sandbox --set data.height=32 \
    --set data.width=32 --set train.epochs=2 --set train.batch_per_gpu=2 --set model.base=2 \
    --set model.depth=2
if login srun --mpi=list 2>&1 | grep -q '\<pmix$'; then
    exits 0 \
        "runs of the trainer on 1, 2, 3 and 5 GPUs succeed" unetctl submit -C real --gpus 1..3,5 \
        --one-allocation --wait --timeout 300
    exits 0 "collect works" unetctl collect -C real
    is "$(cut -d, -f2 real/logs/results.csv | wc -l)" 5 "all four runs have results"
else
    exits 3 "MPI without PMIx is refused" unetctl submit -C real --gpus 1..3,5 --one-allocation
    like "$ERR" 'by srun, which has no PMIx' "the error says that this srun has no PMIx"
fi

# ---- turns, cancelling
make_step_study turns sandbox
echo "slow 300" >turns/behave
exits 0 "three runs that must take turns are submitted" \
    unetctl submit -C turns --gpus 11,13,14 --one-allocation
job=$(cat turns/runs/unet-g14-s1/attempt-1/job 2>/dev/null)
runs() { states turns | grep -q 'g14-s1 RUNNING'; }
ok "the largest is running" wait_until 30 runs
is "$(states turns | xargs)" "unet-g11-s1 PENDING unet-g13-s1 PENDING unet-g14-s1 RUNNING" \
    "the runs that do not fit now are pending"
like <(unetctl status -C turns) 'g13-s1.*waits for its turn in job [0-9]' \
    "status says which job the others wait for"
exits 0 "a run that waits is cancelled" unetctl cancel -C turns unet-g13-s1
like "$ERR" 'unet-g13-s1 leaves job' "it leaves the job"
is "$(states turns | grep g13)" "unet-g13-s1 CANCELLED" "it is CANCELLED"
exits 0 "the run that is running is cancelled" unetctl cancel -C turns unet-g14-s1
next() { states turns | grep -q 'g11-s1 RUNNING'; }
ok "the remaining run starts" wait_until 60 next
is "$(states turns | xargs)" "unet-g11-s1 RUNNING unet-g13-s1 CANCELLED unet-g14-s1 CANCELLED" \
    "the cancelled runs stay cancelled, and the remaining run starts"
ok "the cancelled run has a checkpoint" test -s turns/runs/unet-g14-s1/attempt-1/checkpoint/epoch
says() { unetctl logs -C turns unet-g11-s1 | grep -q 'trainer: slow, rank 10,'; }
ok "logs prints the run's own output" wait_until 30 says
exits 0 "the last run is cancelled" unetctl cancel -C turns unet-g11-s1
ok "the job ends" wait_until 60 gone

# ---- time runs out
make_step_study night sandbox
echo "slow 25" >night/behave
exits 0 \
    "two runs that take turns are submitted" unetctl submit -C night --gpus 13,14 --one-allocation
trains() { [ "$(cat "night/runs/unet-g14-s1/attempt-1/checkpoint/epoch" 2>/dev/null || echo 0)" \
    -ge 2 ]; }
ok "the larger run trains" wait_until 60 trains
job=$(cat night/runs/unet-g14-s1/attempt-1/job)
ok "the job gets USR1, as before its time limit" login scancel --signal=USR1 --batch "$job"
waits() { [ "$(job_state "$job")" = PENDING ]; }
ok "the job is requeued" wait_until 60 waits
sandbox_start_requeued
exits 0 "it completes both runs" unetctl watch -C night --timeout 200
like <(cat night/runs/unet-g14-s1/attempt-1/slurm-*.out) \
    'resumes after [0-9]+ epochs of attempt-1' "the run continues from its checkpoint"
make_step_study short sandbox --set slurm.requeues=0
echo "slow 300" >short/behave
exits 0 \
    "a job that is not requeued is submitted" unetctl submit -C short --gpus 13,14 --one-allocation
trains() { [ "$(cat "short/runs/unet-g14-s1/attempt-1/checkpoint/epoch" 2>/dev/null || echo 0)" \
    -ge 2 ]; }
ok "one run trains" wait_until 60 trains
login scancel --signal=USR1 --batch "$(cat short/runs/unet-g14-s1/attempt-1/job)"
short=$(cat short/runs/unet-g14-s1/attempt-1/job)
exits 1 "the job ends without results" unetctl watch -C short --timeout 120
like <(unetctl status -C short) 'g14-s1 +FAILED.*stopped with a checkpoint' \
    "one run has a checkpoint"
like <(unetctl status -C short) 'g13-s1 +SKIPPED.*ended \(FAILED\) before its turn' \
    "the run that had not started is skipped"
rm short/behave
exits 0 "each run is resumed as a job of its own" unetctl resume -C short -- --hold
exits 0 "the job of all, if it started again, has nothing to do" \
    env SLURM_JOB_ID="$short" bash short/.unetctl/allocation-1/submit_file.sh
is "$(find short/runs -path '*attempt-2/*' | wc -l)" 0 "it leaves the second attempts alone"
login scontrol release "$(login squeue -h -o %i | paste -sd,)"
exits 0 "they are done" unetctl watch -C short --timeout 120
like short/runs/unet-g14-s1/run_file.sh '--resume attempt-1' "it resumes from the checkpoint"

# ---- a controller that is killed and has forgotten a step
make_step_study forgetful sandbox
# This id lets the runs of the seeds follow in the seeds' order.
mkdir forgetful/.unetctl && echo 1000000000000017 >forgetful/.unetctl/id
echo "slow 50" >forgetful/behave
for seed in 4 5; do
    mkdir -p "forgetful/runs/unet-g01-s$seed"
    echo good >"forgetful/runs/unet-g01-s$seed/behave"
done
exits 0 "five runs on two GPUs are submitted" \
    unetctl submit -C forgetful --gpus 1 --seeds 5 --one-allocation
says_slow() { grep -qs 'trainer: slow' "forgetful/runs/unet-g01-s$1/attempt-1"/slurm-*.out; }
both() { says_slow 1 && says_slow 2; }
ok "two are running" wait_until 30 both
signal() { # SIGNAL SEED...: so that the runs do not end meanwhile
    local seed
    for seed in "${@:2}"; do
        sandbox_pgrep "$TMP/forgetful/runs/unet-g01-s$seed" -f '[t]rainer.sh' |
            login xargs kill -s "$1"
    done
}
signal STOP 1 2
touch stamp
login scancel "$(login sbatch --parsable --hold -o /dev/null --wrap true)" # a change to save
saved=$XDG_STATE_HOME/unetctl/sandbox/state
is_saved() { [ "$saved/job_state" -nt stamp ]; }
ok "the controller saves its state" wait_until 30 is_saved
cp -a "$saved" saved
signal CONT 1 2
exits 0 "one is cancelled" unetctl cancel -C forgetful unet-g01-s1
ok "the next one starts" wait_until 30 says_slow 3
signal STOP 3
login pkill -KILL -F "$sandbox_controller"
login bash -c "while pgrep -F $sandbox_controller; do sleep 0.05; done" >"$OUT"
rm -rf "$saved" && cp -a saved "$saved"
login slurmctld -i
knows() { grep -q 'g01-s3 runs, but Slurm, restarted, does not list its step: nothing else starts' \
    forgetful/.unetctl/allocation-1/slurm-*.out; }
ok "the job notices the step that Slurm has forgotten" wait_until 60 knows
signal CONT 3
exits 1 "the other runs end" unetctl watch -C forgetful --timeout 200
is "$(states forgetful | awk '{ print $2 }' | xargs)" "CANCELLED COMPLETED COMPLETED COMPLETED COMPLETED" \
    "they are done"
cat forgetful/.unetctl/allocation-1/slurm-*.out >output
like output 'g01-s1 has ended, but Slurm, restarted, lists its step [0-9.]+, which is cancelled' \
    "it notices the step that Slurm takes for running"
is "$(sed -n 's/.*unet-g01-\(s[345]\)[^ ]* \(starts\|ended\) .*/\1 \2/p' output | head -n 3 | xargs)" \
    "s3 starts s3 ended s4 starts" "no run starts beside the forgotten one"
is "$(cat forgetful/runs/unet-g01-s[2-5]/attempt-1/slurm-*.out | grep -c 'trainer: ')" 4 \
    "each run trained once"

# ---- a folder whose name a shell would like to read
odd="it's 50% \$(touch pwned) é"
make_step_study "$odd" sandbox
exits 0 "runs in a folder with an odd name succeed" unetctl submit -C "$odd" --gpus 1,3 \
    --one-allocation --wait --timeout 60
ok "the folder's name is not executed" test ! -e pwned -a ! -e "$odd/pwned"

# ---- exactly once
RANDOM=${SEED:-20261121}
make_step_study killed sandbox
for _ in $(seq 15); do
    unetctl submit -C killed --gpus 1..14 --one-allocation -- --hold 2>/dev/null &
    pid=$!
    sleep "0.$(printf %03d $((RANDOM % 100)))"
    kill -s KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
done
exits 0 "a last submit after 15 killed ones succeeds" unetctl submit -C killed --gpus 1..14 \
    --one-allocation -- --hold
is "$(jobs_of killed)" 1 "there is one job"
: >killed/.unetctl/ledger.jsonl
exits 0 "submit with an emptied ledger succeeds" \
    unetctl submit -C killed --gpus 1..14 --one-allocation -- --hold
like "$ERR" '0 runs submitted; before: 14 active' \
    "the job is found by its tag, and its runs by its list"
is "$(jobs_of killed)" 1 "there is still one job"

# ---- refused
make_study here local
exits 2 "--one-allocation with the local queue is refused" unetctl submit -C here --one-allocation
like "$ERR" 'needs Slurm' "the error says that it needs Slurm"
make_study mpirun sandbox
sed -i 's/^launcher:.*/launcher: mpirun -np {{tasks}}/' mpirun/site.yaml
exits 3 "a launcher other than srun is refused" unetctl submit -C mpirun --gpus 1 --one-allocation
like "$ERR" 'launcher.* is srun' "the error says so"
make_step_study tagged sandbox
mkdir tags
printf '#!/bin/bash\npython3 tag_program2 tag_epoch\n' >tags/run_file.sh
printf '#!/bin/bash\n#SBATCH --nodes=tag_node --ntasks-per-node=tag_task\nbash script.sh\n' \
    >tags/submit_file.sh
exits 3 "templates with tags are refused" unetctl submit -C tagged --gpus 1,2 --templates tags \
    --one-allocation
like "$ERR" 'tags: templates with the .* tags start their own ranks' "the error says why"
is "$(jobs_of tagged) $(find tagged/.unetctl -name 'allocation*' | wc -l)" "0 0" \
    "no job and no allocation are made"
is "$(sandbox_pgrep "$TMP" -f '[t]rainer.sh')" "" "no process is left"
done_testing

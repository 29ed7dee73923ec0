#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The helpers that query Slurm by its commands and by libslurm, with a real Slurm: every operation,
# refusals, and how unetctl chooses between the helpers.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

sandbox_up --nodes 3
helpers=(unetctl-slurm-commands)
if [ -x "$builddir/unetctl-slurm" ]; then helpers+=(unetctl-slurm); fi

ask() { printf '%s\n' "$@" | login "$builddir/$helper"; }
# Prints members of the last line of JSON in $OUT, or of the only result of a submission.
member() {
    tail -n 1 "$OUT" |
        python3 -c 'import json,sys; a = json.load(sys.stdin); a = a["results"][0] if "results" in a else a
print(eval("a" + sys.argv[1], {"a": a}))' "$1"
}
job() { # OP TAG NODES TASKS [MEMBERS]
    local open='"job":{' close='}'
    if [ "$1" = submit ]; then open='"jobs":[{' close='}]'; fi
    printf '{"op":"%s",%s"tag":"%s","comment":"%s","name":"job","script":"%s","work_dir":"%s","output":"%s","nodes":%d,"tasks":%d,"gpus_per_task":1,"cpus_per_task":1%s,"words":[%s]%s}' \
        "$1" "$open" "$2" "$2" "$TMP/script" "$TMP" "$TMP/%j.out" "$3" "$4" "${5:+,$5}" "$(words "$@")" \
        "$close"
}
# Prints the same job as sbatch's words, with $gpu_words for its GPUs.
words() {
    local word extra=${5-}
    printf '"--job-name=job","--comment=%s","--chdir=%s","--output=%s","--nodes=%d","--ntasks=%d","--cpus-per-task=1",%s' \
        "$2" "$TMP" "$TMP/%j.out" "$3" "$4" "${gpu_words:-\"--gpus-per-task=1\"}"
    for word in ${extra//\",\"/\" \"}; do
        case $word in
        *gres* | *by_sbatch*) ;;
        *hold*) printf ',"--hold"' ;;
        *time_min*) printf ',"--time=%d"' "${word##*:}" ;;
        *mem_mib*) printf ',"--mem=%d"' "${word##*:}" ;;
        *)
            # shellcheck disable=SC2001 # no such substitution
            printf ',%s' "$(sed 's/^"\([a-z]*\)":"\(.*\)"$/"--\1=\2"/' <<<"$word")"
            ;;
        esac
    done
}
refused() { # REQUEST PATTERN TEXT
    ask "$1" >"$OUT" 2>"$ERR"
    is "$(member '["ok"]')" False "refused: $3"
    like "$OUT" "$2" "the refusal says why"
}

test_requests() {
    rm -f "$TMP/script"
ok "ping is answered" ask '{"op":"ping"}'
is "$(member '["cluster"]')" sandbox "the answer names the cluster"
ok "partitions is answered" ask '{"op":"partitions"}'
is "$(member '["partitions"][0]')" \
    "{'name': 'main', 'default': True, 'up': True, 'nodes': 3, 'unseen': 0, 'away': 0, 'gpus_per_node': 2, 'cpus_per_node': 4, 'max_time_min': 0}" \
    "the answer has the sizes of the partition"

refused 'no JSON' "not JSON" "what is not JSON"
refused '{"op":"dance"}' "unknown op" "an unknown operation"
refused '{}' 'no ..op' "a request without one"
refused '{"op":"submit"}' 'needs ..jobs' "a submission without jobs"
refused '{"op":"submit","jobs":[{}]}' 'no ..tag' "a job without members"
refused "$(job submit x 0 1)" "nodes" "no nodes"
refused "$(job submit x 1 1)" "script: No such file" "a script that is not there"
echo "echo hello" >"$TMP/script"
refused "$(job submit x 1 1)" "#!" "a script without interpreter"
cat >"$TMP/script" <<'END'
#!/bin/bash
#SBATCH --job-name=job --comment=x --nodes=2 --ntasks=3 --cpus-per-task=1 --gpus-per-task=1
env | sort >"env.$SLURM_JOB_ID"
END

for op in check submit; do
    refused "$(job $op x 4 7)" "ok.:false" "$op: too many nodes"
    refused "$(job $op x 1 3)" "code.:9,.*not available; .*gpu_type" "$op: too many GPUs per node"
    refused "$(job $op x 2 3 '"partition":"nope"')" "partition" "$op: an unknown partition"
    refused "$(job $op x 2 3 '"partition":"short","time_min":11')" "ok.:false" "$op: too long"
    refused "$(job $op x 2 3 '"mem_mib":999000')" "not available; .*slurm.mem" "$op: too much memory"
    refused "$(job $op x 2 3 '"constraint":"h200"')" "feature" "$op: an unknown feature"
    refused "$(job $op x 4 7 '"partition":"main,short"')" "ok.:false" \
        "$op: too much for any of two partitions"
done
is "$(login squeue -h)" "" "none of these jobs was queued"

login scontrol update nodename=node3 state=drain reason=test
refused "$(job check x 3 5)" "code.:9," "a job that no nodes could run"
ok "a job that must wait for a drained node is checked" ask \
    "$(job check x 3 5 | sed 's/^{/{"away":1,/')"
is "$(member '["ok"]')" True "it is not refused"
login scontrol update nodename=node3 state=resume

# The same job through the helper and by hand has the same environment and GPUs: each rank has its
# own of three on two nodes, or those of its node. No other job gets them while it runs.
export MARK="it's \"here\"" SLURM_NODEID=stale OMPI_MCA_plm_slurm_args=--external-launcher
own='^(SLURM_JOB_(ID|SLUID|START_TIME|END_TIME)|SLURM_JOBID|SLURM_TASK_PID|SHLVL|OLDPWD|PWD|_)='
has_file() { [ -s "$1" ]; }
waits_for_resources() { [ "$(login squeue -h -j "$1" -o '%T %r')" = 'PENDING Resources' ]; }
same_by_hand() { # TAG TASKS MEMBERS GPUS-OF-RANKS SRUN-OPTIONS SBATCH-OPTIONS...; sets id
    local tag=$1 tasks=$2 members=$3 gpus=$4 step=$5 hand other gpu_words
    shift 5
    gpu_words=$(printf '"%s",' "$@")
    gpu_words=${gpu_words%,}
    cat >"$TMP/script" <<END
#!/bin/bash
#SBATCH --job-name=job --comment=x --open-mode=append --nodes=2 --ntasks=$tasks --cpus-per-task=1 $*
env | sort >"env.\$SLURM_JOB_ID"
scontrol --details show job "\$SLURM_JOB_ID" >"job.\$SLURM_JOB_ID"
srun --ntasks=$tasks $step bash -c 'echo "\$SLURMD_NODENAME:\$CUDA_VISIBLE_DEVICES"' | sort >"gpus.\$SLURM_JOB_ID"
while [ -e hold ]; do sleep 0.1; done
END
    touch "$TMP/hold"
    ok "submit: $tasks GPUs, $*" ask "$(job submit "$tag" 2 "$tasks" "$members")"
    id=$(member '["id"]')
    ok "the job's steps run" wait_until 60 has_file "$TMP/gpus.$id"
    is "$(xargs <"$TMP/gpus.$id")" "$gpus" "every rank has its GPUs"
    is "$(grep -o 'JOB_GRES=gpu:[0-9]*' "$TMP/job.$id")" "JOB_GRES=gpu:$tasks" \
        "the job has as many GPUs as it asked for"
    ok "another job for all GPUs of two nodes is submitted" ask \
        "$(job submit unetctl:other:run:1 2 4 "$members")"
    other=$(member '["id"]')
    ok "it waits" wait_until 20 waits_for_resources "$other"
    login scancel "$other"
    rm "$TMP/hold"
    is "$(wait_job "$id" 60)" COMPLETED "the first job ends"
    hand=$(cd "$TMP" && login sbatch --parsable -o "$TMP/hand.out" script)
    wait_job "$hand" 60 >"$OUT"
    grep -Ev "$own" "$TMP/env.$id" >"$TMP/env.helper"
    grep -Ev "$own" "$TMP/env.$hand" >"$TMP/env.hand"
    ok "the job has the environment that sbatch gives" diff "$TMP/env.hand" "$TMP/env.helper"
}
same_by_hand "unetctl:$helper-gres:run:1" 4 '"gres":true' \
    'node1:0,1 node1:0,1 node2:0,1 node2:0,1' '' --ntasks-per-node=2 --gres=gpu:2
[ "$helper" = unetctl-slurm-commands ] ||
    same_by_hand "unetctl:$helper-sbatch:run:1" 4 '"by_sbatch":true' \
        'node1:0,1 node1:0,1 node2:0,1 node2:0,1' '' --ntasks-per-node=2 --gpus-per-node=2
same_by_hand "unetctl:$helper:run:1" 3 '' 'node1:0 node1:1 node2:0' --gpus-per-task=1 \
    --gpus-per-task=1
like "$TMP/env.helper" "^MARK=it's \"here\"" "it has the submitter's variables"
like "$TMP/env.helper" "^SLURM_NODEID=0" "it does not have those of another job"
ok "its output is in the requested file" test -e "$TMP/$id.out"

printf '#!/bin/bash\nkill -SEGV $$\n' >"$TMP/script"
ask "$(job submit unetctl:"$helper":run:2 1 1)" \
    "$(job submit unetctl:"$helper":run:3 1 1 '"hold":true')" >"$OUT"
killed=$(head -n 1 "$OUT" | grep -o '[0-9]*')
held=$(member '["id"]')
wait_job "$killed" 60 >"$OUT"
ok "jobs are queried by prefix" ask "{\"op\":\"query\",\"tag_prefix\":\"unetctl:$helper:\"}"
is "$(member '["jobs"].__len__()')" 3 "three jobs are found"
is "$(member '["jobs"][0]["state"]') $(member '["jobs"][0]["exit_code"]')" "COMPLETED 0" \
    "the first is a job that succeeded"
is "$(member '["jobs"][1]["state"]') $(member '["jobs"][1]["signal"]')" "FAILED 11" \
    "the second is a job that was killed"
is "$(member '["jobs"][2]["state"]') $(member '["jobs"][2]["reason"]')" "PENDING JobHeldUser" \
    "the third is a job that waits, with the reason"
ok "jobs are queried by id" ask "{\"op\":\"lookup\",\"ids\":[\"$id\",\"4000000\"]}"
is "$(member '["jobs"][0]["tag"]') $(member '["jobs"].__len__()')" "unetctl:$helper:run:1 1" \
    "the answer has only the job that exists"
is "$(member '["jobs"][0]["uid"]') $(member '["jobs"][0]["user"]') $(member '["hides"]')" \
    "$(id -u) $(id -un) False" "it has the user"
ok "an unknown job is queried by id" ask '{"op":"lookup","ids":["4000000"]}'
is "$(member '["jobs"]')" "[]" "none is found"
refused '{"op":"lookup","ids":["x"]}' "not that of a Slurm job" "a lookup of a text"
refused '{"op":"lookup"}' "ids" "a lookup of nothing"
ok "jobs of an unused prefix are queried" ask '{"op":"query","tag_prefix":"other:"}'
is "$(member '["jobs"]')" "[]" "none is found"
refused '{"op":"query"}' "tag_prefix" "a query for nothing"

ask "$(job submit unetctl:"$helper":run:4 1 1 '"hold":true')" >"$OUT"
freed=$(member '["id"]')
ok "a held job is released" ask "{\"op\":\"release\",\"id\":\"$freed\"}"
unlike <(login scontrol -o show job "$freed") 'Reason=JobHeld' "it is no longer held"
refused '{"op":"release","id":"4000000"}' "nvalid job id" "the release of an unknown job"
refused '{"op":"release"}' "release needs" "a release of nothing"
ok "a job is cancelled" ask "{\"op\":\"cancel\",\"id\":\"$held\"}"
is "$(wait_job "$held" 30)" CANCELLED "it ends"
ok "an ended and an unknown job are cancelled" ask "{\"op\":\"cancel\",\"id\":\"$held\"}" \
    '{"op":"cancel","id":"4000000"}'
is "$(grep -c '"ok":true' "$OUT")" 2 "cancelling a job that has ended is not an error"
refused '{"op":"cancel","id":"4x"}' "not the id" "what is no id"
}
for helper in "${helpers[@]}"; do
    echo "# through $helper"
    test_requests
done

# unetctl's choice if a helper is missing, or was built for another release of libslurm.
make_study study sandbox
libexec=$TMP/libexec
mkdir "$libexec"
cp -r "$builddir/launcher" "$builddir/unetctl-slurm-commands" "$libexec/"
plan() { UNETCTL_LIBEXECDIR=$libexec unetctl plan -C study --gpus 1 --test-only "$@"; }
ok "a study is planned without the helper of libslurm" plan
is "$(grep -c "using Slurm's commands: .*built without libslurm" "$ERR")" 1 \
    "the replacement is reported once"
ok "a study is planned with slurm.interface commands" plan -s slurm.interface=commands
unlike "$ERR" "using Slurm's commands" "nothing is reported then"
exits 4 "slurm.interface library without that helper is refused" plan -s slurm.interface=library
like "$ERR" "slurm.interface=commands" "the error names the other interface"
if [ -x "$builddir/unetctl-slurm" ]; then
    sed 's/libslurm\.so\.[0-9][0-9]/libslurm.so.99/g' \
        "$builddir/unetctl-slurm" >"$libexec/unetctl-slurm"
    chmod +x "$libexec/unetctl-slurm"
    ok "a study is planned with a helper for another libslurm" plan
    like "$ERR" "using Slurm's commands: .*libslurm.so.99" "the reason is reported"
    exits 4 "slurm.interface library with a helper that cannot start is refused" \
        plan -s slurm.interface=library
    like "$ERR" "libslurm.so.99" "the error has the reason"
else
    skip "built without libslurm" "a helper for another libslurm"
fi
# $UNETCTL_OLDER_SLURM has a helper with its libslurm and plugins, of a release that this Slurm does
# not understand.
older=${UNETCTL_OLDER_SLURM:-}
if [ -x "$older/unetctl-slurm" ]; then
    rm -f "$libexec/unetctl-slurm"
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s/unetctl-slurm\n' "$older" "$older" \
        >"$libexec/unetctl-slurm"
    chmod +x "$libexec/unetctl-slurm"
    ok "a study is planned with a helper of a release that the cluster does not understand" plan
    is "$(grep -c 'by its commands: .*not understand libslurm of release' "$ERR")" 1 \
        "the replacement by Slurm's commands is reported once"
    exits 4 "slurm.interface library with such a helper is refused" plan -s slurm.interface=library
    like "$ERR" "does not understand libslurm of release" "the error has the reason"
    exits 0 "three runs are submitted with such a helper" \
        env UNETCTL_LIBEXECDIR="$libexec" unetctl submit -C study --gpus 1..3 -- \
        --hold
    is "$(grep -c 'by its commands' "$ERR")" 1 "the replacement is reported once"
    is "$(login squeue -h -n demo-unet-g01-s1,demo-unet-g02-s1,demo-unet-g03-s1 | wc -l)" 3 \
        "each run is one job"
    login scancel -u "$(id -un)"
else
    skip "no helper of an older release (make check-distros has one)" "a cluster that refuses it"
fi

# Jobs that can never start, which Slurm may accept.
dir=$XDG_STATE_HOME/unetctl/sandbox
printf '#!/bin/bash\n' >"$TMP/script"
sed -i 's/^EnforcePartLimits=.*/EnforcePartLimits=NO/' "$dir/etc/slurm.conf"
login scontrol reconfigure
tells_why() { ask "{\"op\":\"lookup\",\"ids\":[\"$id\"]}" |
    grep -q '"PENDING".*"PartitionTimeLimit"'; }
for helper in "${helpers[@]}"; do
    request=$(job submit x 1 1 '"partition":"short,short","time_min":11')
    case $(login sinfo --version) in
    *' 22.'*) refused "$request" "ok.:false" "a job that waits for ever, through $helper" ;;
    *) # the controller takes it, and judges it later
        ok "a job that would wait for ever is submitted through $helper" ask "$request"
        id=$(member '["id"]')
        ok "status says why it waits" wait_until 60 tells_why
        ok "it is cancelled" ask "{\"op\":\"cancel\",\"id\":\"$id\"}"
        ;;
    esac
done
is "$(login squeue -h)" "" "the queue is empty"

# A Slurm that cannot be reached.
sed -i 's/^MessageTimeout=.*/MessageTimeout=2/' "$dir/etc/slurm.conf"
sandbox_stop_controller
for helper in "${helpers[@]}"; do
    refused '{"op":"ping"}' "contact slurm controller" "no controller, through $helper"
done
printf '\nNonsense=1\n' >>"$dir/etc/slurm.conf"
helper=unetctl-slurm-commands
refused '{"op":"ping"}' "configuration file" "a broken configuration"
exits 2 "arguments of unetctl-slurm-commands are refused" "$builddir/unetctl-slurm-commands" --help
if [ -x "$builddir/unetctl-slurm" ]; then
    exits 1 "a broken configuration ends unetctl-slurm" login \
        "$builddir/unetctl-slurm" </dev/null
    like "$ERR" "fatal" "the error is libslurm's"
    exits 2 "arguments of unetctl-slurm are refused" "$builddir/unetctl-slurm" --help
fi
done_testing

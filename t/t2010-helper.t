#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The helper unetctl-slurm on a real Slurm: every operation, and what is refused.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"

[ -x "$builddir/unetctl-slurm" ] || skip_all "built without libslurm"
sandbox_up --nodes 3

ask() { printf '%s\n' "$@" | login "$builddir/unetctl-slurm"; }
# Members of the last line of JSON in $OUT, as text; of a submission's only result
member() {
    tail -n 1 "$OUT" | python3 -c 'import json,sys; a = json.load(sys.stdin); a = a["results"][0] if "results" in a else a
print(eval("a" + sys.argv[1], {"a": a}))' "$1"
}
job() { # OP TAG NODES TASKS [MEMBERS]
    local open='"job":{' close='}'
    if [ "$1" = submit ]; then open='"jobs":[{' close='}]'; fi
    printf '{"op":"%s",%s"tag":"%s","name":"job","script":"%s","work_dir":"%s","output":"%s","nodes":%d,"tasks":%d,"gpus_per_task":1,"cpus_per_task":1%s%s}' \
        "$1" "$open" "$2" "$TMP/script" "$TMP" "$TMP/%j.out" "$3" "$4" "${5:+,$5}" "$close"
}
refused() { # REQUEST PATTERN TEXT
    ask "$1" >"$OUT" 2>"$ERR"
    is "$(member '["ok"]')" False "refused: $3"
    like "$OUT" "$2" "and the reason is told"
}

ok "ping" ask '{"op":"ping"}'
is "$(member '["cluster"]') $(member '["controller"]')" "sandbox $(login hostname)" "names cluster and controller"
ok "partitions" ask '{"op":"partitions"}'
is "$(member '["partitions"][0]')" \
    "{'name': 'main', 'default': True, 'up': True, 'nodes': 3, 'gpus_per_node': 2, 'cpus_per_node': 4, 'max_time_min': 0}" \
    "tells their sizes"

refused 'no JSON' "no JSON" "what is no JSON"
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
    refused "$(job $op x 4 7)" "4 nodes are asked for, but partition 'main' has 3" "$op: too many nodes"
    refused "$(job $op x 1 3)" "3 GPUs per node" "$op: too many GPUs per node"
    refused "$(job $op x 2 3 '"partition":"nope"')" "this cluster has main, short" "$op: an unknown partition"
    refused "$(job $op x 2 3 '"partition":"short","time_min":11')" "allows 10" "$op: too long"
    refused "$(job $op x 2 3 '"mem_mib":999000')" "not available" "$op: too much memory"
    refused "$(job $op x 2 3 '"constraint":"h200"')" "feature" "$op: an unknown feature"
    refused "$(job $op x 4 7 '"partition":"main,short"')" "ok.:false" "$op: too much for any of two partitions"
done
is "$(login squeue -h)" "" "nothing of this was queued"

login scontrol update nodename=node3 state=drain reason=test
ok "a job that waits for a drained node" ask "$(job check x 3 5)"
is "$(member '["ok"]')" True "is not refused"
login scontrol update nodename=node3 state=resume

# The same job through the helper and by hand has the same environment.
export MARK="it's \"here\"" SLURM_NODEID=stale
ok "submit" ask "$(job submit unetctl:id:run:1 2 3)"
id=$(member '["id"]')
is "$(wait_job "$id" 60)" COMPLETED "it runs"
(cd "$TMP" && login sbatch -W -o "$TMP/hand.out" script >"$OUT")
hand=$(sed 's/.* //' "$OUT")
other='^(SLURM_JOB_?ID|SLURM_TASK_PID|SHLVL|OLDPWD|PWD|_)='
grep -Ev "$other" "$TMP/env.$id" >"$TMP/env.helper"
grep -Ev "$other" "$TMP/env.$hand" >"$TMP/env.hand"
ok "its environment is that of sbatch" diff "$TMP/env.hand" "$TMP/env.helper"
like "$TMP/env.helper" "^MARK=it's \"here\"" "with the submitter's variables"
like "$TMP/env.helper" "^SLURM_NODEID=0" "but not another job's"
ok "its output is where it was asked for" test -e "$TMP/$id.out"

printf '#!/bin/bash\nkill -SEGV $$\n' >"$TMP/script"
ask "$(job submit unetctl:id:run:2 1 1)" "$(job submit unetctl:id:run:3 1 1 '"hold":true')" >"$OUT"
killed=$(head -n 1 "$OUT" | grep -o '[0-9]*')
held=$(member '["id"]')
wait_job "$killed" 60 >"$OUT"
ok "query by prefix" ask '{"op":"query","tag_prefix":"unetctl:id:"}'
is "$(member '["jobs"].__len__()')" 3 "finds three jobs"
is "$(member '["jobs"][0]["state"]') $(member '["jobs"][0]["exit_code"]')" "COMPLETED 0" "one that succeeded"
is "$(member '["jobs"][1]["state"]') $(member '["jobs"][1]["signal"]')" "FAILED 11" "one that was killed"
is "$(member '["jobs"][2]["state"]') $(member '["jobs"][2]["reason"]')" "PENDING JobHeldUser" "one that waits, and why"
ok "query by id" ask "{\"op\":\"query\",\"ids\":[\"$id\",\"4000000\"]}"
is "$(member '["jobs"][0]["tag"]') $(member '["jobs"].__len__()')" "unetctl:id:run:1 1" "finds the one that exists"
ok "query of nobody's" ask '{"op":"query","tag_prefix":"other:"}'
is "$(member '["jobs"]')" "[]" "finds none"
refused '{"op":"query"}' "tag_prefix" "a query for nothing"

ok "cancel" ask "{\"op\":\"cancel\",\"id\":\"$held\"}"
is "$(wait_job "$held" 30)" CANCELLED "ends the job"
ok "cancel of what ended, and of what nobody knows" ask "{\"op\":\"cancel\",\"id\":\"$held\"}" '{"op":"cancel","id":"4000000"}'
is "$(grep -c '"ok":true' "$OUT")" 2 "is no error"
refused '{"op":"cancel","id":"4x"}' "not the id" "what is no id"

# Slurm that can't be reached
dir=$XDG_STATE_HOME/unetctl/sandbox
sed -i 's/^MessageTimeout=.*/MessageTimeout=2/' "$dir/etc/slurm.conf"
sandbox_stop_controller
refused '{"op":"ping"}' "contact slurm controller" "no controller"
printf '\nNonsense=1\n' >>"$dir/etc/slurm.conf"
exits 1 "a broken configuration ends the helper" login "$builddir/unetctl-slurm" </dev/null
like "$ERR" "fatal" "with libslurm's words"
exits 2 "arguments are refused" "$builddir/unetctl-slurm" --help
done_testing

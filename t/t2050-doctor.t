#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# doctor finds real faults, on this host and on nodes that are namespaces.
. "$srcdir/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

finding() { # LEVEL CHECK REGEX TEXT: $OUT has it
    like "$OUT" "^$1 +$2 .*$3" "$4"
}

# ---- this host, without Slurm
ok "images are made" unet-train data synth --out synth --count 12 --size 32x48
unetctl init here --full --data synth --site local 2>/dev/null
exits 0 "doctor finds nothing on a good host" unetctl doctor -C here
is "$(grep -cv '^ok' "$OUT")" 0 "all lines are ok"
finding ok backend 'the CPU \(backend [a-z]+\)' "the device of the runs is reported"
exits 3 "a site that does not exist is refused" unetctl doctor -C here --site nonsense
like "$ERR" "unknown site 'nonsense'" "the error names it"
exits 5 \
    "another site than the study's is examined" env SLURM_CONF="$TMP/none" unetctl doctor -C here \
    --site generic
like "$OUT" '^error +scheduler' "its scheduler is reported"
exits 0 "a list of GPUs in UNETCTL_GPUS is accepted" env UNETCTL_GPUS=1..4 unetctl doctor -C here
exits 0 "stale variables and a proxy are warnings" \
    env TF_CONFIG='{}' MASTER_ADDR=x http_proxy=http://p unetctl \
    doctor -C here
finding warning variables 'TF_CONFIG=' "a stale TF_CONFIG is reported"
finding warning proxies 'http_proxy=http://p' "a proxy is reported"
like "$OUT" 'TF_CONFIG=\{\}, MASTER_ADDR=x;' "the warning lists the other variables"
like "$OUT" '-> unset TF_CONFIG MASTER_ADDR ' "it says what to type"
exits 0 "MASTER_ADDR alone is a warning" env MASTER_ADDR=x unetctl doctor -C here
finding warning variables 'MASTER_ADDR=x' "a stale MASTER_ADDR is reported, too"
chmod 777 here
cp "$srcdir/templates/sites/local.yaml" site.yaml
mkdir own && unetctl template show submit_file.sh >own/submit_file.sh
chmod 666 site.yaml own/submit_file.sh
exits 0 "a study that others may write is a warning" \
    env UNETCTL_TEMPLATES="$TMP/own" unetctl doctor -C here --site "$TMP/site.yaml"
for place in here site.yaml own/submit_file.sh; do
    finding warning rights "every user may write $TMP/$place, and so start commands as you" \
        "$place is named"
done
like "$OUT" "-> .*chmod go-w $TMP/here" "it says what to type"
chmod 755 here
exits 5 "too few open files are an error" bash -c 'ulimit -n 200; exec unetctl doctor -C here'
finding error limits 'ulimit -n is 200; 258 open files' "limits that are too low are reported"
exits 5 "an interface that does not exist is an error" \
    env NCCL_SOCKET_IFNAME=nope0 unetctl doctor -C here
finding error interface 'NCCL_SOCKET_IFNAME=nope0' "the missing interface is named"
mv synth/masks/0001.png .
exits 0 "an image without a mask is a warning" unetctl doctor -C here
finding warning data '1 without a counterpart.*0001' "the image without a mask is named"
mv synth/images synth/elsewhere
exits 5 "no images are an error" unetctl doctor -C here --json
is "$(field "$OUT" 'd["schema"], d["errors"], [f["level"] for f in d["findings"] if f["check"] == "data"]')" \
    "(1, 1, ['error'])" "the JSON has the finding"
mv synth/elsewhere synth/images
mv 0001.png synth/masks/
exits 2 "--in-allocation outside of a job is refused" unetctl doctor -C here --in-allocation
sed -i 's/^strategy: auto/strategy: multi-worker/' here/study.yaml
exits 0 "a rehearsal on this machine succeeds" unetctl doctor -C here --gpus 2
finding ok ranks 'all 2 started' "its ranks ran"
exits 0 "a program is begun" unetctl init program --site local -- true
echo 'variants: {a: {command.args: [1]}, b: {command.args: [2]}}' >>program/study.yaml
exits 0 "a rehearsal for it, with variants and no batch to share" unetctl doctor -C program --gpus 3
mkdir other && cp "$srcdir/templates/sites/generic.yaml" other/site.yaml
unetctl init other --data synth --site ./other/site.yaml 2>/dev/null
exits 5 "a missing Slurm is an error" env SLURM_CONF="$TMP/none" unetctl doctor -C other
finding error scheduler 'SLURM_CONF|built without Slurm' \
    "the missing Slurm is one finding among others"

# ---- nodes
sandbox_up --nodes 3 --gpus-per-node 2
dir=$XDG_STATE_HOME/unetctl/sandbox
make_study one sandbox --set train.global_batch=12
rm -r "$TMP/data" && cp -r synth "$TMP/data"
sed -i 's/^port_base:.*//' one/site.yaml && echo 'port_base: 23456' >>one/site.yaml
on() { unetctl sandbox exec --node "$@"; }

exits 0 "doctor succeeds in the sandbox" unetctl doctor -C one
finding ok partition 'main: 3 nodes, 2 GPUs' "the partition and its GPUs are reported"
finding ok job 'would be accepted' "account, QOS and limits, by Slurm's will-run"
exits 5 "a partition that does not exist is an error" unetctl doctor -C one -- --partition=nowhere
finding error partition "unknown partition 'nowhere' .known: main, short" \
    "the finding lists the partitions that exist"
exits 5 "an unknown constraint is an error" unetctl doctor -C one -- --constraint=v100
finding error job 'would be refused' "the job that Slurm would refuse is reported"
sed -i 's/^gpus_per_node: 2/gpus_per_node: 4/' one/site.yaml
exits 5 "more GPUs per node than there are are an error" unetctl doctor -C one
finding error gres 'plans 4 GPUs per node, but .* have 2' "are told"
sed -i 's/^gpus_per_node: 4/gpus_per_node: 2/' one/site.yaml

exits 0 "a rehearsal on 5 GPUs succeeds" unetctl doctor -C one --gpus 5
finding ok ranks 'all 5 started' "all ranks report"
finding ok numbering 'same cluster' "all ranks have the same numbering"
finding ok versions 'same everywhere' "all nodes have the same programs"
finding ok lock 'from node to node' "a lock of one node is seen by the others"
finding warning gpus 'no GPU seen' "the fake GPUs are not taken for real ones"
ok "it leaves no files" test -z "$(ls -A one/.unetctl/doctor)"
is "$(login squeue -h -a -t all -o %T | sort -u)" COMPLETED "its job has succeeded"
is "$(unetctl status -C one 2>/dev/null | wc -l)" 0 "its job is not a run of the study"
exits 0 "so does one for ranks of another engine" unetctl doctor -C one --engine command --gpus 3
finding ok numbering 'same cluster' "which are started and numbered in the same way"
sed 's/--mpi=[a-z0-9]* //' one/site.yaml >swapped.yaml &&
    echo 'spec: --nodelist node[2,1] --tasks-per-node 2,1' >>swapped.yaml
exits 5 "a specification in another order is an error" unetctl doctor -C one --gpus 3 \
    --site "$TMP/swapped.yaml"
finding error numbering 'rank 0 .*: it runs on node1, but its address is node2:' "each rank is named"
sed 's/--mpi=[a-z0-9]* //; s/^env:/&\n  SLURM_LOCALID: 9/' one/site.yaml >numbered.yaml
exits 5 "so is another number on the node" unetctl doctor -C one --gpus 3 --site "$TMP/numbered.yaml"
finding error numbering 'rank 2 .*SLURM_LOCALID=9, but it is task 0 of node2' "and names the place"
make_study nosuch sandbox
sed -i 's/--mpi=[a-z0-9]*/--mpi=nosuch/' nosuch/site.yaml
exits 5 "a launcher with an --mpi that srun does not have is an error" unetctl doctor -C nosuch
finding error launcher 'srun --mpi=nosuch, but this cluster.s srun knows only .*none' \
    "the finding lists the MPI types that srun has"
like "$OUT" '-> set in .*/nosuch/site.yaml: launcher: mpirun .* and spec: --nodelist' \
    "the advice says which settings to change"
exits 1 "a run with that launcher fails" unetctl submit -C nosuch --gpus 3 --wait --timeout 60
like nosuch/runs/unet-g03-s1/attempt-1/FAILED \
    "exit code [0-9]+: this cluster's srun has no MPI type nosuch; 'unetctl doctor' says what to set" \
    "the marker names the missing MPI type"
unetctl init generic --data synth --site generic -s train.backend=cpu 2>/dev/null
knows=$(login srun --mpi=list 2>&1 | grep -c '\<pmix$')
exits $((knows ? 0 : 5)) "the profile of a cluster is examined" login unetctl doctor -C generic
finding "$( ((knows)) && echo ok || echo error)" launcher '--mpi=pmix' "the finding names PMIx"
exits 0 "a rehearsal in an allocation succeeds" \
    login salloc -Q -n6 --gpus-per-task=1 unetctl doctor -C one \
    --in-allocation
finding ok ranks 'all 6 started' "the 6 ranks start on the nodes of the allocation"
exits 0 "a rehearsal in an uneven allocation succeeds" \
    login salloc -Q -N2 -n3 --gpus-per-task=1 unetctl doctor -C one \
    --in-allocation
finding ok ranks 'all 3 started' "there are as many ranks as the allocation has tasks"
sed 's/^env:/&\n  UNET_GPUS: real/' "$srcdir/templates/sites/sandbox.yaml" >real.yaml
unetctl init two --data synth --site sandbox -s data.height=32 -s data.width=48 2>/dev/null
exits 0 "a rehearsal with unet-train succeeds" unetctl doctor -C two --gpus 2
finding ok gpus 'fake ones: the ranks compute on the CPU' "the finding says that the GPUs are fake"
exits 5 "GPUs that do not work are an error" unetctl doctor -C two --gpus 2 --site ./real.yaml
finding error gpus 'node1.*: this process was given GPUs .* cannot use them' \
    "the finding says that the process cannot use its GPUs"
exits 1 "a run on them fails" unetctl submit -C two --gpus 1 --site ./real.yaml --wait --timeout 60
like two/runs/unet-g01-s1/attempt-1/FAILED '"exit_code":5,"error":"this process was given GPUs' \
    "the run fails at once with the same reason"
login sbatch -N3 --exclusive -o /dev/null --wrap 'sleep 1000' >/dev/null
exits 6 "a full queue is a timeout" unetctl doctor -C one --gpus 1 --timeout 2
is "$(login squeue -h -t PD -o %i | wc -l)" 0 "the rehearsal's job is cancelled"
mkdir dying
cat >dying/squeue <<'END'
#!/bin/bash
PATH=${PATH#*/dying:}
if [ -n "$(squeue -h -t PD)" ]; then kill $$; fi
exec squeue "$@"
END
chmod +x dying/squeue
exits 4 "a query that dies after the submission is an error" \
    env PATH="$TMP/dying:$PATH" UNETCTL_SLURM_INTERFACE=commands "$builddir/unetctl" doctor -C one \
    --gpus 1
like "$ERR" 'rehearsing as job [0-9]+' "its job was submitted"
is "$(login squeue -h -t PD -o %i | wc -l)" 0 "and is cancelled"
login scancel -u "$(id -un)"

mode=$(sed -n 's/^mode=//p' "$dir/sandbox.conf")
if [ "$mode" != netns ]; then
    skip "mode $mode: the nodes share this host's network and files" "faults of single nodes"
    done_testing
fi

# ---- faults of single nodes, all at once
cp "$builddir/unetctl" other-unetctl && printf x >>other-unetctl
mkdir nothing
cat >clock.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, t);
    if (rc == 0 && id == CLOCK_REALTIME)
        t->tv_sec += 40;
    return rc;
}
C
${CC:-cc} -shared -fPIC -o clock.so clock.c -ldl || skip_all 'no C compiler'
on 1 -- python3 -c 'import socket, time
s = socket.socket(); s.bind(("", 23457)); s.listen(); open("listening", "w"); time.sleep(1000)' \
    2>stranger.err &
stranger=$!
ok "another program listens on node1" wait_until 30 test -e listening
ok "node2 resolves its own name to 127.0.0.1" on 2 -- sh -c \
    'sed "s/.*[[:blank:]]node2 /127.0.0.1 node2 /" /etc/hosts >hosts2 && mount --bind hosts2 /etc/hosts && grep -q "^127.0.0.1 node2" /etc/hosts'
ok "node2 does not see the images" on 2 -- mount --bind nothing "$TMP/data"
ok "node3 has another unetctl" on 3 -- mount --bind other-unetctl "$builddir/unetctl"
ok "node3 has a low limit of open files" \
    login prlimit --pid "$(cat "$dir/run/node3.pid")" --nofile=200:
ok "node3 has no route to node2" on 3 -- ip route add blackhole 10.77.0.12/32
ok "node3 has an interface without link" on 3 -- sh -c 'ip link add ib0 type veth peer name ib1 &&
    ip addr add 10.99.0.3/24 dev ib0 && ip link set ib0 up'
# A library that the loader puts before every program on the node changes its clock.
ok "node2 has a wrong clock" on 2 -- sh -c \
    'cp -a /etc etc2 && echo '"$TMP/clock.so"' >etc2/ld.so.preload && cp hosts2 etc2/hosts && mount --bind etc2 /etc'
exits 5 "a rehearsal on 6 GPUs finds these faults" env MASTER_ADDR=x unetctl doctor -C one --gpus 6
finding ok ranks 'all 6 started' "all ranks report"
finding error names 'node2: the name node2 resolves to 127.0.0.1' \
    "a name that leads to its own host"
like "$OUT" '-> on node2: take node2 off the line of 127.0.0.1' "the finding has its remedy"
finding error ports 'node1: port 23457: Address already in use' "a port that is in use is reported"
finding error routes 'rank [45] \(node3\) does not reach rank [23] \(node2\)' \
    "a node that others cannot reach is reported"
like "$OUT" 'ip route get .*exclude=node2' "the finding has its remedy"
finding error versions 'node3 has unetctl .*, but node1 has' \
    "another version of unetctl on a node is reported"
finding error limits 'node3: ulimit -n is 200' "a low limit of open files is reported"
finding warning variables 'node1, node2, node3: already set, .*: MASTER_ADDR=x;' \
    "a stale variable that jobs inherit"
finding warning interface 'node3: the interface ib0 \(10.99.0.3\) has no link' \
    "an interface without link"
finding error data 'node2: the images cannot be read' "images that a node does not see are reported"
finding warning clocks 'clock of node2 is (39|40|41)\.[0-9] s ahead of' \
    "a clock that is ahead is reported"
like "$ERR" 'kept in .*/one/.unetctl/doctor/' "the reports of the ranks are kept"
ok "they are JSON" python3 -m json.tool "$(ls one/.unetctl/doctor/*/rank-3.json)"
kill $stranger

# ---- a sandbox whose Slurm has failed
ok "the controller is stopped" sandbox_stop_controller
exits 5 "doctor of a sandbox without controller fails" unetctl doctor -C one
finding error scheduler '' "a Slurm that does not answer is reported"
like "$OUT" "-> its Slurm has failed: type 'unetctl sandbox down', then 'unetctl sandbox up'" \
    "the advice says to stop the sandbox first, since up alone changes nothing"
done_testing

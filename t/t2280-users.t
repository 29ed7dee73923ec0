#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What an ordinary user of a cluster meets, through libslurm and through Slurm's commands: nodes and
# partitions that Slurm does not show.
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"

# The owner of a private Slurm is its SlurmUser, from whom Slurm hides nothing.
as_games() { setpriv --reuid=games --regid=games --clear-groups "$@"; }
[ "$(id -u)" = 0 ] || skip_all "only root can be two users"
as_games test -x "$builddir/unetctl" -a -r "$srcdir/templates" ||
    skip_all "the user games may not read $builddir"
sandbox_up --nodes 3
interfaces=(commands)
if [ -x "$builddir/unetctl-slurm" ]; then interfaces+=(library); fi
sandbox=$XDG_STATE_HOME/unetctl/sandbox
conf=$sandbox/etc/slurm.conf

# Opens the sandbox, and the studies in $TMP, to the user games.
sandbox_open
mkdir -m 777 "$TMP/user"
user() {
    login env HOME="$TMP/user" XDG_STATE_HOME="$TMP/user" XDG_CONFIG_HOME="$TMP/user" \
        UNETCTL_SLURM_INTERFACE="$interface" setpriv --reuid=games --regid=games --clear-groups "$@"
}
user_study() { # DIR
    make_study "$1" generic
    sed -i 's/^cpus_per_gpu: .*/cpus_per_gpu: 1/' "$1/site.yaml"
    chmod a+rx "$TMP/data" "$TMP/data"/*
    chown -R games:games "$1"
}
restart() { # LINE ...: adds them to slurm.conf
    sed -i '/^PrivateData=/d' "$conf"
    printf '%s\n' "$@" >>"$conf"
    sandbox_restart_controller 3
}

sed -i 's/ Nodes=ALL / Nodes=node[1-3] /' "$conf"

# ---- nodes and partitions that Slurm does not show
ok "Slurm hides its nodes from users" restart PrivateData=nodes \
    "NodeName=cloud[1-2] CPUs=4 RealMemory=64000 Gres=gpu:2 State=CLOUD" \
    "PartitionName=cloud Nodes=cloud[1-2] MaxTime=INFINITE State=UP" \
    "PartitionName=both Nodes=node[1-2],cloud[1-2] MaxTime=INFINITE State=UP" \
    ResumeProgram=/bin/true SuspendProgram=/bin/true SuspendTime=600
for interface in "${interfaces[@]}"; do
    exits 1 "$interface: sinfo shows nothing to the user" user sinfo
    user_study "private-$interface"
    exits 0 "$interface: submit where nodes are hidden" \
        user unetctl submit -C "private-$interface" --gpus 1..4 -- --hold
    is "$(grep -c 'Slurm does not show 3 of the 3 nodes of partition main' "$ERR")" 1 \
        "it says once what is unknown"
    is "$(login squeue -h -u games -o %u | uniq -c | xargs)" "4 games" "the user has the jobs"
    exits 4 "$interface: more nodes than the partition has are refused" \
        user unetctl submit -C "private-$interface" --gpus 8
    like "$ERR" "8 GPUs.: 4 nodes are asked for, but partition 'main' has 3" \
        "the number of nodes is known"
    exits 4 "$interface: an unknown partition is refused" \
        user unetctl submit -C "private-$interface" --gpus 5 -- -p nope
    like "$ERR" "unknown partition 'nope' \(known: main, short, cloud, both\)" "it names the others"
    exits 4 "$interface: what no node has is refused by Slurm" \
        user unetctl plan -C "private-$interface" --gpus 1 --test-only -- --constraint=h200
    like "$ERR" "[Ff]eature" "the refusal is Slurm's"
    user unetctl doctor -C "private-$interface" >"$OUT" 2>"$ERR"
    like "$OUT" "partition .*unknown: Slurm does not show 3 of the 3 nodes" \
        "$interface: doctor says what is unknown"
    like "$OUT" "job .*a run on 1 GPU would be accepted" "and what Slurm says of a job"
    login scancel -u games
done
ok "Slurm hides its partitions from users" restart PrivateData=nodes,partitions
for interface in "${interfaces[@]}"; do
    exits 0 "$interface: submit where partitions are hidden" \
        user unetctl submit -C "private-$interface" --gpus 5,6 -- --hold
    is "$(grep -c 'Slurm does not show its partitions' "$ERR")" 1 "it says once what is unknown"
    is "$(login squeue -h -u games -o %u | uniq -c | xargs)" "2 games" "the user has the jobs"
    exits 4 "$interface: Slurm refuses an unknown partition" \
        user unetctl submit -C "private-$interface" --gpus 4,3 -s seeds=2 -- -p nope
    like "$ERR" "Slurm: .*[Ii]nvalid partition" "the refusal is Slurm's"
    login scancel -u games
done
ok "Slurm hides only cloud nodes that are off" restart
for interface in "${interfaces[@]}"; do
    if [ -n "$(user sinfo -h -N -p cloud)" ]; then
        skip "this release shows them" "$interface: nodes of the cloud that are off"
        continue
    fi
    for partition in cloud both; do
        user_study "$partition-$interface"
        exits 0 "$interface: submit to $partition" \
            user unetctl submit -C "$partition-$interface" --gpus 1..3 -- --hold -p $partition
        like "$ERR" "Slurm does not show 2 of the [24] nodes of partition $partition" \
            "it says what is unknown"
    done
    is "$(login squeue -h -u games -o %P | sort | uniq -c | xargs)" "3 both 3 cloud" \
        "the jobs are there"
    exits 4 "$interface: a partition whose nodes are all shown is checked" \
        user unetctl plan -C "cloud-$interface" --gpus 1 --test-only -s slurm.cpus_per_gpu=5
    like "$ERR" "5 CPUs per node are asked for.*partition 'main' have 4" "it names the sizes"
    echo 'gpu_type: h200' >>"cloud-$interface/site.yaml"
    exits 4 "$interface: GPUs that no node has are refused" \
        user unetctl plan -C "cloud-$interface" --gpus 1 --test-only
    like "$ERR" "not available; .*gpu_type of the site with sinfo" "it says what to compare"
    sed -i '/^gpu_type/d' "cloud-$interface/site.yaml"
    exits 4 "$interface: a resource that no node has is refused" \
        user unetctl plan -C "cloud-$interface" --gpus 1 --test-only -- --gres=nvme:1
    like "$ERR" "\(gres\) specification; .*gpu_type of the site, and --gres, with sinfo" \
        "it says what to compare"
    login scancel -u games
done

done_testing

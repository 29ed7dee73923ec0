#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A real Slurm that limits jobs to the memory they request: the trainer finds that it is too little
# before it begins, and a program that uses more is OUT_OF_MEMORY.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"
groups=/sys/fs/cgroup/memory # of version 1
if [ ! -w $groups/memory.limit_in_bytes ]; then skip_all \
    "no memory cgroup (version 1) that this user may write"; fi
unet-train devices --json | grep -q '"mpi"\]' || skip_all "built without MPI: 3 GPUs need two nodes"
# The groups are named after nodes, as another test's would be. (Slurm itself locks the folder.)
exec 8<$groups/cgroup.procs && flock 8
sandbox_up --nodes 2 --gpus-per-node 2
remove_groups() { find "$groups"/slurm_node[12] -depth -type d -exec rmdir {} + 2>/dev/null; }
cleanup_hooks+=(remove_groups)
etc=$XDG_STATE_HOME/unetctl/sandbox/etc
sed -i -e 's/^SelectTypeParameters=.*/SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=4000/' \
    -e 's,^TaskPlugin=.*,TaskPlugin=task/cgroup,' "$etc/slurm.conf"
printf 'CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\n' >"$etc/cgroup.conf"
ok "Slurm limits jobs to their memory" sandbox_restart_controller 2
login scontrol reconfigure

ok "images are made" unetctl data synth --out images --count 5 --size 512x512 --seed 1
cat >rank <<END
#!/bin/bash
if [ -e $TMP/greedy ]; then exec python3 -c 'b"x" * (400 << 20)'; fi
exec unet-train "\$@"
END
chmod +x rank
{ cat "$srcdir/templates/sites/sandbox.yaml"; echo "trainer: $TMP/rank"; } >site.yaml
ok "a study is made" \
    unetctl init study --data images --site "$PWD/site.yaml" --set data.height=512 \
    --set data.width=512 \
    --set train.epochs=1 --set train.batch_per_gpu=4 --set model.base=16 --set model.depth=3
cd study || exit 255
exits 1 "too little memory is an error" unetctl submit --gpus 1..3 --wait --timeout 90 -- --mem=100M
unetctl status >"$OUT" 2>"$ERR"
for n in 1 2 3; do
    like "$OUT" "unet-g0$n-s1 +FAILED .*needs [01]\.[0-9]+ GiB for activations and images, and there are 0\.0[0-9] GiB \(the job's: slurm.mem, --mem\)" \
        "$n GPUs: the missing memory is reported before the first step"
done
touch "$TMP/greedy"
exits 1 "ranks that use more than their memory fail" timeout 90 unetctl resume --wait -- --mem=100M
rm "$TMP/greedy"
unetctl status >"$OUT" 2>"$ERR"
like "$OUT" "unet-g01-s1 +OUT_OF_MEMORY .*it used more memory than requested; 'unetctl resume' with more" \
    "one rank: Slurm's word and what to do"
like "$OUT" "unet-g03-s1 +(FAILED|OUT_OF_MEMORY) .*(a rank|it) used more memory than (the job asked for|it asked for|requested); 'unetctl resume' with more" \
    "3 GPUs: a rank that used too much memory is reported"
exits 0 "the runs are resumed with more memory" unetctl resume --wait -- --mem=4G
ok "both are done" all_states . COMPLETED
done_testing

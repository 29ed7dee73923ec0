#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The real sbatch accepts the scripts: every site's directives, options that unetctl passes on,
# special characters, templates with their own directives.
. "$srcdir/t/lib.sh"
. "$srcdir/t/sandbox.sh"
. "$srcdir/t/study.sh"
sandbox_up --nodes 7 --gpus-per-node 8 --cpus-per-node 288

# Partitions and features with the names that the sites use.
for p in c18g c23g gpu booster boost_usr_prod m100_usr_prod small-g; do
    login scontrol create PartitionName=$p Nodes=ALL State=UP >/dev/null
done
login scontrol update NodeName='node[1-7]' AvailableFeatures=v100-16g,a100,h100,gpu >/dev/null
mkdir -p data/images data/masks
for site in claix-2018 claix-2023 generic iris jean-zay jean-zay-a100 jean-zay-h100 jupiter juwels \
    leonardo \
    lumi marconi100 marenostrum5 meluxina perlmutter sandbox; do
    unetctl init "$site" --data data --site "$site" --name demo 2>"$ERR" || diag <"$ERR"
    unetctl generate -C "$site" --gpus 1,3,4,14 2>"$ERR" || diag <"$ERR"
    for n in 01 03 04 14; do
        ok "$site, $n GPUs: sbatch --test-only" login sbatch \
            --test-only "$site/runs/unet-g$n-s1/submit_file.sh"
    done
done

# ---- words behind --, verbatim, both ways
fields() { # ID: what Slurm knows of a job, without what differs from job to job
    login scontrol show job "$1" | sed 's/^ *//' |
        grep -E '^(StdErr|MailUser|Partition|Features|NumNodes|TresPer|Requeue|WorkDir|OverSubscribe|Dependency)' |
        sed -e 's/ \(EligibleTime\|StartTime\).*//' -e "s|$2|STUDY|g"
}
tricky="it's \"a\" #1 \$HOME \`id\` (x) & ; é"
# Without --spread-job: the slurmctld of 24.11 dies when it is asked when such a job would run.
words=(--hold --mail-type=END "--mail-user=$tricky" -e "$TMP/err of $tricky" --signal B:USR2@77 \
    --contiguous
    --constraint=v100-16g --exclusive=user)
make_study passed sandbox
exits 0 "submit passes all kinds of words on" unetctl submit -C passed --gpus 3 -- "${words[@]}"
id=$(unetctl status -C passed --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["runs"][0]["job"])')
like <(fields "$id" "$TMP/passed") "MailUser=it's \"a\" #1 .HOME .id. \(x\) & ; é( |\$)" \
    "a value with quotes and spaces is passed on as it was typed"
like <(fields "$id" "$TMP/passed") "^StdErr=$TMP/err of it's \"a\" #1" "a path is passed on, too"
make_study byhand sandbox
exits 0 \
    "generate writes the words into the script" unetctl generate -C byhand --gpus 3 -- "${words[@]}"
hand=$(login sbatch --parsable byhand/runs/unet-g03-s1/submit_file.sh)
is "$(fields "$hand" "$TMP/byhand")" "$(fields "$id" "$TMP/passed")" \
    "a job of sbatch by hand has the same fields as that of unetctl"
exits 0 "submit again succeeds" unetctl submit -C passed --gpus 3
is "$(login squeue -h -o %k | sort | uniq -d | wc -l)" 0 "there is no second job"
exits 4 "an option that Slurm does not know is refused" \
    unetctl submit -C passed --gpus 1 -- --frobnicate=7
like "$ERR" "frobnicate" "the error is sbatch's"
exits 4 "an option that resembles no other is refused" unetctl submit -C passed --gpus 1 -- --foo
unlike "$ERR" 'did you mean' "the error suggests none"
if echo '#include <slurm/spank.h>' | ${CC:-gcc} -fsyntax-only -xc - 2>/dev/null; then
    cat >plugin.c <<'C'
#include <slurm/spank.h>
SPANK_PLUGIN(images, 1)
static int take(int value, const char *text, int remote) { return 0; }
int slurm_spank_init(spank_t spank, int n, char **words)
{
    static struct spank_option options[] = { /* some of Pyxis */
        {"container-name", "NAME", "of a container", 1, 0, take},
        {"container-image", "IMAGE", "to start", 1, 0, take},
        {"container-mounts", "PATHS", "in it", 1, 0, take},
        {"container-workdir", "PATH", "in it", 1, 0, take}};
    int rc = 0;
    for (int i = 0; i < 4; i++)
        rc |= spank_option_register(spank, &options[i]);
    return rc;
}
C
    ok "a plugin of Slurm is built" "${CC:-gcc}" -shared -fPIC -w -o plugin.so plugin.c
    exits 2 "its option is refused before the plugin is installed" \
        unetctl submit -C passed --gpus 1 -- \
        --container-name=x
    like "$ERR" "'--container-name' is not an option of sbatch; did you mean --container" \
        "the unknown option is taken for a typing error"
    exits 5 "doctor on a container of Pyxis" unetctl doctor -C passed --set 'container=a#b'
    like "$OUT" 'error +container a#b: Slurm has no Pyxis here' "names what is missing"
    conf=$XDG_STATE_HOME/unetctl/sandbox/etc/plugstack.conf
    echo "optional $TMP/plugin.so" >"$conf"
    exits 0 "its option is accepted then" \
        unetctl submit -C passed --gpus 5 -- --hold --container-name=x
    exits 0 "its option is accepted with the value as a word" unetctl submit -C passed --gpus 2 -- \
        --hold --container-name y
    like passed/runs/unet-g02-s1/submit_file.sh '^#SBATCH --container-name' \
        "the script has the option of the container plugin"
    make_step_study pyxis sandbox --set "container=registry.org#it's a/name:1"
    exits 0 "its options start the ranks" unetctl submit -C pyxis --gpus 3 --wait --timeout 120
    like <(unetctl status -C pyxis) '^unet-g03-s1 +COMPLETED' "quoted, as srun takes them"
    exits 2 "a misspelling of the option is refused" \
        unetctl submit -C passed --gpus 4 -- --container-nmae=x
    rm "$conf"
else
    skip "slurm/spank.h or a compiler is not installed" "options of plugins"
fi
exits 4 "a value that Slurm refuses is an error" \
    unetctl submit -C passed --gpus 1 -- --switches=x --time=1 \
    --partition=nowhere
is "$(login squeue -h -n demo-unet-g01-s1 | wc -l)" 0 "nothing was submitted"
login scancel -u "$(id -un)" >/dev/null

# ---- the site's rules, as plugins of sbatch and of the controller say them
etc=$XDG_STATE_HOME/unetctl/sandbox/etc
cat >"$etc/cli_filter.lua" <<'END'
function slurm_cli_setup_defaults(options, early_pass) return slurm.SUCCESS end
function slurm_cli_post_submit(offset, job_id, step_id) return slurm.SUCCESS end
function slurm_cli_pre_submit(options, pack_offset)
    if string.find(options["comment"] or "", "shortly") then
        slurm.log_error("seven minutes are not enough")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
END
cat >"$etc/job_submit.lua" <<'END'
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid) return slurm.SUCCESS end
function slurm_job_submit(job_desc, part_list, submit_uid)
    slurm.log_user("Welcome.\nYour account will be charged.")
    if string.find(job_desc.comment or "", "badly") then
        slurm.log_user("please switch to --gpus")
        return slurm.ERROR
    elseif string.find(job_desc.comment or "", "long") then
        slurm.log_user(string.rep("a long explanation ", 60) .. "ends here")
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
END
cp "$etc/slurm.conf" slurm.conf
printf 'JobSubmitPlugins=lua\nCliFilterPlugins=lua\n' >>"$etc/slurm.conf"
if sandbox_restart_controller 7; then
    make_study ruled sandbox
    rules() { unetctl submit -C ruled "$@" --hold; }
    exits 4 "a job that a cli_filter plugin forbids is refused" rules --gpus 1 -- --comment=shortly
    like "$ERR" 'Slurm: .*seven minutes are not enough; cli_filter plugin terminated with error$' \
        "the error has each line of sbatch"
    exits 4 "one that a job_submit plugin forbids is refused" rules --gpus 1 -- --comment=badly
    like "$ERR" 'Welcome.; Your account will be charged.; please switch to --gpus; .*Unspecified error$' \
        "the error has each line of the plugin"
    exits 4 "likewise with a long text" rules --gpus 1 -- --comment=long
    like "$ERR" "sbatch: $(printf 'a long explanation %.0s' {1..60})ends here" "it is shown as a whole"
    exits 0 "what they allow is submitted" rules --gpus 1..3 --
    is "$(grep -c '^unetctl: sbatch: Your account will be charged.$' "$ERR")" 1 \
        "what they say is shown once"
    is "$(states ruled | awk '{ print $2 }' | xargs) $(login squeue -h | wc -l)" \
        "PENDING PENDING PENDING 3" "each run has one job"
    login scancel -u "$(id -un)"
else
    skip "this Slurm has no Lua" "plugins with the site's rules"
fi
cp slurm.conf "$etc/slurm.conf"
ok "the controller starts without them" sandbox_restart_controller 7

# ---- folders with all that a shell, sbatch or a template could trip over
odd="$TMP/-it's \"x\" \$(id) \`id\` 100%j #1 é *?[x] {{run}} tag_node & ; "
make_study "$odd" sandbox
exits 0 "submit in a folder with an odd name" unetctl submit -C "$odd" --gpus 3 --wait --timeout 120
ok "its output is in the folder" grep -q "rank 2" "$odd"/runs/unet-g03-s1/attempt-1/slurm-*.out
exits 0 "a submission with another option works there, too" \
    unetctl submit -C "$odd" --gpus 1 --wait --timeout 120 -- --signal=USR2@3
ok "its output is in the folder, too" grep -q "rank 0" "$odd"/runs/unet-g01-s1/attempt-1/slurm-*.out
make_study 'back\slash' sandbox
exits 3 "a backslash in the folder's path is refused" unetctl generate -C 'back\slash' --gpus 1
like "$ERR" 'Slurm cannot write the output of a job into a folder whose path has a backslash' \
    "the error says which folder Slurm cannot write to"

# ---- GPUs with --gres, as the ranks see them
make_study gres sandbox --set gpus=4
sed -i -e 's/^gpus_per_node:.*/gpus_per_node: 4/' -e 's/ --gpus-per-task=1//' gres/site.yaml
echo 'gpu_request: gres' >>gres/site.yaml
for n in 8 7; do
    exits 0 "gres: $n GPUs" unetctl submit -C gres --gpus $n --wait --timeout 120
    is "$(grep -h -c 'trainer: good' gres/runs/unet-g0$n-s1/attempt-1/slurm-*.out)" $n \
        "all $n ranks of the run start"
done
like <(grep -h TF_CONFIG gres/runs/unet-g07-s1/attempt-1/*.out /dev/null; cat \
    gres/runs/unet-g07-s1/attempt-1/*.out) \
    '"worker":\["(node[0-9]):[0-9]+","\1:[0-9]+","\1:[0-9]+","\1:[0-9]+","(node[0-9]):[0-9]+","\2:[0-9]+","\2:[0-9]+"\]' \
    "7 GPUs are divided into 4 and 3"

# ---- ranks that an mpirun of the site's starts
if command -v mpirun >/dev/null; then
    make_study mpi sandbox --set gpus=3 --set strategy=multi-worker
    { grep -v '^launcher:' mpi/site.yaml; sed -n '/^launcher:/p; /^spec:/p' \
        "$srcdir/templates/sites/claix-2018.yaml"; } >mpi/claix.yaml
    # shellcheck disable=SC2016
    sed -i -e 's/^gpus_per_node:.*/gpus_per_node: 2/' mpi/claix.yaml
    sed -i -e 's/^env:/&\n  MPIEXEC: mpirun\n  FLAGS_MPI_BATCH: --oversubscribe --map-by slot/' \
        mpi/claix.yaml
    sed -i 's/^site:.*/site: .\/claix.yaml/' mpi/study.yaml
    zsh=$(command -v zsh) && echo "shell: $zsh" >>mpi/claix.yaml # its own, where it is installed
    exits 0 "\$MPIEXEC: 3 GPUs" unetctl submit -C mpi --gpus 3 --wait --timeout 120
    is "$(cat mpi/runs/unet-g03-s1/attempt-1/*.out | grep -o 'rank [0-9]' | sort | paste -sd,)" \
        "rank 0,rank 1,rank 2" \
        "each rank starts once"
    like <(cat mpi/runs/unet-g03-s1/attempt-1/*.out) \
        '"worker":\["node1:[0-9]+","node1:[0-9]+","node2:[0-9]+"\]' \
        "2 + 1"
    if [ -n "$zsh" ]; then
        echo hang >mpi/behave
        exits 0 "a run that hangs is submitted with zsh" unetctl submit -C mpi --gpus 1
        ok "it is running" wait_until 60 eval 'grep -q hang mpi/runs/unet-g01-s1/attempt-1/*.out'
        login scancel --signal=TERM --batch "$(cat mpi/runs/unet-g01-s1/attempt-1/job)"
        ok "TERM is passed on to its ranks" wait_until 60 grep -q TERM \
            mpi/runs/unet-g01-s1/attempt-1/stopped
    else
        skip "zsh is not installed" "in zsh: TERM"
    fi
    make_study unbound sandbox --set gpus=2 --set strategy=multi-worker
    { grep -v '^launcher:' unbound/site.yaml; sed -n '/^spec:/p' "$srcdir/templates/sites/claix-2018.yaml"; } >unbound/mpirun.yaml
    sed -i -e 's/^gpus_per_node:.*/gpus_per_node: 1/' unbound/mpirun.yaml
    cat >>unbound/mpirun.yaml <<'END'
launcher: mpirun --bind-to none -np {{tasks}}
setup:
  - echo "seen on $SLURMD_NODENAME:${CUDA_VISIBLE_DEVICES-all}"
END
    sed -i 's/^site:.*/site: .\/mpirun.yaml/' unbound/study.yaml
    login sbatch -w node2 -n1 --gpus-per-task=1 -J stranger -o /dev/null --wrap 'sleep 1000' >/dev/null
    exits 0 "mpirun starts ranks beside another job" \
        unetctl submit -C unbound --gpus 2 --wait --timeout 120
    is "$(grep -h 'seen on' unbound/runs/*/attempt-1/*.out | sort -u | xargs)" "seen on node1:0 seen on node2:1" \
        "each rank sees only the GPUs of its job"
    login scancel -n stranger
else
    skip "mpirun is not installed" "\$MPIEXEC"
fi

# ---- a site of another Slurm, for one submission: later verbs ask that one
make_study away generic
exits 0 "submit --site sandbox" unetctl submit -C away --site sandbox --gpus 1 -- --hold
like <(unetctl status -C away 2>&1) '^unet-g01-s1 +PENDING' "status asks the sandbox, not the study's site"
exits 0 "so does cancel" unetctl cancel -C away --yes
ok "which ends the job" wait_until 20 eval '! login squeue -h -n demo-unet-g01-s1 -o %i | grep -q .'
like <(unetctl status -C away 2>&1) '^unet-g01-s1 +CANCELLED' "status knows"
exits 0 "so does resume" unetctl resume -C away unet-g01-s1 -- --hold
like <(unetctl status -C away 2>&1) '^unet-g01-s1 +PENDING' "whose job waits there"
unetctl cancel -C away --yes 2>"$ERR"

# ---- a partition that gives whole nodes: a run sees its own GPUs of the node's 8
login scontrol update PartitionName=main OverSubscribe=EXCLUSIVE
make_step_study whole sandbox --set train.global_batch=12
for engine in command pytorch; do
    printf '%s:\n  script: %s\n' $engine "$srcdir/t/engine.sh"
done >>whole/study.yaml
echo '  python: bash' >>whole/study.yaml
for engine in command pytorch; do
    exits 0 "$engine on whole nodes" unetctl submit -C whole --engine $engine --gpus 1,2
done
ok "all end" wait_until 120 all_states whole COMPLETED
is "$(grep -h '^CUDA_VISIBLE_DEVICES=' whole/runs/*/attempt-1/told-* | cut -d= -f2 | xargs)" \
    "0 0,1 0 0,1 0,1" "each rank sees the GPUs of its run"
login scontrol update PartitionName=main OverSubscribe=NO

# ---- the fast network's names: nodes of this sandbox have one that ends in i
if login getent hosts node1i >/dev/null; then
    unet-train data synth --out tiny -n 6 --size 32x32 2>/dev/null
    { cat "$srcdir/templates/sites/sandbox.yaml"; echo "host_suffix: i"; } >fast.yaml
    unetctl init fast --data tiny --name fast --site ./fast.yaml --set train.epochs=1 \
        --set model.depth=1 --set model.base=2 \
        --set train.batch_per_gpu=1 2>"$ERR" || diag <"$ERR"
    unetctl generate -C fast --gpus 1 2>"$ERR" || diag <"$ERR"
    exits 0 "the trainer accepts host_suffix names as its own" unetctl submit -C fast --gpus 3 \
        --wait --timeout 180
    exits 5 "it does not accept another node's" login env \
        'TF_CONFIG={"cluster":{"worker":["node2i:1"]},"task":{"type":"worker","index":0}}' \
        unet-train train --run fast/runs/unet-g01-s1/run.json --out fast/out
else
    skip "the sandbox's nodes have no names of their own" "host_suffix"
fi

# ---- GPUs of several types in one partition, by libslurm and by Slurm's commands
login scontrol update 'NodeName=node[1-3]' Gres=gpu:a100:8
login scontrol update 'NodeName=node[4-7]' Gres=gpu:h100:8
for interface in auto commands; do
    set -- -C whole --set slurm.interface=$interface
    unetctl doctor "$@" >"$OUT" 2>&1
    like "$OUT" 'partition main has GPUs of several types \(a100,h100\), and a run may get any' \
        "$interface: doctor names them"
    unetctl plan "$@" --engine command --gpus 1 --test-only >"$OUT" 2>&1
    like "$OUT" 'partition main has GPUs of several types \(a100,h100\)' "so does plan --test-only"
done
unetctl doctor -C whole --set slurm.constraint=a100 >"$OUT" 2>&1
unlike "$OUT" 'several types' "unless the study chooses nodes"
done_testing

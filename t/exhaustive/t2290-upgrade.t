#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl is replaced by a later version in the middle of a study: it continues, or the version that
# does not fit is named (doc/FORMATS.md, "Versions").
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
# shellcheck source=t/later.sh
. "$srcdir/t/later.sh"
# shellcheck source=t/study.sh
. "$srcdir/t/study.sh"

own=$(unetctl --version)
own=${own#unetctl }
later_build 99.1 "$TMP/later"
later_install "$builddir" "$TMP/prefix"
PATH=$TMP/prefix/bin:$PATH
hash -r
is "$(unetctl --version)" "unetctl $own" "$own is installed"

# ---- a run in progress, a waiting one and the whole study
exits 0 "a data set" unet-train data synth --out data --count 10 --size 32x32 --seed 1
exits 0 "a study" unetctl init study --data data --site local --set data.height=32 \
    --set data.width=32 --set train.epochs=2 --set train.global_batch=4 --set model.base=2 \
    --set model.depth=1
cd study || exit 255
exits 0 "a run of $own" unetctl submit --gpus 1 --wait
exits 0 "a run that takes longer is submitted" unetctl submit --gpus 2 --set data.repeat=500 \
    --set train.epochs=1 --set train.checkpoint_s=0.2
hold() { # RUN: stops it when it has a checkpoint, so that it cannot end before it is cancelled
    [ -n "$(find "runs/$1/attempt-1/checkpoint" -name 'state-*.safetensors' 2>/dev/null)" ] &&
        signal_run STOP "runs/$1"
}
ok "the second run trains" wait_until 60 hold unet-g02-s1
exits 0 "a run that waits for the second is submitted" unetctl submit --gpus 3
is "$(states . | grep g03)" "unet-g03-s1 PENDING" "the third run is pending"

later_install "$TMP/later" "$TMP/prefix"
is "$(unetctl --version)" "unetctl 99.1" "99.1 is installed"
is "$(states . | tr '\n' ' ')" "unet-g01-s1 COMPLETED unet-g02-s1 RUNNING unet-g03-s1 PENDING " \
    "version 99.1 sees the states of the runs"
exits 0 "99.1 stops the one in progress" unetctl cancel unet-g02-s1
signal_run CONT runs/unet-g02-s1
exits 0 "and waits for the one that began after it was installed" unetctl watch unet-g03-s1
version_of() { sed -n '1s/.*"version":"\([^"]*\)".*/\1/p' "runs/$1/attempt-$2/record.jsonl"; }
is "$(version_of unet-g02-s1 1) $(version_of unet-g03-s1 1)" "$own 99.1" \
    "a run in progress keeps its program, a waiting one gets the new one"
exits 0 "99.1 resumes the run of $own" unetctl resume --wait
is "$(version_of unet-g02-s1 2)" "99.1" "the second attempt is that of version 99.1"
like runs/unet-g02-s1/attempt-2/record.jsonl \
    '"kind":"resume".*"from":"[^"]*attempt-1/.*"images":[1-9]' \
    "the second attempt continues from the checkpoint of $own"
exits 0 "99.1 collects" unetctl collect
like "$OUT" '3 of 3 runs collected' "the runs of both"
exits 0 "99.1 reports" unetctl report --text
exits 0 "so does $own, as the formats are the same" "$builddir/unetctl" report --text
cd "$TMP" || exit 255

# ---- ranks of two versions
cat >mixed <<END
#!/bin/bash
# Rank 1 has another version.
case \$TF_CONFIG in
*'"index":1'*) exec "$TMP/later/unet-train" "\$@" ;;
*) exec "$builddir/unet-train" "\$@" ;;
esac
END
chmod +x mixed
if [ -n "$(command -v mpirun)" ] && unet-train devices --json | grep -q '"mpi"\]'; then
    { cat "$srcdir/templates/sites/local.yaml"; echo "trainer: $TMP/mixed"; } >site.yaml
    exits 0 "a study" unetctl init both --data data --site ./site.yaml --set data.height=32 \
        --set data.width=32 --set strategy=multi-worker --set model.depth=1
    exits 1 "two ranks of two versions do not train together" unetctl submit -C both --gpus 2 --wait
    like <(unetctl status -C both) "FAILED .*unet-train 99.1.*unet-train $own" "both are named"
else
    skip "no mpirun, or built without MPI" "two ranks of two versions"
fi

# ---- a trainer that is older than unetctl
sed 's/"epochs"/"sharpness": 3, "epochs"/' study/runs/unet-g01-s1/run.json >run.json
broken run.json
exits 3 "a setting of a later unetctl" unet-train train --run run.json --out other
like "$ERR" "unknown key 'train.sharpness'.*unet-train 99.1" "is named, with the trainer's version"

# ---- a checkpoint of another plan of the network
cat >other.yaml <<'END'
model: other
of: masks
layers:
  - conv: {name: head, channels: classes, kernel: KERNEL}
END
sed 's/KERNEL/3/' other.yaml >model.yaml
train=(unet-train train --data data --size 32x32 --set model.name=model.yaml --set train.epochs=1)
exits 0 "a training" "$builddir/unet-train" "${train[@]:1}" --out first
sed 's/KERNEL/1/' other.yaml >model.yaml
exits 9 "a network that is planned otherwise" "${train[@]}" --set train.epochs=2 --resume first \
    --out second
like "$ERR" "was made by unet-train $own with another plan of the network, and this is 99.1" \
    "the error names both versions"

# ---- the helper
if [ -x later/unetctl-slurm ]; then
    mkdir odd
    printf '#!/bin/sh\nshift\nexec %s 5 "$@"\n' "$TMP/later/unetctl-slurm" >odd/unetctl-slurm
    chmod +x odd/unetctl-slurm
    make_study other generic --set slurm.interface=library
    exits 4 "a helper with another protocol" \
        env UNETCTL_LIBEXECDIR="$TMP/odd" "$builddir/unetctl" submit -C other --gpus 1
    like "$ERR" "unetctl-slurm is of version 99.1 .* protocol 4; what started it .* protocol 5" \
        "the error names its version and both protocols"
    like "$ERR" 'install both from one version' "the error says what to do"
else
    skip "built without libslurm" "a helper with another protocol"
fi

PATH=$builddir:$PATH
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"
for program in slurmctld slurmd munged srun; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
        skip "$program is not installed" "a helper of another version"
        done_testing
    }
done
sandbox_up --nodes 1 --gpus-per-node 2
make_study slurm sandbox
exits 0 "a job through the helper of 99.1" \
    env UNETCTL_LIBEXECDIR="$TMP/later" "$builddir/unetctl" submit -C slurm --gpus 1 --wait
is "$(states slurm | head -n 1)" "unet-g01-s1 COMPLETED" "the run is done"
done_testing

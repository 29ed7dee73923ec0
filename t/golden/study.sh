#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# study.sh DIR: makes the study that t1190-golden.t reads, in /srv/unetctl-study (the folder's name
# is part of it), with the unetctl on PATH, and moves it to DIR. Run once for a release, as root:
# unshare -u t/golden/study.sh "$PWD/t/golden/study-VERSION"
set -eu
target=${1:?usage: study.sh DIR}
hostname node1
home=$(mktemp -d)
export UNET_GPUS=fake HOME=$home XDG_STATE_HOME=$home XDG_CONFIG_HOME=$home
mkdir /srv/unetctl-study
cd /srv
unet-train data synth --out unetctl-study/data --count 10 --size 32x32 --seed 1
unetctl init unetctl-study --name study --data unetctl-study/data --site local \
    --set data.height=32 --set data.width=32 --set train.epochs=30 --set train.lr=0.1 \
    --set train.loss=ce+dice --set train.threads=1 --set train.global_batch=4 \
    --set model.base=2 --set model.depth=1
cd unetctl-study
cat >train.sh <<'END'
#!/bin/sh
# Each rank runs this; rank 0 writes the result.
[ "$RANK" = 0 ] || exit 0
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for epoch in $(seq 0 29); do
        echo "$epoch,0.5,0.25,$UNETCTL_TRAIN_LR,15.0,0.1,0.75"
    done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"
END
chmod +x train.sh
printf 'command:\n  script: ./train.sh\n' >>study.yaml
unetctl submit --gpus 1,2 --seeds 2 --wait
unetctl submit --gpus 1 --engine command --wait

# A run that stops within its epoch, with a checkpoint.
unetctl submit --gpus 4 --set data.repeat=3000 --set train.epochs=1
until grep -q progress runs/unet-g04-s1/attempt-1/record.jsonl 2>/dev/null; do sleep 0.1; done
unetctl cancel unet-g04-s1
until [ -e runs/unet-g04-s1/attempt-1/stopped ]; do sleep 0.1; done

# Checkpoints of runs that are done are large, and nothing reads them.
rm -f runs/unet-g0[12]-*/attempt-1/checkpoint/state-*
cd /
rm -rf "$home"
mv /srv/unetctl-study "$target"

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A program for `engine: command` (doc/FORMATS.md, "Engines"), in plain sh: rank 0 "trains" for
# UNETCTL_TRAIN_EPOCHS epochs and writes log.csv; every rank notes its arguments and environment.
# The file STUDY/behave says what it does:
#   (none)  log.csv is written      nothing  it is not           race    two ranks wrote it
#   short   an epoch is missing     nan      a loss is not a number exit3   fails
#   clock   epochs are too long     unended  a record without its end
#   hang    waits for a signal      killed   the same, but rank 0 is killed, as for its memory
#   slow    an epoch takes 0.2 s; as `resumes: true` asks, stops at a checkpoint and resumes from
#           it
set -eu
behave=good
if [ -e "$UNETCTL_STUDY_DIR/behave" ]; then behave=$(cat "$UNETCTL_STUDY_DIR/behave"); fi
{
    printf '%s\n' "$@"
    env | grep -E \
        '^(UNETCTL_[A-Z_]*|RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|GROUP_RANK|MASTER_[A-Z]*|OWN|OMP_DISPLAY_AFFINITY|CUDA_VISIBLE_DEVICES|[a-z_]*proxy)=' |
        sort
} >"$UNETCTL_ATTEMPT_DIR/told-$RANK"
case $behave in
exit3) exit 3 ;;
hang | killed)
    if [ "$behave$RANK" = killed0 ]; then kill -s KILL $$; fi
    trap 'exit 143' TERM
    while :; do sleep 0.2; done
    ;;
nothing) exit 0 ;;
slow)
    done=0 stop=
    trap 'stop=yes' USR1 TERM
    for dir in "$UNETCTL_RESUME_DIR" "$UNETCTL_ATTEMPT_DIR"; do
        if [ -e "$dir/checkpoint/epoch" ]; then
            done=$(cat "$dir/checkpoint/epoch")
            echo "engine: resumes after $done epochs of ${dir##*/}"
        fi
    done
    mkdir -p "$UNETCTL_ATTEMPT_DIR/checkpoint"
    while [ "$done" -lt "$UNETCTL_TRAIN_EPOCHS" ]; do
        sleep 0.2 || true
        done=$((done + 1))
        echo "$done" >"$UNETCTL_ATTEMPT_DIR/checkpoint/epoch"
        if [ -n "$stop" ]; then exit 75; fi
    done
    ;;
esac
[ "$RANK" = 0 ] || exit 0
log=$UNETCTL_ATTEMPT_DIR/log.csv
{
    if [ "$behave" = race ]; then printf '""\nme_per_epoch,loss,lr,training_time,test_time,iou\n'; \
        else
        echo ',time_per_epoch,loss,lr,training_time,test_time,iou'
    fi
    epoch=0 all=$((UNETCTL_TRAIN_EPOCHS / 2)) # 0.5 s each
    if [ "$behave" = clock ]; then all=0.1; fi
    while [ "$epoch" -lt "$UNETCTL_TRAIN_EPOCHS" ]; do
        loss=0.250000
        if [ "$behave" = nan ]; then loss=nan; fi
        echo "$epoch,0.5,$loss,0.001,$all,0.1,0.75"
        epoch=$((epoch + 1))
        if [ "$behave" = short ]; then break; fi
    done
} >"$log"
[ "$behave" = unended ] || exit 0
{
    printf '{"kind":"run","schema":1,"study":"s","run":"%s","seed":%d,"engine":"command","started":"","host":"h",' \
        "$UNETCTL_RUN" "$UNETCTL_SEED"
    printf '"gpus":%d,"nodes":1,"epochs":%d}\n' "$UNETCTL_GPUS" "$UNETCTL_TRAIN_EPOCHS"
} >"$UNETCTL_ATTEMPT_DIR/record.jsonl"

#!/bin/sh
# Each rank runs this; rank 0 writes the result.
[ "$RANK" = 0 ] || exit 0
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for epoch in $(seq 0 29); do
        echo "$epoch,0.5,0.25,$UNETCTL_TRAIN_LR,15.0,0.1,0.75"
    done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"

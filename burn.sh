#!/bin/sh
sleep "$1"
[ ! -e "$UNETCTL_POWERCAP" ] || echo 1000000 >"$UNETCTL_POWERCAP/intel-rapl:0/energy_uj"
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for i in 0 1 2; do echo "$i,0.4999$UNETCTL_SEED$UNETCTL_GPUS,0.$((5 - i)),0.01,1.5,0,0.75"; done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"

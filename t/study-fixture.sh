# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Study folders as doc/FORMATS.md and logs/SCHEMA.md describe them, with numbers that are known.
#
#   make_study DIR NAME GPUS SEEDS       study.yaml and an empty runs/
#   make_run DIR RUN GPUS SEED           run.json (4 epochs; RUN_TRAIN, RUN_MORE: further members of
#                                        train and of the whole)
#   make_attempt DIR RUN GPUS SEED K SECONDS IOU [OVERSUBSCRIBED]
#                                        a finished attempt: epochs of 3*SECONDS, SECONDS, ...
#   add_run DIR GPUS SEED SECONDS IOU [OVERSUBSCRIBED]   the two together, attempt 1

broken '*/run.json' # which have only what collect and report read
make_study() {
    mkdir -p "$1/runs" "$1/data"
    printf 'name: %s\ngpus: %s\nseeds: %s\ndata:\n  dir: data\n  height: 32\n  width: 32\n' "$2" \
        "$3" "$4" >"$1/study.yaml"
}

run_name() { printf 'unet-g%02d-s%d' "$1" "$2"; }

make_run() {
    mkdir -p "$1/runs/$2"
    cat >"$1/runs/$2/run.json" <<EOF
{"schema":1,"study":"s","study_id":"0","run":"$2","engine":"embedded","seed":$4,
 "train":{"epochs":4${RUN_TRAIN:+,$RUN_TRAIN}},"layout":{"gpus":$3,"nodes":$((($3 + 1) / 2))}${RUN_MORE:+,$RUN_MORE}}
EOF
}

make_attempt() {
    local dir=$1/runs/$2/attempt-$5 over=${8:-false}
    mkdir -p "$dir"
    awk -v run="$2" -v gpus="$3" -v seed="$4" -v s="$6" -v iou="$7" -v over="$over" -v dir="$dir" \
        'BEGIN {
        record = dir "/record.jsonl"; log_csv = dir "/log.csv"; total = 6 * s
        printf "{\"kind\":\"run\",\"schema\":1,\"study\":\"s\",\"run\":\"%s\",\"seed\":%d," \
            "\"engine\":\"embedded\",\"started\":\"2026-01-01T00:00:00Z\",\"host\":\"n1\",\"gpus\":%d," \
            "\"nodes\":%d,\"epochs\":4,\"oversubscribed\":%s}\n",
            run, seed, gpus, int((gpus + 1) / 2), over >record
        print ",time_per_epoch,loss,lr,training_time,test_time,iou" >log_csv
        for (e = 0; e < 4; e++) {
            t = e == 0 ? 3 * s : s; loss = 0.5 / (e + 1)
            printf "{\"kind\":\"epoch\",\"epoch\":%d,\"seconds\":%.6f,\"loss\":%.6f,\"lr\":0.001," \
                "\"images\":64,\"steps\":4,\"data_s\":0,\"compute_s\":0,\"comm_s\":%.6f,\"wait_s\":0}\n",
                e, t, loss, 0.25 * t >record
            printf "%d,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f\n", e, t, loss, 0.001, total, 0.5, iou >log_csv
        }
        end = sprintf("\"status\":\"done\",\"training_time\":%.6f,\"test_time\":0.5," \
            "\"startup_s\":0.25,\"iou\":%.6f,\"dice\":0.9,\"images_per_s\":%.6f}", total, iou, 64 / s)
        print "{\"kind\":\"end\"," end >record
        print "{\"schema\":1," end >(dir "/DONE")
    }'
}

add_run() {
    local name
    name=$(run_name "$2" "$3")
    make_run "$1" "$name" "$2" "$3"
    make_attempt "$1" "$name" "$2" "$3" 1 "$4" "$5" "${6:-false}"
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Energy that is measured beside runs, by a libnvidia-ml.so.1 (t/nvml.c) and a RAPL that this test
# makes.
. "$srcdir/t/lib.sh"
. "$srcdir/t/study.sh"
mkdir -p nvml powercap/intel-rapl:{0,0:0}
${CC:-cc} -I"$builddir" -shared -fPIC -w -o nvml/libnvidia-ml.so.1 "$srcdir/t/nvml.c" || skip_all 'no C compiler'
unset UNET_GPUS

cat >burn.sh <<'EOF'
#!/bin/sh
sleep "$1"
[ ! -e "$UNETCTL_POWERCAP" ] || echo 1000000 >"$UNETCTL_POWERCAP/intel-rapl:0/energy_uj"
{
    echo ,time_per_epoch,loss,lr,training_time,test_time,iou
    for i in 0 1 2; do echo "$i,0.4999$UNETCTL_SEED$UNETCTL_GPUS,0.$((5 - i)),0.01,1.5,0,0.75"; done
} >"$UNETCTL_ATTEMPT_DIR/log.csv"
EOF
chmod +x burn.sh
burn_study() { # DIR SECONDS ENV...
    local dir=$1 seconds=$2
    shift 2
    unetctl init "$dir" --site local --set train.epochs=3 -- ./burn.sh "$seconds" 2>/dev/null
    sed -i "s|^command:|&\n  env: {$(printf '%s, ' "$@" "LD_LIBRARY_PATH: $TMP/nvml")}|" \
        "$dir/study.yaml"
}
submit() { unetctl submit -C "$@" --wait --timeout 120; }
attempt() { echo "$1/runs/command-$2/attempt-1"; }
# What the last row of a device says in a column.
last() { # STUDY RUN DEVICE COLUMN
    awk -F, -v d="$3" -v c="$4" '$2 == d { v = $c } END { print v }' "$(attempt "$1" "$2")"/energy-*
}
near() { awk -v x="$1" -v y="$2" 'BEGIN { exit !(x > 0.7 * y && x < 1.5 * y) }'; }
no_sampler() { ! pgrep -f "unetctl energy .*$TMP"; }

# ---- GPUs
burn_study two 1.6 'NVML_XID: 0.3' 'NVML_XID_NUMBER: 31'
exits 0 "runs on 1 and 2 GPUs" submit two --gpus 1,2 --seeds 2
is "$(cut -d, -f2 "$(attempt two g01-s1)"/energy-* | sort -u | paste -sd' ')" "GPU-0 device" \
    "a run on 1 GPU measures one of the node's two"
ok "its joules are watts times seconds" near "$(last two g01-s1 GPU-0 3)" 160
ok "those of the other GPU, too" near "$(last two g02-s1 GPU-1 3)" 320
is "$(last two g02-s1 GPU-1 5) $(last two g02-s1 GPU-1 6) $(last two g02-s1 GPU-1 7)" \
    "0.8000 1.0000 1024" "its use, throttling and memory"
like <(cat "$(attempt two g02-s1)"/energy-*) ',XID 31$' "an XID of the program is noted"
ok "and not its node" test ! -e "$(attempt two g02-s1)/bad-nodes"
ok "no sampler outlives its run" wait_until 5 no_sampler
exits 0 "collect" unetctl collect -C two
like "$OUT" 'command-g02-s1: done.* 0\.[0-9]* kJ' "names it"
exits 0 "report" unetctl report -C two
like two/report/report.md 'fewest joules: 1 GPU \(.* kWh\)' "the count with the fewest joules"
like two/report/report.md '\| W per GPU \| busy \| throttled \| memory MiB \|' "a table of energy"
like <(field two/report/report.json 'd["engines"][0]["points"][1]["gpu_watts"]["median"]') \
    '^1[45][0-9]\.' "the mean power of both GPUs"
ok "joules until the quality was reached" near \
    "$(field two/report/report.json 'd["engines"][0]["convergence"]["points"][1]["energy_kwh"]*3.6e6')" 450

# ---- bad input
burn_study lost 2.5 'NVML_LOST: 0.6' 'NVML_POWER: only' 'NVML_XID: 0.3'
exits 0 "a run with a GPU that vanishes" submit lost --gpus 2
unetctl collect -C lost 2>&1 | tr -s '\n ' ' ' >line
like line "not known: [5-9][0-9] % of its GPUs' time was measured; .*, GPU-1: it cannot be read any more: GPU is lost" \
    "its energy is not known, and why"
like <(cat "$(attempt lost g02-s1)"/energy-*) 'GPU-1,.*GPU is lost$' "which its file has"
ok "the other GPU, which has no counter, is measured by its power" near "$(last lost g02-s1 GPU-0 3)" 250
burn_study both 4
sed 's/^max_in_flight: .*/max_in_flight: 2/' "$srcdir/templates/sites/local.yaml" >both.yaml
exits 0 "two runs at once on one GPU" submit both --site ./both.yaml --gpus 1 --seeds 2
is "$(cat both/runs/*/attempt-1/energy-* | grep -c 'another run uses it, too')" 2 \
    "both note that its energy is not theirs"
unlike <(unetctl collect -C both 2>&1) 'kJ' "and have none"
burn_study killed 60 'NVML_XID: 0.3' 'NVML_RESET: 1.5'
exits 0 "a run" unetctl submit -C killed --gpus 2
measured() { grep -q "GPU-1,[4-9][0-9][0-9]" killed/runs/*/attempt-1/energy-*; }
ok "that is measured, also when a counter begins anew" wait_until 30 measured
like <(cat "$(attempt killed g02-s1)"/energy-*) ',XID 79$' "what the driver reports is noted"
like "$(attempt killed g02-s1)/bad-nodes" '^[0-9]+ [^ ]+ XID 79 of GPU-1$' "and the node, as it is of the hardware"
exits 6 "watch" unetctl watch -C killed --every 1 --timeout 2
like "$ERR" 'command-g02-s1: starting  300 W, 80 % busy' "shows the power of its GPUs"
exits 0 "it is cancelled" unetctl cancel --yes -C killed
ok "and has no sampler any more" wait_until 30 no_sampler
like <(cat "$(attempt killed g02-s1)"/energy-*) ',GPU-1,[4-9]' "what was measured is kept"

# ---- CPU packages
echo package-0 >powercap/intel-rapl:0/name
echo core >powercap/intel-rapl:0:0/name
echo 900000000 | tee powercap/intel-rapl:0/energy_uj >powercap/intel-rapl:0:0/energy_uj
echo 1000000000 >powercap/intel-rapl:0/max_energy_range_uj
burn_study cpus 0.5 'NVML_GPUS: 0' "UNETCTL_POWERCAP: $TMP/powercap"
exits 0 "a run on CPUs" submit cpus --gpus 1,2
like <(cat cpus/runs/*/attempt-1/energy-*) 'cpu0,101.000,' "a counter that wraps is counted on"
exits 0 "report" unetctl report -C cpus
like cpus/report/report.md 'CPUs kWh' "the packages have a column of their own"
unlike cpus/report/report.md '\| kWh \|' "and are no energy of GPUs"
burn_study none 0.1 'NVML_GPUS: 0' 'UNETCTL_POWERCAP: none'
exits 0 "a run where nothing can be measured" submit none --gpus 1
is "$(find none/runs -name 'energy*')" "" "has no file"
unlike <(cat "$(attempt none g01-s1)"/slurm-*.out) 'energy|NVML' "and nothing is said"
UNETCTL_POWERCAP=none LD_LIBRARY_PATH=$TMP/nvml unetctl doctor -C none >"$OUT" 2>&1
like "$OUT" 'energy.*of GPUs: by NVML; of CPU packages: not measured' "doctor says what can be"
exits 2 "a process that is not there is refused" unetctl energy --pid 99999999 "$TMP"
like "$ERR" 'there is no process 99999999' "by one line"
# ---- runs on GPUs of different models
burn_study models 0.1 'NVML_NAME: A100'
ok "runs on a first model" submit models --gpus 1,2
sed -i 's/NVML_NAME: A100/NVML_NAME: H100/' models/study.yaml
ok "runs on another one" submit models --gpus 2,3 --seeds 2
is "$(cat "$(attempt models g03-s1)"/gpus)" "GPU-0,H100
GPU-1,H100" "a run notes the models of its GPUs"
ok "collect" unetctl collect -C models
ok "report" unetctl report -C models --json models.json
is "$(python3 - <<'EOT'
import json
d = json.load(open("models.json"))
print(*sorted((s["engine"], [p["gpus"] for p in s["points"]]) for s in d["engines"]))
EOT
)" "('command', [1, 2]) ('command', [2, 3])" \
    "runs on different models are never one series"
like models/report/report.md '(burn.sh, device A100)' "and the report names them"
done_testing

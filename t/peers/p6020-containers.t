#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# container: IMAGE with real runtimes: a program that only the image has, and unet-train, mounted or in
# the image; on this machine, and with a rank on each of two nodes of a private Slurm. The image is a
# small root of busybox and what unet-train and Open MPI load. Where the kernel does not permit a
# runtime, its tests are skipped with what it says.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/sandbox.sh"

busybox=$(command -v busybox)
if [ -z "$busybox" ] || ldd "$busybox" >/dev/null 2>&1; then
    skip_all 'busybox-static is not installed'
fi
# Podman's crun needs control groups of version 2 alone.
if [ -d /sys/fs/cgroup/unified ] && [ -z "${CONTAINERS_OWN:-}" ] && unshare -m true 2>/dev/null; then
    cleanup
    cd / || exit 255
    # shellcheck disable=SC2016 # the inner shell's
    CONTAINERS_OWN=yes exec unshare -m sh -c 'umount -R -l /sys/fs/cgroup
        mount -t cgroup2 none /sys/fs/cgroup && exec bash "$0"' \
        "$srcdir/t/peers/p6020-containers.t"
fi

root=$TMP/root libraries=/usr/lib/$(cc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
mkdir -p root/{bin,dev,etc,opt,proc,sys,tmp,usr/bin}
touch root/etc/{group,hosts,resolv.conf}
echo 'root:x:0:0::/tmp:/bin/sh' >root/etc/passwd # where PMIx looks for the user's folder
cp "$busybox" root/bin/busybox
for name in sh cat env test true sleep; do ln -s busybox "root/bin/$name"; done
cp "$(command -v unet-train)" root/opt/unet-train
for name in root/opt/unet-train "$libraries"/{openmpi/lib/openmpi3,pmix2/lib/pmix}/*.so; do
    case $name in /*) echo "$name" ;; esac
    ldd "$name" 2>/dev/null | grep -o '/[^ ]*'
done | sort -u | xargs cp -L --parents -t root
cp -rL --parents /etc/openmpi /usr/share/openmpi root 2>/dev/null
cat >root/opt/sim <<'END'
#!/bin/sh
# Rank 0 writes a log of two steps a second.
[ "$RANK" = 0 ] || exit 0
cat "$1" /etc/inside >"$UNETCTL_ATTEMPT_DIR/seen"
env >"$UNETCTL_ATTEMPT_DIR/environment"
printf 'step,time,loss\n1,0.5,0.9\n2,1,0.8\n3,1.5,0.7\n' >"$UNETCTL_ATTEMPT_DIR/log.csv"
END
chmod +x root/opt/sim
echo 'in the image' >root/etc/inside
mkdir input && echo 'on the host' >input/text

export CONTAINERS_CONF=$TMP/containers.conf CONTAINERS_STORAGE_CONF=$TMP/storage.conf
printf '[containers]\ndefault_ulimits = []\n' >containers.conf # as they are: root may lack rights
printf '[storage]\ndriver = "overlay"\ngraphroot = "%s"\nrunroot = "%s"\n' "$TMP/store" "$TMP/run" \
    >storage.conf
unmount() { umount "$TMP/store/overlay" 2>/dev/null; }
cleanup_hooks+=(unmount)
exits 0 "data" unet-train data synth --out data --count 12 --size 32x32
sandbox_up --nodes 2 --gpus-per-node 1
sed 's/^gpus_per_node: .*/gpus_per_node: 1/' "$srcdir/templates/sites/sandbox.yaml" >nodes.yaml
cp "$srcdir/templates/sites/local.yaml" local.yaml

staged=$(mktemp -d /var/tmp/unetctl-stage.XXXXXX) # containers have all of /tmp
unstage() { rm -rf "$staged"; }
cleanup_hooks+=(unstage)

try() { # RUNTIME IMAGE: does it start here?
    bash "$srcdir/templates/container.sh" "$1" "$2" "$TMP" -- true >"$OUT" 2>"$ERR"
}
program() { # RUNTIME IMAGE SITE GPUS
    local name=$1-sim-$3 attempt=$1-sim-$3/runs/mpi-g0$4-s1/attempt-1
    unetctl init "$name" --engine mpi --site "./$3.yaml" --set "container=$2" \
        --set "container_runtime=$1" -- /opt/sim "$TMP/input/text" 2>"$ERR" || diag <"$ERR"
    sed -i "s#^  script:.*#&\n  env: {OWN: \"a 'b'\"}#" "$name/study.yaml"
    exits 0 "$1, $3: doctor" unetctl doctor -C "$name"
    like "$OUT" "^ok +container +$2 starts" "$1, $3: it starts the container"
    exits 0 "$1, $3: a program of the image" unetctl submit -C "$name" --gpus "$4" --wait --timeout 120
    is "$(cat "$attempt/seen")" $'on the host\nin the image' "$1, $3: it sees the image, and its arguments' folder"
    is "$(grep -c -E "^(OWN=a 'b'|UNETCTL_GPUS=$4|WORLD_SIZE=$4|MASTER_ADDR=.+)$" "$attempt/environment")" 4 \
        "$1, $3: and the environment"
    like "$attempt/source.sha256" "^[0-9a-f]{64}  container $2$" "$1, $3: the image is hashed"
}
train() { # RUNTIME IMAGE SITE WHERE [FOLDER FOR data.stage]
    local name=$1-unet-$3-$4
    unetctl init "$name" --data data --site "./$3.yaml" --set "container=$2" --set model.depth=2 \
        --set "container_runtime=$1" --set train.epochs=2 --set train.threads=1 2>"$ERR" || diag <"$ERR"
    exits 0 "$1, $3: unet-train, $4" unetctl submit -C "$name" --gpus 2 --wait --timeout 180
    like "$name"/runs/unet-g02-s1/attempt-1/record.jsonl '"status": ?"done"' "$1, $3: it trains on 2 ranks"
    [ -n "${5:-}" ] || return 0
    exits 0 "$1, $3: with data.stage" unetctl submit -C "$name" --gpus 1 --wait --timeout 180 --set "data.stage=$5"
    like <(cat "$name"/runs/unet-g01-s1/attempt-1/slurm-*.out) "the data are read from $5/unetctl-" \
        "$1, $3: it trains on the copy, which the container has"
}
runtime() { # RUNTIME IMAGE
    if ! command -v "${3:-$1}" >/dev/null; then
        skip "$1 is not installed" "$1"
        return
    elif ! try "$1" "$2"; then
        skip "$1 starts no container here: $(tail -n 1 "$ERR")" "$1"
        return
    fi
    program "$1" "$2" local 2
    program "$1" "$2" nodes 2
    train "$1" "$2" local mounted "$staged"
    train "$1" "$2" nodes mounted /dev/shm
    sed -i 's#^trainer:.*##; $a trainer: /opt/unet-train' nodes.yaml
    train "$1" "$2" nodes 'in the image'
    sed -i '/^trainer:/d' nodes.yaml
    exits 0 "$1: doctor --gpus 2" unetctl doctor -C "$1-unet-nodes-mounted" --gpus 2
    exits 5 "$1: an image without Python" unetctl doctor -C "$1-unet-local-mounted" --engine pytorch \
        --set model.batch_norm=local
    like "$OUT" '^error +container .*: python3 does not start: ' "$1: one line says so"
}

runtime charliecloud "$TMP/root" ch-run
if command -v podman >/dev/null; then
    tar -C root -c . | podman import -q - localhost/small:1 >"$OUT" 2>"$ERR" || diag <"$ERR"
fi
runtime podman localhost/small:1
if command -v podman >/dev/null && try podman localhost/small:1; then
    exits 1 "a name that Podman does not have" unetctl submit -C podman-unet-local-mounted --gpus 3 --wait \
        --set container=localhost/none:1
    like podman-unet-local-mounted/runs/unet-g03-s1/attempt-1/FAILED 'localhost/none:1: image not known' \
        "FAILED says so"
fi
if command -v apptainer >/dev/null; then
    ok "apptainer build" apptainer build small.sif "$root"
fi
runtime apptainer "$TMP/small.sif"

# ---- another image is another series
if [ -d charliecloud-sim-local ]; then
    cp -a root other
    exits 0 "another image" unetctl submit -C charliecloud-sim-local --gpus 1 --wait --timeout 120 \
        --set "container=$TMP/other"
    exits 8 "report" unetctl report -C charliecloud-sim-local --text
    like "$ERR" 'mpi, script [0-9a-f]{8} \(1 GPU\); mpi, script [0-9a-f]{8} \(2 GPUs\)' \
        "its runs are another series"
fi
done_testing

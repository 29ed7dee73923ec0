#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The trainer with MPICH: configure takes its wrapper, ranks under its mpirun and under srun train
# to the weights that threads have; a rank that fails, is stuck or killed ends the run with a text
# that names it, also in a study on a sandbox. Only what calls MPI is built again, and linked with
# this build's objects.
# shellcheck source=t/lib.sh
. "${srcdir:=$(dirname "$0")/..}/t/lib.sh"
# shellcheck source=t/sandbox.sh
. "$srcdir/t/sandbox.sh"

for program in mpicc.mpich mpirun.mpich make; do
    command -v $program >/dev/null || skip_all "$program is not installed"
done
unet-train devices --json | grep -q '"mpi"\]' || skip_all "built without MPI"

mkdir source probe bin
ln -s "$srcdir"/{configure,build-aux,src} source/
cd probe || exit 255
exits 1 "configure wants the wrapper that it is given" \
    ../source/configure --no-create --with-{slurm,cuda,tiff,jpeg}=no MPICC=mpicc.none
like "$ERR" 'mpicc.none was asked for but mpi was not found' "the error names the wrapper"
ok "configure takes the wrapper of MPICH" \
    ../source/configure --no-create --with-{slurm,cuda,tiff,jpeg}=no MPICC=mpicc.mpich
like "$OUT" '^ *MPI  *yes' "configure finds MPI"
cflags=$(sed -n "s/^MPI_CFLAGS='\(.*\)'/\1/p" config.log)
libs=$(sed -n "s/^MPI_LIBS='\(.*\)'/\1/p" config.log)
cd ..
cat >rules.mk <<'END'
include Makefile
flags = $(AM_CFLAGS) $(OPENMP_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS)
$(B)/unet-train: $(B)/comm_mpi.o
	$(CC) $(flags) -o $@ $^ $(unet_train_OBJECTS) $(unet_train_LDADD) $(LIBS)
$(B)/comm_mpi.t: $(B)/comm_mpi.o
	$(CC) $(flags) -o $@ $^ $(trainer_comm_test_comm_mpi_t_OBJECTS) \
	    $(unet_train_LDADD) $(LIBS)
$(B)/%.o: $(srcdir)/trainer/comm/%.c
	$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(libtrainer_a_CPPFLAGS) $(CPPFLAGS) $(flags) -Werror -c -o $@ $<
END
ok "it compiles without a warning" make -s -C "$builddir" -f "$TMP/rules.mk" B="$TMP/bin" \
    MPI_CFLAGS="$cflags" MPI_LIBS="$libs" "$TMP/bin/unet-train" "$TMP/bin/comm_mpi.t"
[ -x bin/unet-train ] || done_testing
PATH=$TMP/bin:$PATH
# Shared memory: over TCP this MPICH may hang as it ends.
export UCX_TLS=self,posix,sysv
ok "devices" unet-train devices
like "$OUT" 'mpi \(MPICH [0-9.]+\)$' "devices names the MPI library"

for what in '' async fused; do
    ok "all collectives ${what:+($what)}" timeout 60 mpirun.mpich -n 3 comm_mpi.t $what
    like "$OUT" '^ok 1 - mpi: all collectives, 3 ranks, MPICH [0-9.]*:' "the collectives are exact"
done
ok "gradients as 16 bits" timeout 60 env UNET_SHARED_MEMORY=off mpirun.mpich -n 3 comm_mpi.t bf16
# To a file: this mpirun may end before it has passed on what a rank printed last.
exits 7 "a rank that fails takes the run down with its exit code" \
    timeout 60 mpirun.mpich -n 3 bash -c 'exec comm_mpi.t fail >>failed.out'
like failed.out 'rank 1.*: image 7 is broken' "the others hear of it, and from whom"

ok "synthetic data" unet-train data synth --out data --count 40 --size 64x64 --seed 2
ok "its split" unet-train data split --data data --out split.json
train=(unet-train train --data "$TMP/data" --size 32x32 --set model.base=4 --set model.depth=2 \
    --threads 1 --set train.lr_scaling=none
    --set data.split="$TMP/split.json" --batch-size 4)
weights() { sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1/DONE"; }
ok "three threads" "${train[@]}" --gpus 3 --epochs 3 --out threads
ok "three ranks of mpirun" timeout 60 mpirun.mpich -n 3 "${train[@]}" --epochs 3 --out ranks
is "$(weights ranks)" "$(weights threads)" "ranks and threads have the same weights"

is_rank() { tr '\0' '\n' <"/proc/$2/environ" | grep -qx "PMI_RANK=$1"; } # RANK PROCESS
send() { # SIGNAL RANK OUT: to a rank that trains
    local p
    wait_until 60 grep -q '"kind":"checkpoint"' "$3/record.jsonl" || return
    for p in $(pgrep -f -- "^unet-train .*--out $TMP/$3"); do
        if is_rank "$2" "$p"; then kill "-$1" "$p" && return; fi
    done
    return 1
}
port=$((20000 + $$ % 12000)) # below the ports that the kernel gives away itself
cat >rank.sh <<'END'
workers="\"$H:$P\",\"$H:$((P + 1))\",\"$H:$((P + 2))\""
export TF_CONFIG="{\"cluster\":{\"worker\":[$workers]},\"task\":{\"type\":\"worker\",\"index\":$PMI_RANK}}"
exec "$@"
END
begin() { # OUT
    H=$(uname -n) P=$port mpirun.mpich -n 3 bash rank.sh "${train[@]}" --set train.timeout_s=3 \
        --epochs 100000 --set train.checkpoint_epochs=1 \
        --out "$TMP/$1" >"$1.out" 2>&1 &
    launcher=$!
}
left_over() { pgrep -fc -- "^unet-train .*--out $TMP/"; }
begin stopped
ok "a rank is stopped" send STOP 1 stopped
wait $launcher
is "$?" 5 "the run ends with exit code 5"
like stopped/FAILED "\"exit_code\":5,\"error\":\"rank 1 on $(uname -n): no answer" \
    "the marker names the stopped rank"
is_clear() { [ "$(left_over)" = 0 ]; }
ok "no process is left" wait_until 10 is_clear
# This mpirun kills the others at once.
port=$((port + 3))
begin killed
ok "a rank is killed" send KILL 2 killed
# That of MPICH 4.2 may take no notice of it (pmodels/mpich 7057): a run is done by its DONE alone.
if wait $launcher; then
    like <(mpichversion) '^MPICH Version: *4\.2' "an mpirun that ends with exit code 0 is MPICH 4.2's"
else
    ok "mpirun fails"
    like killed.out 'Killed \(signal 9\)' "the output names the signal"
fi
ok "the run is not done" test ! -e killed/DONE
ok "no process is left" wait_until 10 is_clear
ok "no checkpoint is lost" compgen -G 'killed/checkpoint/state-*'

# --- two nodes of a Slurm
sandbox_up --nodes 2 --gpus-per-node 2
login srun --mpi=list 2>&1 | grep -q pmi2 || done_testing
PMI2=(timeout 60 unetctl sandbox exec -- srun --immediate=60 --kill-on-bad-exit=1 --mpi=pmi2 -N2 \
    -n3)
unset UCX_TLS
ok "all collectives, 3 ranks of srun on 2 nodes" "${PMI2[@]}" "$TMP/bin/comm_mpi.t"
like "$OUT" '^ok 1 - mpi: all collectives, 3 ranks, MPICH [0-9.]*:' "the collectives are exact"
train[0]=$TMP/bin/unet-train
ok "3 ranks of srun train on 2 nodes" "${PMI2[@]}" "${train[@]}" --epochs 3 --out "$TMP/nodes"
is "$(weights nodes)" "$(weights threads)" "ranks and threads have the same weights"

# --- studies there
begin_study() { # DIR DATA PMI [UNETCTL INIT OPTIONS]
    mkdir "$1"
    { sed "s/--mpi=pmix/--mpi=$3/" "$srcdir/templates/sites/sandbox.yaml"; echo \
        "trainer: $TMP/bin/unet-train"; } >"$1/site.yaml"
    unetctl init "$1" --data "$2" --site "$TMP/$1/site.yaml" --set data.height=32 \
        --set data.width=32 --set model.base=4 \
        --set model.depth=2 --set train.batch_per_gpu=4 --set train.epochs=3 "${@:4}" 2>"$ERR" ||
        diag <"$ERR"
}
attempt() { echo "$1/runs/unet-g03-s1/attempt-1"; }
says() { cat "$(attempt "$1")"/slurm-*.out; }
# STUDY TEXT: its marker and status say so, and so does what the ranks had time to print
fails() {
    like "$(attempt "$1")/FAILED" "\"error\":\"$2" "the marker has rank, host and reason"
    like <(unetctl status -C "$1") "^unet-g03-s1 +FAILED .*$2" "status has rank, host and reason"
    # Its own line, and with newer releases of MPICH that of another rank which heard of it.
    is "$(says "$1" | sed -nE 's/^unet-train: (error|warning): //p' | grep -vE "^$2")" "" \
        "every line of the ranks names the same rank and reason"
}
begin_study good data pmi2
exits 0 "a study on 1, 2 and 3 GPUs" unetctl submit -C good --gpus 1..3 --wait --timeout 120
exits 0 "the study is collected" unetctl collect -C good
is "$(cut -d, -f3,4,7 good/logs/results.csv | paste -sd' ')" \
    "gpus,nodes,state 1,1,done 2,1,done 3,2,done" "the table has the results of all runs"
like "$(attempt good)/record.jsonl" '"mpi":"MPICH [0-9.]+"' "of MPICH's ranks"

cp -r data broken
begin_study bad "$TMP/broken" pmi2
ok "its split" unet-train data split --data broken --out bad/split.json
mapfile -t images < <(grep -o '"image":"[^"]*"' bad/split.json | sed 's/.*:"//; s/"$//')
ok "an image changes" cp "broken/${images[1]}" "broken/${images[0]}"
exits 1 "a rank that fails amid a sum ends the run" unetctl submit -C bad --gpus 3 \
    --wait --timeout 120
fails bad "rank [0-2] on node[12]: .*${images[0]}: the file is not the one"
like "$(attempt bad)/FAILED" '"exit_code":7' "the marker has the exit code of the rank"

begin_study lost data pmi2 --set train.epochs=100000 --set train.checkpoint_epochs=1 \
    --set train.timeout_s=20
exits 0 "a run" unetctl submit -C lost --gpus 3
ok "the run trains" wait_until 60 grep -q '"kind":"checkpoint"' "$(attempt lost)/record.jsonl"
# shellcheck disable=SC2016 # expanded there
ok "a rank is killed" login bash -c 'for p in $(pgrep -f "^$1 train"); do
    if tr "\0" "\n" </proc/$p/environ | grep -qx PMI_RANK=2; then exec kill -KILL $p; fi; done; exit 1' - "$TMP/bin/unet-train"
exits 1 "the others end within train.timeout_s" unetctl watch -C lost --timeout 20
fails lost "rank 2 on node2 is gone: it was killed or has crashed"
like "$(attempt lost)/FAILED" '"exit_code":5' "exit code 5"
ok "no checkpoint is lost" compgen -G "$(attempt lost)/checkpoint/state-*"

if login srun --mpi=list 2>&1 | grep -q pmix; then
    begin_study pmix data pmix
    exits 1 "srun --mpi=pmix, which Debian's MPICH does not know" unetctl submit -C pmix --gpus 3 \
        --wait --timeout 120
    like "$(attempt pmix)/FAILED" \
        '"exit_code":5,"error":"rank [0-2] on node[12]: .* --mpi=pmi2 \(MPICH\)' \
        "the error names the type that MPICH supports"
fi
done_testing

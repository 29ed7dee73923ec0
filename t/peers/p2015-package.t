#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# python/ as a package, unetctl: its wheel is built and installed in an environment of
# its own, and the scripts of each engine run there without the folder that unetctl names.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/study.sh"
need_python numpy PIL pip

cp -rL "$srcdir/python" package # its schemas are links to files outside of it
chmod -R u+w package
python3 -m pip -q wheel --no-deps -w dist ./package >"$OUT" 2>"$ERR" || {
    if ! python3 -c 'import setuptools, wheel' 2>/dev/null; then
        skip_all "no network, and setuptools and wheel are not installed"
    fi
    exits 0 "the wheel, without the network" \
        python3 -m pip -q wheel --no-deps --no-build-isolation -w dist ./package
}
version=$(unetctl --version)
version=${version#unetctl }
ok "its wheel is of this version" test -e "dist/unetctl-$version-py3-none-any.whl"
is "$(python3 -m zipfile -l dist/*.whl | grep -cE '^unetctl.*\.(py|json) ')" \
    "$(find "$srcdir/python" \( -name '*.py' -o -name '*.json' \) -not -path '*/test/*' | wc -l)" \
    "and has every file"

exits 0 "an environment" python3 -m venv own
python3 -c 'import sys; print(*(p for p in sys.path if p.endswith("-packages")), sep="\n")' \
    >"$(echo own/lib/python*/site-packages)/peers.pth"
exits 0 "pip install" own/bin/pip -q install --no-deps --no-index dist/*.whl
exits 0 "import" env -u PYTHONPATH own/bin/python -c 'import unetctl_run; print(unetctl_run.__file__)'
like "$OUT" "$TMP/own/.*site-packages/unetctl_run/" "from there"

# What engines run: without what unetctl adds to PYTHONPATH, as if its folder were not to be seen.
cat >python <<END
#!/bin/sh
unset PYTHONPATH
cd "$TMP"
"$TMP/own/bin/python" -c 'import unetctl_run; print("package:", unetctl_run.__file__)'
exec "$TMP/own/bin/python" "\$@"
END
chmod +x python
unet-train data synth --out data -n 12 --size 32x48 --seed 3 2>/dev/null
exits 0 "a study" unetctl init study --data data --site local --set data.scale=full --set data.height=32 \
    --set data.width=48 --set model.base=4 --set model.depth=2 --set model.batch_norm=none \
    --set train.epochs=3 --set train.batch_per_gpu=2 --set train.lr=0.01 \
    --set train.lr_scaling=none
for engine in pytorch:torch tensorflow:tensorflow horovod:horovod; do
    printf '%s:\n  python: %s\n  env: {OMP_NUM_THREADS: 1}\n' "${engine%:*}" "$TMP/python" \
        >>study/study.yaml
done
for engine in pytorch:torch tensorflow:tensorflow horovod:horovod; do
    module=${engine#*:} engine=${engine%:*}
    if ! python3 -c "import $module" 2>/dev/null; then
        skip "$module is not installed" "$engine"
        continue
    fi
    exits 0 "$engine: 1 and 2 GPUs" unetctl submit -C study --engine "$engine" --gpus 1,2 --wait \
        --timeout 500
    for run in "$engine-g01-s1" "$engine-g02-s1"; do
        like <(states study) "$run COMPLETED" "$run is done" ||
            tail -n 20 "study/runs/$run"/attempt-1/*.out | diag
        like <(cat "study/runs/$run"/attempt-1/*.out) "package: $TMP/own/" "$run: by the package"
    done
done
sed 's/"schema": *1/"schema": 2/' "$(find study/runs -name run.json | head -n 1)" >later.json
exits 1 "a run.json of a later version" env -u PYTHONPATH UNETCTL_RUN_JSON=later.json \
    UNETCTL_SPLIT=study/split.json own/bin/python -c 'import unetctl_run; unetctl_run.Run()'
like "$ERR" 'later.json: schema 2: this unetctl reads schema 1' "is refused"
done_testing

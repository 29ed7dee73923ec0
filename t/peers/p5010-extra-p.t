#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Extra-P reads the file that report writes for it, with every value, and fits models to them.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
. "$srcdir/t/study-fixture.sh"
need_python extrap

make_study s demo 1,2,3,4,6 2
for n in 1 2 3 4 6; do
    add_run s $n 1 "$(awk "BEGIN { print 12 / $n + 0.5 }")" 0.9
    add_run s $n 2 "$(awk "BEGIN { print 12.1 / $n + 0.5 }")" 0.9
done
exits 0 "a report" unetctl report -C s
ok "Extra-P models the steady epoch" python3 - s/report/extra-p.json <<'EOF_PYTHON'
import sys
from extrap.fileio.file_reader.json_file_reader import JsonFileReader
from extrap.modelers.model_generator import ModelGenerator
experiment = JsonFileReader().read_experiment(sys.argv[1])
assert [str(p) for p in experiment.parameters] == ["gpus"]
assert [c.as_tuple() for c in experiment.coordinates] == [(1,), (2,), (3,), (4,), (6,)], experiment.coordinates
values = {(str(c), str(m)): v for (c, m), v in experiment.measurements.items()}
steady = values["embedded", "steady_epoch"]
assert abs(steady[0].minimum - 12.5) < 1e-6 and abs(steady[0].maximum - 12.6) < 1e-6, steady[0]
assert abs(steady[1].minimum - 6.5) < 1e-6, steady[1]
ModelGenerator(experiment).model_all()
EOF_PYTHON
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# unetctl spec against TensorFlow: what its resolvers read from our TF_CONFIG, and what its own
# resolver for Slurm makes of the same variables.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
need_python tensorflow

ok 'TFConfigClusterResolver reads what unetctl spec prints' python3 -c '
import os, subprocess
import tensorflow as tf
text = subprocess.run(["unetctl", "spec", "--nodelist", "n[08-11]", "--tasks-per-node", "2(x3),1",
                       "--rank", "4"], check=True, stdout=subprocess.PIPE, text=True).stdout
os.environ["TF_CONFIG"] = text
r = tf.distribute.cluster_resolver.TFConfigClusterResolver()
want = [f"n{h}:{8888 + s}" for h, n in (("08", 2), ("09", 2), ("10", 2), ("11", 1)) for s in range(n)]
assert r.cluster_spec().as_dict() == {"worker": want}, r.cluster_spec().as_dict()
assert (r.task_type, r.task_id) == ("worker", 4), (r.task_type, r.task_id)
assert r.master() == "n10:8888", r.master()'
done_testing

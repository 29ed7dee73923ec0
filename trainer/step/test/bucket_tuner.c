/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/step/bucket_tuner.h"

#include "t/tap.h"

/* Tunes with simulated times: a cost of each slice, one of waiting for the last slice, and
 * disturbances. Returns the choice. */
static size_t tune(size_t nparams, double slice_s, double late_s, int *nsteps)
{
    struct bucket_tuner t;
    bool done = false;

    bucket_tuner_begin(&t, nparams);
    for (*nsteps = 0; !t.done && *nsteps < 1000; ++*nsteps) {
        size_t size = bucket_tuner_size(&t), n = (nparams + size - 1) / size;
        double s = 0.01 + (double)n * slice_s + late_s * (double)size / (double)nparams;
        done = bucket_tuner_add(&t, s + (*nsteps % 7 == 3 ? 0.5 : 0));
    }
    if (!done && *nsteps)
        bail_out("it does not end");
    return bucket_tuner_size(&t);
}

int main(void)
{
    size_t all = 10 << 20;
    int n;

    is_int(tune(all, 0.001, 0, &n), all, "slices cost: one for all (%d steps)", n);
    is_int(n, 3 + 5 * 5, "five sizes, five steps each, behind three");
    is_int(tune(all, 0, 0.1, &n), 65536, "waiting for the last slice costs: the smallest");
    is_int(tune(all, 0.0001, 0.01, &n), 1 << 20, "both: in between");
    is_int(tune(all, 0, 0, &n), all, "no difference: one for all");
    is_int(tune(1000, 1, 1, &n), 1000, "few gradients: nothing to choose");
    is_int(n, 0, "and no step to lose");
    return done_testing();
}

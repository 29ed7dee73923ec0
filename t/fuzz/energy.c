/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of energy: a track has finite times and joules, and at least one row; between rows its
 * joules lie between theirs. */
#include "src/base.h"
#include "launcher/energy/energy.h"

#include <math.h>

#include "t/fuzz/fuzz.h"

static void check_track(const struct energy_track *t)
{
    double middle = t->n > 1 ? t->times[0] + (t->times[1] - t->times[0]) / 2 : 0;

    FUZZ_REQUIRE(t->n > 0 && strcmp(t->host, "node1") == 0);
    for (size_t i = 0; i < t->n; i++)
        FUZZ_REQUIRE(isfinite(t->times[i]) && isfinite(t->joules[i]));
    FUZZ_REQUIRE(energy_log_until(t, -INFINITY) == 0);
    FUZZ_REQUIRE(energy_log_until(t, INFINITY) == t->joules[t->n - 1]);
    if (t->n == 2 && t->times[0] < middle && middle < t->times[1] && t->joules[0] == 0 &&
        t->joules[1] >= 0)
        FUZZ_REQUIRE(energy_log_until(t, middle) >= 0 &&
                     energy_log_until(t, middle) <= t->joules[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct energy_log log = {0};
    char *text = fuzz_text(data, n);
    struct err e = {0};

    FUZZ_REQUIRE(energy_log_decode(&log, text, "node1", &e) == 0);
    for (size_t i = 0; i < log.n; i++)
        check_track(&log.tracks[i]);
    energy_log_destroy(&log);
    free(text);
    return 0;
}

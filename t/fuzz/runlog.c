/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs of runs as collect reads them: tables of epochs of either kind, MLPerf's lines,
 * record.jsonl. A log that is accepted has epochs, a record may have none; and no time, loss or
 * score in it is impossible in itself. */
#include "src/base.h"
#include "launcher/collect/collect_internal.h"
#include "launcher/collect/log/log_file.h"

#include <math.h>

#include "t/fuzz/fuzz.h"

/* Returns whether v is a time, or NaN: not measured. */
static bool is_time(double v)
{
    return isnan(v) || (isfinite(v) && v >= 0);
}

static void check_log(const char *path)
{
    struct err e = {0};
    struct result r;

    result_init(&r);
    if (log_file_read(path, NULL, &r, &e)) {
        FUZZ_REQUIRE(e.code == ERR_DATA || e.code == ERR_CONFIG);
        FUZZ_REQUIRE(strncmp(e.text, path, strlen(path)) == 0);
        FUZZ_REQUIRE(!r.curve && r.epochs == 0);
        return;
    }
    FUZZ_REQUIRE(r.curve && r.curve->n >= 1 && (size_t)r.epochs == r.curve->n);
    for (size_t i = 0; i < r.curve->n; i++)
        FUZZ_REQUIRE(is_time(r.curve->seconds[i]) && !isinf(r.curve->loss[i]));
    FUZZ_REQUIRE(is_time(r.training_time) && is_time(r.test_time) && is_time(r.median_epoch_s));
    FUZZ_REQUIRE(isnan(r.quality.iou) || (r.quality.iou >= 0 && r.quality.iou <= 1));
    FUZZ_REQUIRE(isnan(r.quality.accuracy) || (r.quality.accuracy >= 0 && r.quality.accuracy <= 1));
    curve_destroy(r.curve);
}

static void check_record(const char *path)
{
    struct err e = {0};
    struct run_record r;

    if (run_record_read(path, &r, &e)) {
        FUZZ_REQUIRE(e.code == ERR_DATA && strncmp(e.text, path, strlen(path)) == 0);
        return;
    }
    FUZZ_REQUIRE(memchr(r.run.run, 0, sizeof r.run.run) && memchr(r.worlds, 0, sizeof r.worlds));
    for (size_t i = 0; i < r.nepochs; i++)
        FUZZ_REQUIRE(isfinite(r.epochs[i].seconds) && isfinite(r.epochs[i].loss));
    run_record_destroy(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);

    check_log(path);
    check_record(path);
    return 0;
}

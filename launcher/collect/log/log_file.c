/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/log_file.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/collect/log/keras_log.h"
#include "launcher/collect/log/mllog_file.h"
#include "src/atomicfile.h"

/* The tolerance between the clock of the training and the sum of its epochs: different clocks,
 * and rounding to six decimals. */
#define CLOCK_SHARE 0.01
#define CLOCK_S 0.01

/* Checks that the training did not take less time than its epochs together, apart from rounding
 * (CLOCK_SHARE, CLOCK_S). */
static int check_times(const struct epoch_csv *log, const char *path, struct err *e)
{
    double sum = 0, all = log->rows[0].training_time;

    for (size_t i = 0; i < log->count; i++)
        sum += log->rows[i].time_per_epoch;
    return sum <= (1 + CLOCK_SHARE) * all + CLOCK_S
               ? 0
               : err_set(e, ERR_DATA, "%s: its epochs take %.6g s together, but training_time is "
                         "%.6g s: a time is wrong", path, sum, all);
}

/* Checks the times of a log in any form. */
static int check_clocks(const struct curve *c, double training_time, double test_time,
                        const char *path, struct err *e)
{
    if (training_time > CURVE_LONGEST_S || test_time > CURVE_LONGEST_S)
        return err_set(e, ERR_DATA, "%s: training takes %g s, evaluation %g s: a time is wrong",
                       path, training_time, test_time);
    return curve_check(c, path, e);
}

static struct curve *curve_of_table(const struct epoch_csv *log, struct err *e)
{
    struct curve *c = curve_create(log->count, 0, e);

    for (size_t i = 0; c && i < log->count; i++) {
        c->seconds[i] = log->rows[i].time_per_epoch;
        c->loss[i] = log->rows[i].loss;
    }
    return c;
}

/* Decodes n bytes, which a NUL follows. Returns the curve, or NULL; then dst is empty. */
static struct curve *decode_table(const char *text, size_t n, const char *path,
                                  struct epoch_csv *dst, struct err *e)
{
    if (epoch_csv_decode(text, n, path, dst, e))
        return NULL;
    struct curve *c = check_times(dst, path, e) ? NULL : curve_of_table(dst, e);
    if (c && check_clocks(c, dst->rows[0].training_time, dst->rows[0].test_time, path, e)) {
        curve_destroy(c);
        c = NULL;
    }
    if (!c)
        epoch_csv_destroy(dst);
    return c;
}

int log_file_read_table(const char *path, struct epoch_csv *dst, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, LOG_FILE_MAX, &n, e);
    struct curve *c = text ? decode_table(text, n, path, dst, e) : NULL;
    int rc = c ? 0 : -1;

    free(text);
    curve_destroy(c);
    return rc;
}

static int decode_reference(const char *text, size_t n, const char *path, struct result *r,
                            struct err *e)
{
    struct epoch_csv log;
    struct curve *c = decode_table(text, n, path, &log, e);

    if (!c)
        return -1;
    r->training_time = log.rows[0].training_time;
    r->test_time = log.rows[0].test_time;
    r->iou = log.rows[0].iou;
    r->curve = c;
    curve_measure(c, r);
    epoch_csv_destroy(&log);
    return 0;
}

int log_file_read(const char *path, struct result *r, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, LOG_FILE_MAX, &n, e);
    struct result filled = *r;
    int rc;

    if (!text)
        return -1;
    filled.curve = NULL;
    if (memchr(text, '\0', n))
        rc = err_set(e, ERR_DATA, "%s: it is not a log: it has binary data", path);
    else if (mllog_file_matches(text))
        rc = mllog_file_decode(text, path, &filled, e);
    else if (keras_log_matches(text))
        rc = keras_log_decode(text, path, &filled, e);
    else
        rc = decode_reference(text, n, path, &filled, e);
    free(text);
    if (rc == 0 && check_clocks(filled.curve, filled.training_time, filled.test_time, path, e)) {
        curve_destroy(filled.curve);
        rc = -1;
    }
    if (rc == 0)
        *r = filled;
    return rc;
}

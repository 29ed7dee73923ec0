/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/logs_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/collect/log_name.h"
#include "launcher/collect/path.h"
#include "src/epoch_csv.h"
#include "src/stat.h"

/* What the table of epochs alone can tell: not the images that were really processed. */
static void measure(const struct epoch_csv *log, struct result *r)
{
    double *steady = calloc(log->count, sizeof *steady);

    for (size_t i = 1; steady && i < log->count; i++)
        steady[i - 1] = log->rows[i].time_per_epoch;
    r->epochs = (long)log->count;
    r->first_epoch_s = log->rows[0].time_per_epoch;
    r->second_epoch_s = log->count > 1 ? log->rows[1].time_per_epoch : NAN;
    r->median_epoch_s = steady ? stat_median(steady, log->count - 1) : NAN;
    r->training_time = log->rows[0].training_time;
    r->test_time = log->rows[0].test_time;
    r->loss = log->rows[log->count - 1].loss;
    r->iou = log->rows[0].iou;
    free(steady);
}

static void read_log(const char *dir, const char *name, struct result *r)
{
    char path[PATH_MAX];
    struct epoch_csv log = {0};
    struct err e;

    if (epoch_csv_read(path_format(path, "%s/%s", dir, name), &log, &e)) {
        r->state = RESULT_CORRUPT;
        result_set_text(r->note, sizeof r->note, e.text);
        return;
    }
    r->state = RESULT_DONE;
    result_set_text(r->log, sizeof r->log, name);
    measure(&log, r);
    epoch_csv_destroy(&log);
}

static int is_log(const struct dirent *entry)
{
    char engine[32];
    int gpus;
    long seed;

    return log_name_decode(entry->d_name, engine, sizeof engine, &gpus, &seed);
}

static int read_bare(const char *dir, struct results *table, struct err *e)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, is_log, alphasort), rc = 0;

    if (n < 0)
        return err_errno(e, ERR_DATA, errno, "can't read the folder %s", dir);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        struct result r;
        result_init(&r);
        log_name_decode(name, r.engine, sizeof r.engine, &r.gpus, &r.seed);
        snprintf(r.run, sizeof r.run, "%.*s", (int)(strlen(name) - strlen(".csv")), name);
        read_log(dir, name, &r);
        if (rc == 0)
            rc = results_add(table, &r, e);
        free(entries[i]);
    }
    free(entries);
    if (rc == 0 && table->count == 0)
        rc = err_set(e, ERR_DATA, "%s: there is no log_N.csv, log_hvd_N.csv or results.csv in it", dir);
    return rc;
}

int logs_folder_read(const char *dir, struct results *table, struct err *e)
{
    char path[PATH_MAX];

    path_format(path, "%s/results.csv", dir);
    if (access(path, F_OK) == 0 ? results_read(table, path, e) : read_bare(dir, table, e)) {
        results_destroy(table);
        return -1;
    }
    results_sort(table);
    return 0;
}

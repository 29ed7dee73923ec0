/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/results/results.h"

#include <math.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static char path[] = "/tmp/unetctl-results.XXXXXX";
static struct err e;

static struct result row(const char *run, int gpus, long seed, enum result_state state)
{
    struct result r;

    result_init(&r);
    result_set_text(r.run, sizeof r.run, run);
    result_set_text(r.engine, sizeof r.engine, "embedded");
    r.gpus = gpus, r.seed = seed, r.state = state;
    return r;
}

static int read_text(const char *text, struct results *table)
{
    if (atomicfile_write(path, text, strlen(text), 0600, &e))
        bail_out("%s", e.text);
    return results_read(table, path, &e);
}

static void check_round_trip(void)
{
    struct results table = {0}, copy = {0};
    struct result r = row("unet-g04-s1", 4, 1, RESULT_DONE);

    r.median_epoch_s = 1.25, r.quality.iou = 0.875, r.oversubscribed = 1;
    results_add(&table, &r, &e);
    r = row("unet-g02-s1", 2, 1, RESULT_FAILED);
    result_set_text(r.note, sizeof r.note, "rank 1: \"no space\", disk full\n");
    results_add(&table, &r, &e);
    results_sort(&table);
    is_int(table.rows[0].gpus, 2, "rows are sorted by GPUs");
    char *text = results_encode(&table);
    ok(read_text(text, &copy) == 0, "a written table can be read");
    is_int(copy.count, 2, "it has both rows");
    ok(copy.rows[1].median_epoch_s == 1.25 && copy.rows[1].quality.iou == 0.875,
       "its numbers are the same");
    ok(isnan(copy.rows[1].quality.dice) && copy.rows[0].oversubscribed == -1,
       "unknown values stay unknown");
    is_int(copy.rows[1].oversubscribed, 1, "a flag stays the same");
    is_str(copy.rows[0].note, "rank 1: \"no space\", disk full ",
           "a note with quotes and commas stays the same");
    is_int(results_count(&copy, RESULT_FAILED), 1, "one failed run is counted");
    char *again = results_encode(&copy);
    is_str(again, text, "writing it again gives the same bytes");

    char *cut = strdup(text);
    cut[strlen(cut) - 30] = '\0';
    struct results bad = {0};
    ok(read_text(cut, &bad) == -1 && e.code == ERR_DATA && strstr(e.text, ":3:"),
       "a truncated row is refused with its line");
    ok(bad.count == 0 && !bad.rows, "a refused table is empty");
    free(cut);
    free(text);
    free(again);
    results_destroy(&table);
    results_destroy(&copy);
}

static void check_refused(void)
{
    struct results table = {0};
    char text[160], big[200];

    ok(read_text("a,b\n1,2\n", &table) == -1 && strstr(e.text, "'run'"),
       "another table is refused");
    ok(read_text("", &table) == -1, "an empty file is refused");
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    result_set_text(text, 16, big);
    is_str(text, "xxxxxxxxxxxx...", "a text that is too long ends in dots");
}

int main(void)
{
    close(mkstemp(path));
    check_round_trip();
    check_refused();
    unlink(path);
    return done_testing();
}

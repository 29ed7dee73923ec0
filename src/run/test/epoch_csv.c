/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/run/epoch_csv.h"

#include <dirent.h>
#include <math.h>

#include "src/atomicfile.h"
#include "t/tap.h"

#define H EPOCH_CSV_HEADER "\n"
#define R0 "0,31.970000,0.301000,0.006000,1450.100000,2.345000,0.934500\n"
#define R1 "1,7.000000,0.200000,0.006000,1450.100000,2.345000,0.934500\n"

static const struct {
    const char *what, *text, *want;
} bad[] = {
    {"an empty file", "", "f:1: the file is empty"},
    {"no newline behind the header", EPOCH_CSV_HEADER, "f:1: the header"},
    {"another header", "epoch,loss\n0,1\n", "f:1: the header"},
    {"another rank's bytes over the header",
     "0,31.970000,0.3_epoch,loss,lr,training_time,test_time,iou\n" R0, "f:1: the header"},
    {"a header with CR", EPOCH_CSV_HEADER "\r\n" R0, "f:1: its lines end in CR LF"},
    {"a header and nothing", H, "f:2: there is a header but no epoch"},
    {"a row cut short", H R0 "1,7.000000,0.2000\n", "f:3: the row is cut short after loss"},
    {"a row cut short, no newline", H R0 "1,7.000000,0.2000", "f:3: the last line has no newline"},
    {"a whole row, no newline", H "0,1,1,1,1,1,1", "f:2: the last line has no newline"},
    {"an empty line", H R0 "\n" R1, "f:3: the row does not begin with epoch 1"},
    {"an epoch twice", H R0 R0, "f:3: the row does not begin with epoch 1"},
    {"an epoch missing", H R1, "f:2: the row does not begin with epoch 0"},
    {"a word", H "0,fast,0.3,0.006,1450.1,2.3,0.9\n",
     "f:2: time_per_epoch is 'fast', not a number"},
    {"NaN", H "0,1,nan,0.006,1450.1,2.3,0.9\n", "f:2: loss is 'nan'"},
    {"infinity", H "0,1,inf,0.006,1450.1,2.3,0.9\n", "f:2: loss is 'inf'"},
    {"overflow", H "0,1,1e999,0.006,1450.1,2.3,0.9\n", "f:2: loss is '1e999', too large"},
    {"an empty field", H "0,1,,0.006,1450.1,2.3,0.9\n", "f:2: loss is empty"},
    {"a blank field", H "0,1, 2,0.006,1450.1,2.3,0.9\n", "f:2: loss is ' 2'"},
    {"two dots", H "0,1,2.3.4,0.006,1450.1,2.3,0.9\n", "f:2: loss is '2.3.4'"},
    {"hexadecimal", H "0,1,0x4,0.006,1450.1,2.3,0.9\n", "f:2: loss is '0x4'"},
    {"a column too many", H "0,1,1,1,1,1,1,1\n", "f:2: the row has more than 7"},
    {"a negative time", H "0,-1,1,1,1,1,1\n", "f:2: a time is negative"},
    {"an IoU above 1", H "0,1,1,1,1,1,1.5\n", "f:2: iou is 1.5"},
    {"two runs mixed", H R0 "1,7.0,0.2,0.006,1450.2,2.345,0.9345\n",
     "f:3: training_time, test_time"},
};

static void good(void)
{
    struct epoch_csv c;
    struct err e = {0};

    ok(epoch_csv_decode(H R0 R1, strlen(H R0 R1), "f", &c, &e) == 0, "two epochs are read");
    is_int(c.count, 2, "there are two rows");
    ok(c.rows[0].time_per_epoch == 31.97 && c.rows[1].loss == 0.2 && c.rows[1].lr == 0.006 &&
           c.rows[0].training_time == 1450.1 && c.rows[1].test_time == 2.345 &&
           c.rows[1].iou == 0.9345, "every column is read");
    epoch_csv_destroy(&c);
    epoch_csv_destroy(NULL);
}

static void refused(void)
{
    struct epoch_csv c;
    struct err e = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc = epoch_csv_decode(bad[i].text, strlen(bad[i].text), "f", &c, &e);
        if (!ok(rc == -1 && e.code == ERR_DATA && strstr(e.text, bad[i].want) == e.text, "%s",
                bad[i].what))
            printf("# got  %s\n# want %s\n", rc ? e.text : "success", bad[i].want);
    }
    ok(epoch_csv_decode(H "0,1\0,1,1,1,1,1\n", strlen(H) + 16, "f", &c, &e) == -1,
       "a NUL byte is refused: %s",
       e.text);
}

static int read_table(const char *path, struct epoch_csv *dst, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(path, 1 << 20, &n, e);
    int rc = text ? epoch_csv_decode(text, n, path, dst, e) : -1;

    free(text);
    return rc;
}

static void written(void)
{
    char path[] = "/tmp/unetctl-epoch_csv.XXXXXX";
    struct epoch_row rows[] = {{31.97, 0.301, 0.006, 1450.1, 2.345, 0.9345},
                               {7.0000004, 0.2, 0.006, 1450.1, 2.345, 0.9345}};
    struct epoch_csv c;
    struct err e = {0};
    char text[512] = "";

    close(mkstemp(path));
    ok(epoch_csv_write(path, rows, 2, &e) == 0, "a table is written");
    FILE *f = fopen(path, "r");
    ok(f && fread(text, 1, sizeof text - 1, f) > 0, "the file can be read");
    fclose(f);
    is_str(text, H R0 R1, "numbers have six decimals");
    ok(read_table(path, &c, &e) == 0 && c.count == 2, "the reader accepts the file");
    epoch_csv_destroy(&c);
    rows[1].loss = NAN;
    ok(epoch_csv_write(path, rows, 2, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
    unlink(path);
    ok(read_table(path, &c, &e) == -1 && e.code == ERR_DATA, "%s", e.text);
}

/* Reads the 32 logs that the reference systems published, if they are available. */
static void reference(const char *shared, const char *system)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    struct dirent *entry;
    struct epoch_csv c;
    struct err e = {0};
    int n = 0;

    snprintf(folder, sizeof folder, "%s/reference-logs/%s", shared, system);
    DIR *d = opendir(folder);
    if (!d) {
        tap_skip(1, "the reference logs are not here (UNETCTL_SHARED)");
        return;
    }
    while ((entry = readdir(d))) {
        if (strncmp(entry->d_name, "log_", 4) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (read_table(path, &c, &e)) {
            printf("# %s\n", e.text);
            continue;
        }
        n += c.count == 200;
        epoch_csv_destroy(&c);
    }
    closedir(d);
    is_int(n, 16, "all 16 logs of %s have 200 epochs", system);
}

int main(void)
{
    const char *shared = getenv("UNETCTL_SHARED");

    good();
    refused();
    written();
    reference(shared ? shared : "", "tensorflow");
    reference(shared ? shared : "", "pytorch");
    return done_testing();
}

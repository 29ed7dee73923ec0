/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/collect_internal.h"

#include <math.h>

#include "src/atomicfile.h"
#include "t/tap.h"

#define RUN                                                                                  \
    "{\"kind\":\"run\",\"schema\":1,\"study\":\"s\",\"run\":\"unet-g02-s1\",\"seed\":1,"     \
    "\"engine\":\"embedded\",\"started\":\"2026-01-01T00:00:00Z\",\"host\":\"n1\","          \
    "\"gpus\":2,\"nodes\":1,\"epochs\":2,\"oversubscribed\":true}\n"
#define HOSTS(list)                                                                          \
    "{\"kind\":\"run\",\"schema\":1,\"study\":\"s\",\"run\":\"unet-g03-s1\",\"seed\":1,"     \
    "\"engine\":\"embedded\",\"started\":\"2026-01-01T00:00:00Z\",\"host\":\"n1\","          \
    "\"hosts\":" list ",\"gpus\":3,\"nodes\":3,\"epochs\":2}\n"
#define EPOCH(n) \
    "{\"kind\":\"epoch\",\"epoch\":" #n                    \
    ",\"seconds\":2.5,\"loss\":0.5,\"lr\":0.001,\"images\":32}\n"
#define END                                                                                     \
    "{\"kind\":\"end\",\"status\":\"done\",\"training_time\":5.0,\"test_time\":0.5,\"iou\":0.9}\n"

#define STEPS(n) \
    "{\"kind\":\"steps\",\"step\":" #n ",\"seconds\":0.5,\"images\":16}\n"
#define LIMITED                                                                                \
    "{\"kind\":\"end\",\"status\":\"done\",\"limited\":true,\"epoch_images\":32,"               \
    "\"training_time\":5.0,\"metric\":\"iou\"}\n"

static char path[] = "/tmp/unetctl-record.XXXXXX";
static struct err e;
static struct run_record r;

static int read_bytes(const char *text, size_t n)
{
    run_record_destroy(&r);
    if (atomicfile_write(path, text, n, 0600, &e))
        bail_out("%s", e.text);
    return run_record_read(path, &r, &e);
}

static int read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void refused(const char *text, const char *line, const char *what)
{
    bool was_refused = read_text(text) == -1;

    if (!ok(was_refused && e.code == ERR_DATA && strstr(e.text, line) && !r.epochs, "refused: %s",
            what))
        printf("# %s\n", was_refused ? e.text : "accepted");
}

/* A line of numbers means the same when an object is added, for which it is read as a tree. */
static void check_epochs(void)
{
#define LINE "{\"kind\":\"epoch\",\"epoch\":0,\"seconds\":2,\"lr\":1,\"loss\":"
    static const struct { const char *line; double loss; } cases[] = {
        {LINE "0.25", 0.25}, {LINE "1", 1}, {LINE "-1.5e-3", -1.5e-3}, {LINE "1E2 ", 100},
        {LINE "12345678901234567", 12345678901234567.0}, {LINE " 3 , \"images\" : 4 ", 3},
        {"{ \"kind\" : \"epoch\" , \"epoch\" : 0 , \"lr\": 0, \"loss\": 1, \"seconds\": 2", 1},
        {LINE "1,\"text\":\"t\",\"images\":null", 1}, {LINE "1,\"loss \":2", 1},
        {LINE "1,\"l\\u006fss\":2", NAN},
        {LINE "0x10", NAN}, {LINE "01", NAN}, {LINE "1.", NAN}, {LINE ".5", NAN}, {LINE "+1", NAN},
        {LINE "1e", NAN}, {LINE "1e999", NAN}, {LINE "nan", NAN}, {LINE "true", NAN},
        {LINE "1,\"loss\":1", NAN}, {LINE "1,\"kind\":2", NAN}, {LINE "1,", NAN},
        {LINE "1 \"images\":4", NAN}, {LINE "1}", NAN}, {LINE "\"1\"", NAN},
        {"{\"kind\":\"epoch\",\"epoch\":0.0,\"seconds\":2,\"lr\":1,\"loss\":1", NAN}};
    char text[1024];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int tree = 0; tree < 2; tree++) {
            snprintf(text, sizeof text, RUN "%s%s}\n", cases[i].line, tree ? ",\"o\":{}" : "");
            double loss = read_text(text) == 0 && r.nepochs == 1 ? r.epochs[0].loss : NAN;
            ok(loss == cases[i].loss || (isnan(loss) && isnan(cases[i].loss)), "%s%s: %g",
               cases[i].line + 16, tree ? ", as a tree" : "", loss);
        }
}

static void check_metric(void)
{
    const char *text = "{\"kind\":\"run\",\"schema\":1,\"study\":\"s\",\"run\":\"r\",\"seed\":1,"
                       "\"engine\":\"embedded\",\"started\":\"2026-01-01T00:00:00Z\","
                       "\"host\":\"n1\",\"gpus\":2,\"nodes\":1,\"epochs\":2,"
                       "\"metric\":\"accuracy\"}\n" EPOCH(0);

    ok(read_text(text) == 0 && result_by_accuracy(&r.run),
       "the quality of a run that is not over is known");
    ok(read_text(RUN EPOCH(0)) == 0 && !result_by_accuracy(&r.run), "it is IoU otherwise");
}

static void check_good(void)
{
    ok(read_text(RUN EPOCH(0) EPOCH(1) END) == 0, "a complete record is read");
    ok(r.run.gpus == 2 && r.nepochs == 2 && r.done && r.run.quality.iou == 0.9, "its numbers are right");
    is_str(r.run.host, "n1", "its texts are right");
    is_str(r.run.hosts, "n1", "the one host of one node is known without a list");
    is_int(r.run.oversubscribed, 1, "its flags are right");
    ok(isnan(r.epochs[0].comm_s) && isnan(r.run.startup_s), "values that it lacks are unknown");
    ok(read_text(RUN EPOCH(0) "{\"kind\":\"progress\",\"epoch\":1}\n{\"kind\":\"epo") == 0 &&
           r.nepochs == 1 && !r.done,
       "an incomplete last line is ignored, and the run has not ended");
    ok(read_text(RUN
                 "{\"kind\":\"end\",\"status\":\"failed\",\"exit_code\":5,\"error\":\"peer\"}\n") ==
               0 && !r.done, "an end with status failed is not a success");
    ok(read_text(RUN EPOCH(0) EPOCH(1)
                 "{\"kind\":\"end\",\"status\":\"done\",\"training_time\":5.0,\"test_time\":0.5,"
                 "\"iou\":0.9,\"kernels_checked\":52,\"kernels_refused\":\"rank 1: conv2d\"}\n") ==
               0 && r.run.kernels.checked == 52,
       "the number of checked kernels is read");
    is_str(r.run.kernels.refused, "rank 1: conv2d", "and what the check refused");
    ok(read_text(HOSTS("[\"n1\",\"n1\",\"n2\",\"n3\"]")) == 0, "a list of hosts is read");
    is_str(r.run.hosts, "n[1-3]", "as a node list");
    ok(read_text(HOSTS("[\"n]1\",7]")) == 0 && !*r.run.hosts, "names that fit in none: unknown");
}

static void check_size(void)
{
    ok(read_text(RUN) == 0 && truncate(path, 119 << 20) == 0 &&
           run_record_read(path, &r, &e) == -1 && e.code == ERR_CONFIG &&
           strstr(e.text, "more than 67108864 bytes, the limit"),
       "a record that is too large is not called damaged: %s", e.text);
}

static void check_limited(void)
{
    ok(read_text(RUN STEPS(2) EPOCH(0) STEPS(4) STEPS(5) LIMITED) == 0 && r.done && r.nepochs == 3,
       "a training that ended at its limit has intervals of steps, not epochs");
    ok(r.run.limited == 1 && r.run.stepped != 1 && r.epochs[2].seconds == 1 &&
           r.epochs[2].images == 32, "each is scaled to the images of an epoch");
    ok(isnan(r.run.quality.iou) && isnan(r.run.training_time) && isnan(r.run.test_time) &&
           isnan(r.epochs[0].loss), "it has no quality and no time of a whole training");
    ok(read_text(RUN STEPS(2) EPOCH(0) EPOCH(1) STEPS(4) END) == 0 && r.nepochs == 2 &&
           r.run.limited != 1 && r.run.quality.iou == 0.9, "one that was complete before has its epochs");
    refused(RUN EPOCH(0) LIMITED, ":3: ", "a limit without steps");
    refused(RUN STEPS(2) "{\"kind\":\"end\",\"status\":\"done\",\"limited\":true}\n", ":3: ",
            "a limit without the images of an epoch");
    refused(RUN STEPS(2) STEPS(2), ":3: ", "the same steps twice");
    refused(RUN STEPS(0), ":2: ", "an interval without a step");
    refused(RUN STEPS(2) "{\"kind\":\"end\",\"status\":\"done\",\"training_time\":5.0}\n", ":3: ",
            "no quality, although it was not limited");
}

static void check_bad(void)
{
    refused("", path, "an empty file");
    refused("{\"kind\":\"run\"", path, "a torn first line");
    refused("{\"kind\":\"run\",\"schema\":2}\n", ":1: ", "schema 2");
    refused("{\"kind\":\"run\"}\n", ":1: ", "no schema");
    refused(EPOCH(0), ":1: ", "an epoch without a run line");
    refused(RUN EPOCH(1), ":2: ", "an epoch that is not the next");
    refused(RUN EPOCH(0) EPOCH(0), ":3: ", "an epoch twice");
    refused(RUN RUN, ":2: ", "two runs in one file");
    refused(RUN END EPOCH(0), ":3: ", "an epoch behind the end");
    refused(RUN "{\"kind\":\"epoch\",\"epoch\":0,\"seconds\":NaN}\n", ":2: ", "NaN");
    refused(RUN "{\"kind\":\"epoch\",\"epoch\":0,\"seconds\":1e999}\n", ":2: ", "an overflow");
    refused(RUN
            "{\"kind\":\"epoch\",\"epoch\":0,\"seconds\":-1,\"loss\":1,\"lr\":1,\"images\":1}\n",
            ":2: ", "negative seconds");
    refused(RUN "[1]\n", ":2: ", "an array");
    refused(RUN "\n", ":2: ", "an empty line");
    refused(RUN
            "{\"kind\":\"end\",\"status\":\"done\",\"training_time\":1,\"test_time\":1,"
            "\"iou\":2}\n",
            ":2: ", "an IoU of 2");
    refused("me_per_epoch,loss\n" RUN, ":1: ", "bytes of another writer");
    ok(read_bytes("\xff\0\n", 3) == -1, "a file of binary bytes is refused");
}

/* With one byte changed, every third byte in turn, the reader returns a result or an error and
 * leaks nothing (under sanitizers). */
static void check_garbage(void)
{
    static const char good[] = RUN EPOCH(0) EPOCH(1) END;
    char text[sizeof good];
    size_t accepted = 0;

    for (size_t i = 0; i < sizeof good - 1; i += 3) {
        memcpy(text, good, sizeof good);
        text[i] ^= 0x15;
        accepted += read_bytes(text, sizeof good - 1) == 0;
    }
    ok(accepted < (sizeof good) / 3, "most records with a changed byte are refused");
}

int main(void)
{
    close(mkstemp(path));
    check_metric();
    check_epochs();
    check_good();
    check_limited();
    check_size();
    check_bad();
    check_garbage();
    run_record_destroy(&r);
    unlink(path);
    return done_testing();
}

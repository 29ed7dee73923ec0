/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs of programs that know nothing of unetctl, and what users can say of them. */
#include "config.h"
#include "launcher/collect/log/log_internal.h"

#include <math.h>
#include <unistd.h>

#include "launcher/collect/log/log_file.h"
#include "src/atomicfile.h"
#include "src/format/tfrecord.h"
#include "t/tap.h"

static char path[] = "/tmp/unetctl-intervals.XXXXXX";
static struct result r;
static struct err e;
static struct log_form form; /* of the next file only */
static struct {
    int gpus, limited;
} plan;

static int read_bytes(const char *text, size_t n)
{
    curve_destroy(r.curve);
    result_init(&r);
    r.gpus = plan.gpus;
    r.limited = plan.limited;
    if (atomicfile_write(path, text, n, 0600, &e))
        bail_out("%s", e.text);
    int rc = log_file_read(path, &form, &r, &e);
    form = (struct log_form){0};
    if (rc)
        printf("# %s\n", e.text);
    return rc;
}

static int read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void refused(int code, const char *text, const char *why, const char *what)
{
    int rc = read_text(text);

    ok(rc == -1 && (int)e.code == code && strstr(e.text, path) && strstr(e.text, why) && !r.curve,
       "%s: %s", code == ERR_DATA ? "refused" : "asked", what);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-6 * fabs(b) + 1e-9;
}

static void check_steps_apart(void)
{
    ok(read_text("step,step_time,tokens_per_second,loss\n10,0.5,100,3\n20,0.25,200,2\n"
                 "30,0.25,200,1\n") == 0 && r.curve->seconds[0] == 5 && r.curve->seconds[1] == 2.5 &&
           r.curve->units[1] == 500 && r.training_time == 10,
       "the time of a step is that of each step of a row");
    form.per_step = 4;
    ok(read_text("step,iter_time_ms\n10,500\n20,250\n") == 0 && r.curve->units[1] == 40 &&
           r.curve->seconds[1] == 2.5, "... and in milliseconds");
    static const char unsure[] = "step,duration\n10,0.5\n20,0.25\n30,0.5\n";
    refused(ERR_CONFIG, unsure, "type --column time='duration:step' or 'duration:each'",
            "times of a row or of its steps");
    form.time = "duration:step";
    ok(read_text(unsure) == 0 && r.curve->seconds[1] == 2.5, "the user says: of a step");
    form.time = "duration:each";
    ok(read_text(unsure) == 0 && r.curve->seconds[1] == 0.25, "the user says: of the row");
    refused(ERR_CONFIG, "epoch,step_time\n0,0.5\n1,0.25\n", "no column counts the steps",
            "times of a step in rows of epochs");
    refused(ERR_CONFIG, "iter 0: loss 3, time 5ms\niter 1: loss 2, time 5ms\n", "its form is not",
            "lines with commas are no table");
}

static void check_work_of_one_gpu(void)
{
    plan.gpus = 4;
    form.units = "samples/s:gpu";
    ok(read_text("step,step_time,samples/s,loss\n1,1,100,3\n2,1,100,2\n3,1,100,1\n") == 0 &&
           r.curve->units[2] == 400 && r.units_per_s == 400 && strcmp(r.unit, "samples") == 0,
       "a rate of one GPU counts for all");
    form.units = "tokens:gpu";
    ok(read_text("step,step_time,tokens\n1,1,100\n2,1,100\n3,1,100\n") == 0 &&
           r.curve->units[2] == 400, "and the work of one");
    form.units = "tokens:total:gpu";
    ok(read_text("step,step_time,tokens\n1,1,100\n2,1,200\n3,1,300\n") == 0 &&
           r.curve->units[2] == 400, "also counted from the start");
    plan.gpus = 0;
    form.quality = "val_acc";
    refused(ERR_CONFIG, "step,step_time\n1,1\n2,1\n", "no column 'val_acc'",
            "a whole run without quality");
    plan.limited = 1;
    form.quality = "val_acc";
    ok(read_text("step,step_time\n1,1\n2,1\n") == 0 && r.limited == 1,
       "a run that was to end early needs none");
    plan.limited = 0;
}

static void check_lightning(void)
{
    ok(read_text("epoch,epoch_time,step,train_loss,val_loss,val_acc\n"
                 "0,,49,0.9,,\n0,,99,0.8,,\n0,,99,,0.7,0.5\n0,10,99,,,\n"
                 "1,,149,0.6,,\n1,,199,,0.5,0.75\n1,8,199,0.4,,\n") == 0,
       "rows of training and validation alternate");
    ok(r.epochs == 2 && r.stepped == 0 && r.curve->seconds[0] == 10 && r.curve->seconds[1] == 8,
       "a row with a time ends an interval");
    ok(r.curve->loss[0] == 0.8 && r.curve->val_loss[0] == 0.7 && r.curve->score[0] == 0.5 &&
           r.loss == 0.4 && r.quality.accuracy == 0.75, "values of the same steps belong to it");
    ok(!r.curve->units && r.training_time == 18, "epochs are not counted in steps");
    refused(ERR_CONFIG, "epoch,step,train_loss,val_loss\n0,49,0.9,\n0,99,,0.7\n",
            "its columns are epoch, step, train_loss, val_loss", "there is no time");
    form.time = "seconds of it";
    refused(ERR_CONFIG, "epoch,step,train_loss\n0,49,0.9\n",
            "there is no column 'seconds of it' (--column time=NAME, or log.time", "a wrong name");
}

static void check_json(void)
{
    ok(read_text("{\"step\": 10, \"timestamp\": \"2026-11-26 10:00:00\", \"loss\": 2, \"tokens\": 1000}\n"
                 "{\"step\": 20, \"timestamp\": \"2026-11-26 10:00:04,500\", \"loss\": 1, "
                 "\"tokens\": 2000}\n"
                 "{\"step\": 20, \"eval\": {\"f1\": 0.4}}\n\n"
                 "{\"step\": 30, \"timestamp\": \"2026-11-26T10:00:08Z\", \"loss\": NaN, "
                 "\"tokens\": 3000}\n") == -1 && strstr(e.text, ":5: loss is '?'"),
       "a loss that is not a number is refused");
    form.quality = "eval.f1";
    ok(read_text("{\"step\": 10, \"timestamp\": \"2026-11-26 10:00:00\", \"loss\": 2, \"tokens\": 1000}\n"
                 "{\"step\": 20, \"timestamp\": \"2026-11-26 10:00:04,500\", \"loss\": 1, "
                 "\"tokens\": 2000, \"grad\": Infinity}\n"
                 "{\"step\": 20, \"eval\": {\"f1\": 0.4}}\n\n"
                 "{\"step\": 30, \"timestamp\": \"2026-11-26T10:00:08Z\", \"loss\": 0.5, "
                 "\"tokens\": 3000}\n") == 0, "lines of JSON with dates are read");
    ok(r.epochs == 2 && r.stepped == 1 && r.curve->seconds[0] == 4.5 && r.curve->seconds[1] == 3.5,
       "differences of dates are intervals");
    ok(r.curve->score[0] == 0.4 && r.quality.value == 0.4 && strcmp(r.quality.metric, "eval.f1") == 0,
       "a member of a member is the quality");
    ok(strcmp(r.unit, "tokens") == 0 && r.curve->units[0] == 1000 && r.curve->units[1] == 1000 &&
           is_near(r.units_per_s, 1000 / 3.5), "a column that rises counts from the start");
    ok(read_text("{\"date\": \"2026-11-26T10:00:00+01:00\", \"tokens\": 70}\n"
                 "{\"date\": \"2026-11-26T09:00:05Z\", \"tokens\": 80}\n"
                 "{\"date\": \"2026-11-26T09:00:09Z\", \"tokens\": 60}\n") == 0 &&
           r.epochs == 2 && r.curve->seconds[0] == 5 && r.curve->units[0] == 80,
       "dates have zones, and the work of the first row was done before");
    refused(ERR_DATA, "{\"step\": 1, \"elapsed\": 5}\n{\"step\": 2, \"elapsed\": 4}\n",
            ":2: time runs backwards: 4 s follows 5 s", "a clock that runs backwards");
    refused(ERR_CONFIG, "step,time,loss\n1,1,1\n2,2,1\n3,3,1\n4,2.5,1\n5,4,1\n6,5,1\n7,6,1\n8,7,1\n",
            "'time' rises: does it count", "a clock that was set back, or times that rise");
    refused(ERR_DATA, "{\"step\": 1, \"epoch_time\": 5}\n{\"step\": 1, \"epoch_time\": 4}\n",
            ":2: step or epoch 1 is there twice", "a step of two ranks");
    refused(ERR_DATA, "{\"step\": 1, \"loss\": 1\n", ":1: the line is not an object of JSON",
            "a line that was cut");
    refused(ERR_DATA, "{\"step\": 1, \"step_time\": 5, \"tokens\": 7}\n{\"step\": 2, \"step_time\": 4}\n",
            ":2: units are missing: tokens has no number", "units missing in a row");
    form.quality = "f1";
    refused(ERR_DATA, "{\"step\": 1, \"step_time\": 5, \"f1\": \"good\"}\n", ":1: f1 is 'good'",
            "a quality that is a text");
    ok(read_text("{\"log_history\": [{\"loss\": 0.9, \"epoch\": 0.5, \"step\": 10},"
                 "{\"eval_loss\": 0.8, \"eval_accuracy\": 0.6, \"epoch\": 0.5, \"step\": 10},"
                 "{\"loss\": 0.7, \"epoch\": 1.0, \"step\": 20}, {\"train_runtime\": 40.5, "
                 "\"train_samples_per_second\": 12.5, \"train_loss\": 0.8, \"step\": 20}],"
                 "\"max_steps\": 20, \"x\": [1]}\n") == 0, "Hugging Face's trainer_state.json");
    ok(r.training_time == 40.5 && r.units_per_s == 12.5 && r.epochs == 2 &&
           r.quality.accuracy == 0.6 && r.loss == 0.7 && r.median_epoch_s == 20.25 &&
           strcmp(r.unit, "samples") == 0,
       "it has the time of the training and the rate");
    form = (struct log_form){.per_step = 81, .unit = "tokens"};
    ok(read_text("{\"log_history\": [{\"loss\": 0.9, \"step\": 10}, {\"loss\": 0.7, \"step\": 20}, "
                 "{\"train_runtime\": 40.5, \"train_samples_per_second\": 12.5}]}\n") == 0 &&
           r.units_per_s == 40 && strcmp(r.unit, "tokens") == 0 && r.curve->units[1] == 810,
       "a rate in samples does not count where tokens are stated");
}

static void add_event(struct buf *file, double wall_time, int step, const char *tag, float value,
                      bool tensor)
{
    struct buf event = {0}, summary = {0}, entry = {0}, inside = {0};

    protobuf_add_double(&event, 1, wall_time);
    protobuf_add_varint(&event, 2, (uint64_t)step);
    if (tag) {
        protobuf_add_text(&entry, 1, tag);
        if (tensor) {
            protobuf_add_varint(&inside, 1, 1);
            protobuf_add_bytes(&inside, 4, &value, sizeof value);
            protobuf_add_message(&entry, 8, &inside);
        } else {
            protobuf_add_float(&entry, 2, value);
        }
        protobuf_add_message(&summary, 1, &entry);
        protobuf_add_message(&event, 5, &summary);
    }
    tfrecord_encode(event.data, event.length, file);
    buf_destroy(&event);
}

static void check_events(void)
{
    struct buf file = {0};

    add_event(&file, 1.7e9, 0, NULL, 0, false);
    for (int step = 1; step <= 3; step++) {
        add_event(&file, 1.7e9 + 5 * step, step, "Loss/train", 1.0f / (float)step, step == 2);
        add_event(&file, 1.7e9 + 5 * step + 1, step, "val_iou", 0.25f * (float)step, step == 2);
    }
    form.step = "step";
    ok(read_bytes(file.data, file.length) == 0, "TensorBoard's events are read");
    ok(r.epochs == 3 && r.curve->seconds[0] == 5 && r.curve->seconds[2] == 5 &&
           r.quality.iou == 0.75 && r.curve->score[1] == 0.5, "they have times and tags, simple values or tensors");
    file.data[file.length - 1] ^= 1;
    ok(read_bytes(file.data, file.length) == -1 && e.code == ERR_DATA, "a damaged record is refused");
    buf_destroy(&file);
}

static void check_patterns(void)
{
    ok(read_text("2026-01-02 10:00:00.000000: Epoch 0 \n2026-01-02 10:00:01: train_loss -0.1 \n"
                 "2026-01-02 10:00:01: val_loss -0.2 \n2026-01-02 10:00:01: Pseudo dice "
                 "[np.float32(0.5), 0.7] \n2026-01-02 10:00:01: Epoch time: 31.5 s \n"
                 "2026-01-02 10:00:02: Epoch 1 \n2026-01-02 10:00:03: train_loss -0.3 \n"
                 "2026-01-02 10:00:03: val_loss -0.4 \n2026-01-02 10:00:03: Pseudo dice [0.7, 0.9] "
                 "\n2026-01-02 10:00:03: Epoch time: 30.5 s \n") == 0, "nnU-Net's training_log");
    ok(r.epochs == 2 && r.stepped == 0 && r.curve->seconds[1] == 30.5 &&
           is_near(r.curve->score[0], 0.6) && is_near(r.quality.value, 0.8) &&
           r.curve->val_loss[1] == -0.4 &&
           strcmp(r.quality.metric, "pseudo_dice") == 0, "its quality is the mean Dice of the classes");
    form.pattern = "^(?<time>\\S+ \\S+) step (?P<step>\\d+) .*tok/s=(?<tokens_per_second>[0-9.]+)";
    ok(read_text("start\n2026-01-02 10:00:00 step 10 x tok/s=5\n2026-01-02 10:00:02 step 20 x "
                 "tok/s=6\nnoise\n2026-01-02 10:00:04 step 30 x tok/s=7\n") == 0,
       "lines that a pattern matches");
    ok(r.epochs == 2 && r.curve->seconds[1] == 2 && r.curve->units[1] == 14 &&
           r.units_per_s == 7 && strcmp(r.unit, "tokens") == 0, "a rate times the time is the work");
    form.pattern = "Performance: +(?<ns_per_day>\\S+)";
    ok(read_text("\nPerformance:    43.2   0.5\n") == 0 && r.limited && r.epochs == 1 &&
           is_near(r.units_per_s, 43.2 / 86400) && strcmp(r.unit, "ns") == 0 &&
           isnan(r.training_time) && is_near(r.curve->units[0] / r.curve->seconds[0], 0.0005),
       "a rate alone is a speed, and not the time of a run");
    form.pattern = "Performance: +(?<ns_per_day>\\S+)";
    refused(ERR_CONFIG, "a\nb\n", "none of its 2 lines matches the pattern", "no line matches");
    form.pattern = "(?<time>";
    refused(ERR_CONFIG, "a\n", "is wrong after 8 bytes", "a wrong pattern");
    form.pattern = "([0-9]+)";
    refused(ERR_CONFIG, "1\n", "has no named group", "a pattern without names");
    refused(ERR_CONFIG, "took 5 s\n", "its form is not known", "lines without a pattern");
}

static void check_counts(void)
{
    const char *clock = "step,time\n10,10\n20,20\n30,30\n40,40\n",
               *unsure = "step,time\n10,100\n20,110\n30,120\n";

    ok(read_text(clock) == 0 && r.epochs == 4 && r.curve->seconds[3] == 10,
       "times that grow with the rows are a clock");
    ok(strcmp(r.unit, "steps") == 0 && r.curve->units[0] == 10 && r.units_per_s == 1,
       "without units, steps are counted");
    refused(ERR_CONFIG, unsure, "--column time='time:total' or 'time:each'", "times that may be either");
    form.time = "time:each";
    ok(read_text(unsure) == 0 && r.curve->seconds[1] == 110, "the user says that they are not");
    form.time = "time:total";
    ok(read_text(unsure) == 0 && r.curve->seconds[1] == 10, "or that they are");
    ok(read_text("{\"step\": 0, \"timestamp\": 1.7e9}\n{\"step\": 5, \"timestamp\": 1.7e9}\n"
                 "{\"step\": 10, \"timestamp\": 1700000004}\n") == 0 && r.epochs == 1 &&
           r.curve->units[0] == 10, "rows of one time are one interval");
    ok(read_text("step,step_time\n0,2\n1,2\n2,2\n") == 0 && r.curve->units[0] == 1,
       "steps may count from 0");
    ok(read_text("step,interval_s\n200,50\n") == 0 && r.curve->units[0] == 200 &&
           r.units_per_s == 4, "a row may have the whole run");
    ok(read_text("step,step_time\n1010,2\n1020,2\n") == 0 && r.curve->units[0] == 10,
       "or continue those of another run");
    form = (struct log_form){.per_step = 64, .unit = "images"};
    ok(read_text(clock) == 0 && r.curve->units[1] == 640 && r.units_per_s == 64 && !*r.unit,
       "work.per_step counts steps");
    form = (struct log_form){.per_run = 100, .unit = "cells"};
    ok(read_text(clock) == 0 && r.curve->units[1] == 25 && strcmp(r.unit, "cells") == 0,
       "work.per_run is spread over the steps");
    form.per_step = 5;
    refused(ERR_CONFIG, "epoch,epoch_time\n0,1\n1,1\n", "work.per_step needs the steps", "no steps");
    ok(read_text("epoch\ttime_ms\n1\t500\n2\t400\n") == 0 &&
           r.curve->seconds[0] == 0.5, "milliseconds by their name");
    form = (struct log_form){.quality_name = "val_f1"};
    refused(ERR_CONFIG, "epoch,epoch_time\n0,1\n", "there is no column 'val_f1'",
            "a quality that is not there");
    ok(read_text("step,step_time,val_acc\n1,2,\n2,2,\n3,2,\n4,2,\n5,2,\n6,2,\n2,,0.2\n5,,0.5\n"
                 "6,,0.6\n") == 0 && r.curve->score[1] == 0.2 && r.curve->score[4] == 0.5 &&
           r.quality.accuracy == 0.6, "scores that come late belong to their steps");
    form = (struct log_form){.quality_name = "dice"};
    ok(read_text("epoch,epoch_time,quality\n0,1,0.7\n") == 0 && r.quality.value == 0.7 &&
           strcmp(r.quality.metric, "dice") == 0, "a column called quality has any name");
    form = (struct log_form){.quality_name = "error", .quality = "val_rmse"};
    ok(read_text("epoch,epoch_time,val_rmse\n0,1,30\n1,1,12.5\n") == 0 && r.quality.value == 12.5 &&
           r.quality.lower && strcmp(r.quality.metric, "error") == 0, "a quality of any name and direction");
    refused(ERR_DATA, "epoch,timestamp,loss\n0,2026-01-02 10:00:00,1\n", "none or only the first",
            "one date is no interval");
}

int main(void)
{
    int fd = mkstemp(path);

    if (fd < 0)
        bail_out("mkstemp");
    close(fd);
    check_work_of_one_gpu();
    check_steps_apart();
    check_lightning();
    check_json();
    check_events();
    check_patterns();
    check_counts();
    curve_destroy(r.curve);
    unlink(path);
    return done_testing();
}

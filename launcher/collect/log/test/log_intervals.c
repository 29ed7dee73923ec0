/* SPDX-License-Identifier: BSD-3-Clause */
/* Logs of programs that know nothing of unetctl, and what users can say of them. */
#include "src/base.h"
#include "launcher/collect/log/log_internal.h"

#include <math.h>
#include <time.h>

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
    form.per_step = 4;
    ok(read_text("epoch,step,step_time\n0,0,2\n0,10,0.5\n0,20,0.5\n1,0,0.5\n1,10,0.25\n") == 0 &&
           r.curve->n == 5 && r.curve->seconds[0] == 2 && r.curve->seconds[1] == 5 &&
           r.curve->seconds[3] == 0.5 && r.curve->seconds[4] == 2.5 && r.curve->units[0] == 4 &&
           r.curve->units[4] == 40,
       "steps that begin with 0 in each epoch: one step in its first row");
    ok(read_text("epoch,step,samples/s\n0,10,100\n0,20,100\n1,10,300\n1,20,300\n2,10,300\n") == 0 &&
           r.curve->n == 5 && r.units_per_s == 300, "... also where rows have a rate alone");
    ok(read_text("epoch,step,elapsed,val_loss\n0,5,1,\n0,10,2,\n0,20,,3\n1,5,3,\n1,10,4,\n1,20,,2\n") ==
               0 && r.curve->n == 4 && r.training_time == 4 && r.curve->val_loss[3] == 2,
       "... or a clock, between validations that have steps of their own");
    ok(read_text("epoch,step,elapsed,loss,val_loss\n0,5,1,3,\n0,10,2,3,\n0,4,3,,4\n1,5,4,2,\n1,10,5,2,\n"
                 "1,4,6,,1\n") == 0 && r.curve->n == 4 && r.training_time == 5 &&
           r.curve->val_loss[1] == 4 && r.curve->val_loss[3] == 1, "... and times of their own");
    ok(read_text("epoch,epoch_time,loss\n0,5,1\n1,4,0.5\n,1,0.7\n,1,0.6\n") == 0 && r.epochs == 2 &&
           r.loss == 0.5, "evaluations behind the last epoch are none");
    refused(ERR_DATA, "epoch,epoch_time,loss\n0,5,1\n,4,1\n,4,1\n,4,1\n",
            ":3: step or epoch 0 is there twice",
            "many rows of an epoch");
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

static void check_divergence(void)
{
    ok(read_text("epoch,epoch_time,loss,val_acc\n0,1,0.5,0.8\n1,1,nan,0.8\n2,1,-inf,0.1\n") == 0 &&
           isnan(result_quality(&r)) && strcmp(r.quality.metric, "accuracy") == 0 &&
           r.curve->n == 3, "a run whose last loss is not finite has lost its quality");
    ok(read_text("epoch,epoch_time,loss,val_acc\n0,1,nan,0.8\n1,1,0.4,0.9\n") == 0 &&
           result_quality(&r) == 0.9, "one that recovers has not");
    refused(ERR_DATA, "epoch,epoch_time,loss\n0,1,0.5\n1,1,nan\n", "loss is 'nan'",
            "without a quality nothing would show that it diverged");
}

static void check_work_of_one_gpu(void)
{
    plan.gpus = 4;
    form.units = "samples/s:gpu";
    ok(read_text("step,step_time,samples/s,loss\n1,1,100,3\n2,1,100,2\n3,1,100,1\n") == 0 &&
           r.curve->units[2] == 400 && r.units_per_s == 400 && strcmp(r.unit, "samples") == 0,
       "a rate of one GPU counts for all");
    form.units = NULL;
    ok(read_text("step,tokens_per_sec_per_gpu\n1,100\n2,100\n3,100\n") == 0 &&
           r.units_per_s == 400 && strcmp(r.unit, "tokens") == 0,
       "and so does one that its column calls so");
    ok(read_text("epoch,tokens/s\n1,100\n2,100\n3,100\n") == 0 && r.stepped == 1,
       "rates of epochs without times are no times of epochs");
    form.units = "samples/s:gpu";
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
    form.time = "Time (min):each";
    ok(read_text("epoch,Time (min)\n0,2\n1,1.5\n") == 0 && r.curve->seconds[1] == 90,
       "a named time in minutes");
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
    refused(ERR_CONFIG, "a\n", "is not a regular expression; byte 8: ", "a wrong pattern");
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
    plan.gpus = 4;
    form = (struct log_form){.per_step = 64, .weak = true};
    ok(read_text(clock) == 0 && r.curve->units[1] == 4 * 640, "of weak scaling it is of one GPU");
    form = (struct log_form){.per_run = 100, .weak = true};
    ok(read_text(clock) == 0 && r.curve->units[1] == 4 * 25, "as is work.per_run");
    form = (struct log_form){.weak = true};
    ok(read_text(clock) == 0 && r.curve->units[1] == 4 * 10,
       "and a step of which nothing is known");
    plan.gpus = 0;
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

static void times(const char *text, const char *what, double seconds, size_t n)
{
    bool same = read_text(text) == 0 && r.curve->n == n;

    for (size_t i = 0; same && i < n; i++)
        same = is_near(r.curve->seconds[i], seconds);
    ok(same, "%s", what);
}

/* What a terminal shows of a progress bar, of colours and of a file that was cut. */
static void check_terminal(void)
{
#define BAR "epoch (?<epoch>[0-9]+): .*\\[(?<epoch_time>[0-9:]+)<"
    form.pattern = BAR;
    times("epoch 0:  50%|## | 5/10 [00:05<00:05, 1.02s/it, loss=3]\r"
          "epoch 0: 100%|####| 10/10 [00:10<00:00, 1.00s/it, loss=2]\n"
          "epoch 1:  50%|## | 5/10 [00:05<00:05, 1.00s/it]\r"
          "epoch 1: 100%|####| 10/10 [00:10<00:00, 1.00s/it]\r\n",
          "of a bar that is written over, what stays counts", 10, 2);
    form.pattern = BAR;
    times("\033[1mepoch\033[0m 0: \033]0;title\a100% [01:10:00<\033[K 1\n"
          "epoch 1: 100% [01:10:00<00:00]\n", "colours and titles are not shown", 4200, 2);
    form.pattern = "epoch (?<epoch>[0-9]+) - (?<epoch_time>[0-9]+)s";
    times("epoch 1 - 2s 5/10\b\b\b\repoch 1 - 9s 10/10\r\nepoch 2 - 9s 10/10\r\n",
          "Keras steps back over its bar, and lines may end in CR LF", 9, 2);
    form.pattern = "Epoch (?<epoch>\\d+): .*\\[(?<epoch_time>[0-9:]+)<.*"
                   "train_loss=(?<loss>[0-9.]+)";
    ok(read_text("Training: |          | 0/? [00:00<?, ?it/s]\rEpoch 0:   0%|          | 0/100 "
                 "[00:00<?, ?it/s]\rEpoch 0:  50%|#####     | 50/100 [00:10<00:10,  4.97it/s, "
                 "v_num=3, train_loss=0.512]\rEpoch 0: 100%|##########| 100/100 [00:20<00:00,  "
                 "4.99it/s, v_num=3, train_loss=0.412]\rValidation: |          | 0/? [00:00<?, "
                 "?it/s]\rEpoch 1:  50%|#####     | 50/100 [00:08<00:08,  5.9it/s, v_num=3, "
                 "train_loss=0.4]\rEpoch 1: 100%|##########| 100/100 [00:16<00:00,  6.1it/s, "
                 "v_num=3, train_loss=0.312]\n`Trainer.fit` stopped: `max_epochs=2` reached.\n") ==
           0 &&
           r.curve->n == 2 && r.curve->seconds[0] == 20 && r.curve->seconds[1] == 16 &&
           r.loss == 0.312 && r.stepped == 0, "Lightning's bar, all of it in one line");
    form.pattern = "^Performance: +(?<ns_per_day>\\S+)";
    ok(read_text("               Core t (s)   Wall t (s)        (%)\n       Time:      110.410     "
                 "  13.802      800.0\n                 (ns/day)    (hour/ns)\nPerformance:       "
                 "62.613        0.383\nFinished mdrun on rank 0 Mon Nov  2 10:00:00 2026\n\n") ==
           0 &&
           is_near(r.units_per_s * 86400, 62.613), "GROMACS's md.log");
    form.pattern = "step (?<step>[0-9]+) .*, (?<it_per_s>[0-9.]+)";
    ok(read_text("step 1 x, 1.25s/it\nstep 2 x, 1.25s/it\nstep 3 x, 2.00it/s\nstep 4 x, 1.25s/it\n"
                 "step 5 x, 1.25s/it\n") == 0 && is_near(r.units_per_s, 0.8),
       "seconds of an iteration are not iterations of a second");
    form.pattern = "step (?<step>[0-9]+) .*, (?<step_time>[0-9.]+)";
    times("step 1 x, 1.25s/it\nstep 2 x, 0.80it/s\nstep 3 x, 0.80 it/s\n",
          "nor the other way", 1.25, 3);
    form.pattern = "epoch (?<epoch>[0-9]+) took (?<epoch_time>[0-9.]+)";
    times("epoch 0 took 12.5\nepoch 1 took 12.5\nepoch 2 took 1",
          "a last line that is cut is left out",
          12.5, 2);
    form.pattern = "took (?<epoch_time>[0-9.]+)";
    refused(ERR_CONFIG, "took 7.5 s\nx took 8,087 s\n", ":2: epoch_time is '8,087': a comma may",
            "a number with a comma, of which the pattern takes the beginning");
    form.pattern = "(?<epoch_time>[0-9.]+) s";
    refused(ERR_CONFIG, "7.5 s\n20,0 s\n", ":2: epoch_time is '20,0': a comma may", "or the end");
    form.pattern = "^(?<step>[0-9]+),(?<step_time>[0-9.]+)";
    times("1,8.5,3\n2,8.5,3\n", "a comma between two groups is none in a number", 8.5, 2);
    refused(ERR_DATA, "epoch;epoch_time\n0;20,0\n", ":2: epoch_time is '20,0': a comma may",
            "a decimal comma in a table");
}

/* Clocks in the forms of Python's timedelta, OpenMMLab, Slurm, and those of a day. */
static void check_clocks(void)
{
    form.pattern = "(?<step>[0-9]+) at (?<elapsed>.*)";
    times("10 at 23:53:20\n20 at 1 day, 23:46:40\n30 at 2 days, 23:40:00\n", "days of a duration",
          86000, 3);
    form.pattern = "(?<step>[0-9]+) at (?<elapsed>.*)";
    times("10 at 1-00:00:00\n20 at 2-00:00:00.0\n", "days before a hyphen", 86400, 2);
    form.pattern = "^(?<date>\\S+ \\S+) - x - Iter (?<step>[0-9]+)";
    times("2024/05/01 23:59:20 - x - Iter 0\n2024/05/01 23:59:50.25 - x - Iter 50\n"
          "2024/05/02 00:00:20,5 - x - Iter 100\n", "dates with slashes", 30.25, 2);
    for (int k = 0; k < 2; k++) { /* a name that says what it is, and one that does not */
        form.pattern = k ? "(?<elapsed>\\S+) step (?<step>[0-9]+)"
                         : "(?<time>\\S+) step (?<step>[0-9]+)";
        times("23:59:00 step 0\n23:59:20 step 10\n23:59:40 step 20\n00:00:00 step 30\n"
              "00:00:20 step 40\n00:00:40 step 50\n", "a time of day passes midnight", 20, 5);
    }
    form.pattern = "(?<time>\\S+) step (?<step>[0-9]+)";
    refused(ERR_CONFIG, "12:00:00 step 0\n12:00:20 step 10\n12:00:40 step 20\n", "'time' rises",
            "few times that may be those of a day");
    refused(ERR_DATA, "epoch,epoch_time,loss\n0,2024/13/01 00:00:00,1\n", "not a finite number",
            "a month that does not exist");
    /* 1.05 s a step, on a clock of whole seconds */
    char text[2000] = "step,timestamp\n";
    for (int i = 0; i < 60; i++)
        sprintf(text + strlen(text), "%d,2024-05-01 00:%02d:%02d\n", i, (int)(1.05 * i) / 60,
                (int)(1.05 * i) % 60);
    ok(read_text(text) == 0 && fabs(r.median_epoch_s - 1.05) < 0.01 && r.clock_step_s == 1 &&
           fabs(r.units_per_s - 1 / 1.05) < 0.01 && r.training_time == 61,
       "the mean step of a clock of whole seconds is its slope");
    ok(read_text("step,elapsed\n1,1.05\n2,2.10\n3,3.15\n4,4.20\n5,5.25\n") == 0 &&
           isnan(r.clock_step_s), "finer ones have the median");
    for (int k = 0; k < 2; k++)
        refused(ERR_CONFIG, k ? "epoch,time\n0,10\n1,20\n2,30\n3,10\n4,20\n5,30\n"
                              : "epoch,time\n0,100\n1,110\n2,120\n3,100\n4,111\n5,121\n",
                "'time' rises: does it count", "a few cumulative times that were set back");
    times("epoch,time\n0,12\n1,12\n2,12\n", "equal times are those of rows", 12, 3);
    ok(read_text("epoch,time\n0,30\n1,10.1\n2,10.2\n3,25\n4,10\n5,10.3\n") == 0 &&
           r.curve->seconds[3] == 25, "and so are times that scatter");
}

static void check_rates(void)
{
#define RATE "Performance: +(?<ns_per_day>[0-9.]+)"
    form.pattern = RATE;
    refused(ERR_CONFIG, "Performance: 50.0 ns/day\nPerformance: 75.0 ns/day\n",
            "it has 2 rates 'ns_per_day', from 50 to 75: let log.pattern match the one that counts",
            "rates of which it is not known which counts");
    form.pattern = RATE;
    ok(read_text("Performance: 50.0 ns/day\nPerformance: 52.0 ns/day\n"
                 "Performance: 52.0 ns/day\n") == 0 &&
           is_near(r.units_per_s * 86400, 52), "nearly equal ones");
    form.pattern = "step (?<step>[0-9]+) (?<ns_per_day>[0-9.]+) ns/day";
    ok(read_text("step 1 20 ns/day\nstep 2 50 ns/day\nstep 3 51 ns/day\nstep 4 51 ns/day\n"
                 "step 5 75 ns/day\n") == 0 && is_near(r.units_per_s * 86400, 51) && r.limited,
       "those of steps have a median");
}

/* OpenMMLab: times of iterations, rows of validations with steps of their own. */
static void check_openmmlab(void)
{
#define TRAIN(epoch, step, iter) "{\"lr\": 0.01, \"data_time\": 0.01, \"loss\": 0." step \
    ", \"time\": 0.2, \"epoch\": " epoch ", \"iter\": " iter ", \"step\": " step "}\n"
    form.per_step = 4;
    ok(read_text(TRAIN("1", "50", "50") TRAIN("1", "100", "100")
                 "{\"coco/bbox_mAP\": 0.3, \"data_time\": 0.5, \"time\": 0.9, \"step\": 1}\n"
                 TRAIN("2", "150", "150") TRAIN("2", "200", "200")
                 "{\"coco/bbox_mAP\": 0.4, \"data_time\": 0.5, \"time\": 0.9, \"step\": 2}\n") ==
           0 &&
           r.curve->n == 4 && is_near(r.curve->seconds[3], 10) && is_near(r.units_per_s, 20),
       "MMEngine's scalars.json");
    form.quality = "bbox_mAP";
#define OLD(epoch, iter) "{\"mode\": \"train\", \"epoch\": " epoch ", \"iter\": " iter \
    ", \"lr\": 0.1, \"data_time\": 0.1, \"loss\": 0.5, \"time\": 0.4}\n"
    ok(read_text("{\"env_info\": \"x\"}\n" OLD("1", "50") OLD("1", "100")
                 "{\"mode\": \"val\", \"epoch\": 1, \"iter\": 20, \"lr\": 0.1, \"bbox_mAP\": 0.3}\n"
                 OLD("2", "50") OLD("2", "100")
                 "{\"mode\": \"val\", \"epoch\": 2, \"iter\": 20, \"lr\": 0.1, \"bbox_mAP\": "
                 "0.4}\n") == 0 &&
           r.curve->n == 4 && is_near(r.curve->seconds[2], 20) && r.curve->score[1] == 0.3 &&
           r.quality.value == 0.4, "MMDetection 2's log.json, whose iterations begin anew");
}

/* Logs to which the starts of a job append: each was 100 s long, with 1000 s between them. */
static void check_starts(void)
{
    static const struct clock_span starts[] = {{1.7e9, 1.7e9 + 100}, {1.7e9 + 1100, 1.7e9 + 1200}};
#define STARTS(n) (struct log_form){.starts = starts, .nstarts = n}

    form = STARTS(2);
    ok(read_text("step,elapsed\n10,20\n20,40\n30,60\n40,80\n30,30\n40,50\n50,70\n60,90\n") == 0 &&
           r.curve->n == 6 && r.curve->seconds[4] == 90 && r.curve->seconds[5] == 20 &&
           r.training_time == 190 && r.median_epoch_s == 20,
       "a clock that begins anew: start-up and repeated steps are paid");
    form = STARTS(1);
    refused(ERR_DATA, "step,elapsed\n10,20\n20,40\n30,10\n", "time runs backwards",
            "a clock that was set back in one start");
    form = STARTS(2);
    refused(ERR_CONFIG, "step,elapsed\n10,20\n20,10\n30,5\n", "started 2 times, but 'elapsed' "
            "began anew 2 times", "more often than there are starts");
    for (int zone = -1; zone < 2; zone++) { /* 1.7e9 is 2023-11-14 22:13:20 UTC */
        char text[1000] = "step,timestamp,tokens\n", date[40];
        for (int i = 0; i < 8; i++) {
            time_t when = 1700000000 + 9000 * zone + 20 * (i + 1) + (i < 4 ? 0 : 1030);
            strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", gmtime(&when));
            sprintf(text + strlen(text), "%d,%s.5,5\n", i < 4 ? 10 * (i + 1) : 10 * (i - 1), date);
        }
        form = STARTS(2);
        ok(read_text(text) == 0 && r.curve->n == 5 && r.curve->seconds[3] == 90 &&
               r.curve->units[3] == 5, "dates: the wait between two starts is cut, zone %d", zone);
    }
    form = STARTS(2);
    refused(ERR_CONFIG, "step,timestamp\n1,1700000010\n2,1700000500\n", "outside of them",
            "a clock that is not the job's");
    form = STARTS(2);
    ok(read_text("epoch,epoch_time,tokens\n0,10,5\n1,10,5\n2,11,5\n1,12,5\n2,12,5\n3,12,5\n") ==
           0 &&
           r.curve->n == 4 && r.curve->seconds[1] == 12 && r.curve->units[2] == 5 &&
           isnan(r.training_time), "epochs that were done again count once");
    form = STARTS(2);
    refused(ERR_CONFIG, "{\"log_history\": [{\"loss\": 0.9, \"step\": 10}, {\"loss\": 0.7, "
            "\"step\": 20}, {\"train_runtime\": 40.5, \"train_samples_per_second\": 12.5}]}\n",
            "'train_runtime' is the time of the last start alone", "a time of the last start only");
}

int main(void)
{
    int fd = mkstemp(path);

    if (fd < 0)
        bail_out("mkstemp");
    close(fd);
    check_work_of_one_gpu();
    check_divergence();
    check_steps_apart();
    check_lightning();
    check_json();
    check_events();
    check_patterns();
    check_counts();
    check_terminal();
    check_clocks();
    check_rates();
    check_openmmlab();
    check_starts();
    curve_destroy(r.curve);
    unlink(path);
    return done_testing();
}

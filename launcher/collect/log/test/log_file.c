/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid and invalid logs of all forms. */
#include "src/base.h"
#include "launcher/collect/log/log_file.h"

#include <math.h>

#include "src/atomicfile.h"
#include "t/tap.h"

#define REFERENCE ",time_per_epoch,loss,lr,training_time,test_time,iou\n"
#define KERAS "epoch,accuracy,loss,lr,time_per_epoch,val_loss,val_mean_io_u\r\n"
#define MLLOG(time, type, key, value, metadata)                                             \
    ":::MLLOG {\"namespace\": \"\", \"time_ms\": " #time ", \"event_type\": \"" type "\", " \
    "\"key\": \"" key "\", \"value\": " value ", \"metadata\": {" metadata "}}\n"
#define EPOCH1                                                                \
    MLLOG(4000, "INTERVAL_START", "epoch_start", "null", "\"epoch_num\": 1") \
    MLLOG(13000, "POINT_IN_TIME", "train_loss", "0.5", "\"epoch_num\": 1")   \
    MLLOG(14000, "INTERVAL_END", "epoch_stop", "null", "\"epoch_num\": 1")
#define EPOCH2                                                                \
    MLLOG(14000, "INTERVAL_START", "epoch_start", "null", "\"epoch_num\": 2") \
    MLLOG(19000, "INTERVAL_END", "epoch_stop", "null", "\"epoch_num\": 2")
#define STOP MLLOG(22000, "INTERVAL_END", "run_stop", "null", "\"status\": \"success\"")

static char path[] = "/tmp/unetctl-log.XXXXXX";
static struct result r;
static struct err e;
static struct log_form form; /* what the user says, for the next file */

static int read_bytes(const char *text, size_t n)
{
    curve_destroy(r.curve);
    result_init(&r);
    if (atomicfile_write(path, text, n, 0600, &e))
        bail_out("%s", e.text);
    return log_file_read(path, &form, &r, &e);
}

static int read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void refused(const char *text, const char *why, const char *what)
{
    int rc = read_text(text);

    if (!ok(rc == -1 && e.code == ERR_DATA && strstr(e.text, path) && strstr(e.text, why) &&
            !r.curve, "refused: %s", what))
        printf("# %s\n", rc ? e.text : "accepted");
}

/* Refused as a form that is not known, with what to type; not as damage. */
static void asked(const char *text, const char *why, const char *what)
{
    int rc = read_text(text);

    if (!ok(rc == -1 && e.code == ERR_CONFIG && strstr(e.text, path) && strstr(e.text, why) &&
            !r.curve, "asked: %s", what))
        printf("# %s\n", rc ? e.text : "accepted");
}

static void check_reference(void)
{
    ok(read_text(REFERENCE
                 "0,30,0.5,0.001,50,2,0.9\n1,10,0.25,0.001,50,2,0.9\n2,10,0.2,0.001,50,2,0.9\n") ==
                     0, "a table of the reference is read");
    ok(r.epochs == 3 && r.first_epoch_s == 30 && r.median_epoch_s == 10 && r.training_time == 50 &&
           r.test_time == 2 && r.loss == 0.2 && r.quality.iou == 0.9, "its numbers are right");
    ok(r.curve && r.curve->n == 3 && r.curve->loss[1] == 0.25 && !r.curve->score, "it has a curve");
    ok(isnan(r.units) && r.global_batch == 0, "values that it lacks are unknown");
    refused("", ":1: the file is empty", "nothing");
    form.quality_name = "loss";
    form.better = "lower";
    ok(read_text(REFERENCE "0,30,0.5,0.001,50,2,0.9\n1,10,0.25,0.001,50,2,0.9\n") == 0 &&
           r.quality.value == 0.25 && r.quality.lower && strcmp(r.quality.metric, "loss") == 0 &&
           isnan(r.quality.iou) && r.curve->score[0] == 0.5 && r.training_time == 50,
       "another column of it can be the quality");
    form = (struct log_form){0};
    static const char *const lower[] = {"val_ppl", "WER", "eval/nll", "edit_distance", "top1-err",
                                        "hd95", "val_RMSE", "perplexity"},
                      *const higher[] = {"better", "perfect", "accuracy", "answer", "f1", "power"};
    for (size_t i = 0; i < sizeof lower / sizeof *lower; i++)
        ok(log_form_is_lower(&form, lower[i]), "less %s is better", lower[i]);
    for (size_t i = 0; i < sizeof higher / sizeof *higher; i++)
        ok(!log_form_is_lower(&form, higher[i]), "more %s is better", higher[i]);
    refused("\"\"\nme_per_epoch,loss,lr,training_time,test_time,iou\n0,1,1,1,1,1,0.5\n",
            ":1: the header", "another rank's bytes over the header");
    refused(REFERENCE "0,30,0.5,0.001,50,2,0.9\n1,10,0.2", ":3: ", "a file that was cut");
    refused(REFERENCE "0,30,nan,0.001,50,2,0.9\n", ":2: loss is 'nan'", "NaN");
    refused(REFERENCE "0,30,0.5,0.001,50,2\n", ":2: the row is cut short", "too few cells");
    refused(REFERENCE "0,30,0.5,0.001,50,2,0.9,7\n", ":2: the row has more", "too many cells");
    refused(REFERENCE "0,-3,0.5,0.001,50,2,0.9\n", ":2: a time is negative", "a negative time");
    refused(REFERENCE "0,0,0.5,0.001,50,2,0.9\n", ": epoch 0 takes 0 s", "no time");
    refused(REFERENCE "0,2e9,0.5,0.001,3e9,2,0.9\n", "training takes 3e+09 s", "a lifetime");
    refused(REFERENCE "0,3,0.5,0.001,50,2,1.9\n", ":2: iou is 1.9", "an impossible IoU");
    refused(REFERENCE "0,30,0.5,0.001,50,2,0.9\n2,10,0.2,0.001,50,2,0.9\n", ":3: ",
            "a missing epoch");
    refused(",time_per_epoch,loss,lr,training_time,test_time,iou\r\n0,1,1,1,1,1,0.5\r\n",
            "lines end in CR LF", "line ends of Windows");
    refused("\xef\xbb\xbf,time_per_epoch,loss,lr,training_time,test_time,iou\n0,1,1,1,1,1,0.5\n",
            "byte order", "a byte order mark");
    ok(read_bytes("\x89PNG\r\n\x1a\n\0\0", 10) == -1 && strstr(e.text, "binary"),
       "a picture is refused");
}

static void check_keras(void)
{
    ok(read_text(KERAS "0,0.8,0.5,0.001,30,0.6,0.7\r\n1,0.9,0.25,0.001,10,0.5,0.8\r\n") == 0,
       "a table of Keras with Python's line ends is read");
    ok(r.epochs == 2 && r.first_epoch_s == 30 && r.training_time == 40 && r.quality.iou == 0.8,
       "it has times and IoU");
    ok(r.curve->score && r.curve->score[0] == 0.7, "it has a score for each epoch");
    asked("epoch;loss;val_accuracy\n0;0.5;0.7\n1;0.4;0.9\n",
          "--column time=NAME (log.time in study.yaml); its columns are epoch, loss, val_accuracy",
          "a table without times, whose columns are named");
    ok(read_text("epoch;loss;epoch_time;val_accuracy\n0;0.5;2;NA\n1;0.4;2;0.9\n2;0.3;2;nan\n") == 0,
       "a table with semicolons, and scores that were not computed");
    ok(r.epochs == 3 && r.stepped == 0 && isnan(r.curve->score[0]) && isnan(r.curve->score[2]),
       "those are unknown");
    ok(r.curve->score[1] == 0.9 && r.quality.accuracy == 0.9 && result_by_accuracy(&r),
       "an accuracy is a score, and not an IoU");
    ok(read_text("epoch,epoch_time,val_accuracy\n0,2,\n1,2,60\n2,2,75\n") == 0 &&
           r.quality.accuracy == 0.75 && r.curve->score[1] == 0.6, "all say that it is in percent");
    refused("epoch,epoch_time,val_accuracy\n0,2,0.9\n1,2,60\n", ":3: the score is 60, outside 0..1",
            "or only some");
    refused(KERAS "0,0.8,bad,0.001,30,0.6,0.7\n", ":2: loss is 'bad'", "a loss that is no number");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6\n", ":2: the row does not have the 7 cells", "a short row");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6,0.7\n0,0.8,0.5,0.001,30,0.6,0.7\n",
            ":3: step or epoch 0 is there twice", "two runs in one file");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6,0.7\n2,0.8,0.5,0.001,30,0.6,0.7\n",
            ":3: this is epoch 2, not 1", "a missing epoch");
    refused(KERAS "0,0.8,0.5,0.001,-30,0.6,0.7\n", "negative", "a negative time");
    refused(KERAS "0,0.8,0.5,0.001,0,0.6,0.7\n", ": epoch 0 takes 0 s", "no time");
    refused(KERAS "0,0.8,0.5,0.001,1e308,0.6,0.7\n1,0.8,0.5,0.001,1e308,0.6,0.7\n",
            "a time is wrong", "times whose sum is no number");
    refused(KERAS "0,0.8,0x10,0.001,30,0.6,0.7\n", ":2: loss is '0x10'", "a hexadecimal number");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6,0.7\r0,0.8,0.5\r\n", ":2: ", "two rows in one line");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6,7\n", "outside 0..1", "an impossible score");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6,abc\n", ":2: val_mean_io_u is 'abc'", "a text");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6,0.7", "no newline", "no whole row");
    refused(KERAS "0,0.8,0.5,0.001,30,0.6,0.7\n1,0", ":3: the last line has no newline",
            "a cut file");
    refused(KERAS, "no epoch", "a header alone");
    asked("epoch,loss,loss\n0,1,1\n", ":1: two columns are called 'loss'", "two columns of a name");
}

static void check_mllog(void)
{
    ok(read_text("starting\n" MLLOG(1000, "INTERVAL_START", "init_start", "null", "")
                 MLLOG(1000, "POINT_IN_TIME", "global_batch_size", "64", "")
                 MLLOG(1000, "POINT_IN_TIME", "number_of_ranks", "4", "")
                 MLLOG(1000, "POINT_IN_TIME", "seed", "7", "")
                 MLLOG(1000, "POINT_IN_TIME", "train_samples", "1792", "")
                 EPOCH1 "[1,0]: " EPOCH2
                 MLLOG(19000, "INTERVAL_START", "eval_start", "null", "")
                 MLLOG(21000, "POINT_IN_TIME", "eval_accuracy", "0.9", "\"epoch_num\": 2")
                 MLLOG(21500, "INTERVAL_END", "eval_stop", "null", "") STOP) == 0,
       "MLLOG lines among others");
    ok(r.gpus == 4 && r.seed == 7 && r.global_batch == 64, "MLLOG lines say what ran");
    ok(r.epochs == 2 && r.first_epoch_s == 10 && r.median_epoch_s == 5 && r.training_time == 15,
       "they give the epochs");
    ok(r.startup_s == 3 && r.test_time == 2.5, "they give start-up and evaluation");
    ok(r.quality.accuracy == 0.9 && isnan(r.quality.iou) && result_by_accuracy(&r),
       "eval_accuracy is not taken as IoU");
    ok(r.curve->loss[0] == 0.5 && isnan(r.curve->loss[1]), "they give losses where there are some");
    ok(fabs(r.units_per_s - 1792 / 5.) < 1e-9, "they give images per second");
    ok(read_text(EPOCH1 MLLOG(14500, "POINT_IN_TIME", "eval_accuracy", "0.8", "\"metric\": \"iou\"")
                 STOP) == 0 && r.quality.iou == 0.8 && isnan(r.quality.accuracy) &&
           !result_by_accuracy(&r),
       "unless it says so");
    refused(EPOCH1, "no run_stop", "a run that was killed");
    refused(EPOCH1 MLLOG(2, "INTERVAL_END", "run_stop", "null", "\"status\": \"aborted\""),
            "not end with success", "one that was aborted");
    refused(MLLOG(5, "INTERVAL_START", "epoch_start", "null", "") MLLOG(5, "INTERVAL_END",
                                                                        "epoch_stop", "null",
                                                                        "") STOP,
            ": epoch 0 takes 0 s", "an epoch that takes no time");
    refused(STOP, "no epoch", "one without epochs");
    ok(read_text(EPOCH1 MLLOG(14500, "POINT_IN_TIME", "eval_accuracy", "90", "") STOP) == 0 &&
           r.quality.accuracy == 0.9, "an accuracy in percent");
    refused(EPOCH1 MLLOG(14500, "POINT_IN_TIME", "eval_accuracy", "2.7", "") STOP, "outside 0..1",
            "the logarithm of a perplexity");
    refused(EPOCH1 ":::MLLOG {\"key\": \n" STOP, ":4: what follows", "a line that is cut");
    refused(EPOCH1 MLLOG(1, "INTERVAL_END", "epoch_stop", "null", "") STOP,
            ":4: an epoch stops that", "a stop too many");
    refused(MLLOG(9, "INTERVAL_START", "epoch_start", "null", "") MLLOG(5, "INTERVAL_END",
                                                                        "epoch_stop", "null", "") STOP,
            "before it starts", "a clock that runs backwards");
    refused(EPOCH1 MLLOG(30000, "INTERVAL_START", "eval_start", "null", "")
                MLLOG(29000, "INTERVAL_END", "eval_stop", "null", "") STOP,
            "an evaluation stops before it starts", "in an evaluation, too");
    refused(EPOCH1 MLLOG(2, "INTERVAL_START", "epoch_start", "null", "") STOP,
            "when the last one runs", "two epochs at a time");
    refused(MLLOG(99000, "INTERVAL_START", "init_start", "null", "") EPOCH1 STOP,
            "before init_start", "an epoch before the program");
#define BLOCK(key, time, count) MLLOG(time, "INTERVAL", key, "null", "\"epoch_count\": " count)
#define EVAL(start, stop, score)                                   \
    MLLOG(start, "INTERVAL_START", "eval_start", "1", "")          \
    MLLOG(stop, "POINT_IN_TIME", "eval_accuracy", score, "")       \
    MLLOG(stop, "INTERVAL_END", "eval_stop", "1", "")
    ok(read_text(MLLOG(1000, "INTERVAL_START", "init_start", "null", "")
                 MLLOG(1500, "INTERVAL_START", "init_start", "null", "")
                 MLLOG(3000, "INTERVAL_START", "run_start", "null", "")
                 MLLOG(3000, "POINT_IN_TIME", "submission_benchmark", "\"unet3d\"", "")
                 MLLOG(3000, "POINT_IN_TIME", "train_samples", "168", "")
                 BLOCK("block_start", 4000, "20") BLOCK("block_stop", 16000, "20")
                 BLOCK("block_start", 16000, "20") EVAL(26000, 31000, "0.8")
                 BLOCK("block_stop", 31000, "20")
                 BLOCK("block_start", 31000, "20") EVAL(41000, 46000, "0.91")
                 MLLOG(46000, "INTERVAL_END", "run_stop", "null", "\"status\": \"success\"")
                 BLOCK("block_stop", 46000, "20")) == 0,
       "blocks of epochs, of which run_stop ends the last");
    ok(r.epochs == 3 && r.stepped == 1 && r.curve->seconds[1] == 10 && r.curve->seconds[2] == 10,
       "their evaluations do not count");
    ok(r.curve->units[2] == 20 * 168 && r.units_per_s == 336 && strcmp(r.unit, "samples") == 0,
       "their samples are known");
    ok(r.training_time == 43 && r.startup_s == 2 && isnan(r.test_time),
       "the training lasts from run_start to run_stop");
    ok(read_text(BLOCK("block_start", 0, "20") BLOCK("block_stop", 10000, "20")
                 BLOCK("block_start", 10000, "20") EVAL(10100, 19000, "0.8")
                 BLOCK("block_stop", 20000, "20") STOP) == 0 && r.curve->seconds[1] == 10,
       "evaluations beside the training count");
#define SAMPLES(time, score, samples) \
    MLLOG(time, "POINT_IN_TIME", "eval_accuracy", score, "\"epoch_num\": " samples)
#define BERT MLLOG(0, "POINT_IN_TIME", "submission_benchmark", "\"bert\"", "")
    ok(read_text(BERT MLLOG(0, "INTERVAL_START", "epoch_start", "null", "")
                 BLOCK("block_start", 1, "1") SAMPLES(5000, "0.5", "1000")
                 SAMPLES(9000, "0.7", "2000") BLOCK("block_stop", 9001, "1")
                 MLLOG(9002, "INTERVAL_END", "epoch_stop", "null", "") STOP) == 0 &&
           r.epochs == 2 && r.curve->seconds[1] == 4 && r.curve->units[1] == 1000 &&
           r.quality.accuracy == 0.7, "one epoch with evaluations has intervals between them");
    ok(read_text(BERT BLOCK("block_start", 0, "5") BLOCK("block_stop", 4000, "5")
                 BLOCK("block_start", 5000, "5") BLOCK("block_stop", 9000, "5")
                 BLOCK("block_start", 30000, "5") BLOCK("block_stop", 34000, "5")
                 SAMPLES(4001, "0.6", "1000") SAMPLES(9001, "0.7", "2000") STOP) == 0 &&
           r.epochs == 2 && r.curve->score[0] == 0.6 && r.curve->units[0] == 1000,
       "scores that come later belong to their time, and blocks after run_stop do not count");
    curve_destroy(r.curve);
    result_init(&r);
    r.gpus = 8;
    atomicfile_write(path, MLLOG(0, "POINT_IN_TIME", "number_of_ranks", "4", "") EPOCH1 STOP,
                     strlen(MLLOG(0, "POINT_IN_TIME", "number_of_ranks", "4", "") EPOCH1 STOP),
                     0600, &e);
    ok(log_file_read(path, NULL, &r, &e) == -1 && strstr(e.text, "says 8 GPUs"),
       "a log with another count than its name is refused");
}

int main(void)
{
    int fd = mkstemp(path);

    if (fd < 0)
        bail_out("mkstemp");
    close(fd);
    check_reference();
    check_keras();
    check_mllog();
    ok(log_file_read("/nonexistent/log_1.csv", NULL, &r, &e) == -1,
       "a file that does not exist is refused");
    curve_destroy(r.curve);
    unlink(path);
    return done_testing();
}

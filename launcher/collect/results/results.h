/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of results of a study (logs/results.csv) or of a folder of logs: one row per run. In a
 * study every wanted run has a row; only rows in the state "done" have measurements other than
 * epochs and their curve. An unknown measurement that is a real number is NaN here and empty in the
 * file.
 *
 * A row (struct result) has names, numbers and, owned by the table, its curve (each epoch), its
 * scores (each validation image) and its settings as one text. Collecting makes rows from folders
 * and logs, a series adapts copies of them, and the report reads them; quantity_of gives every
 * number under one name. The room knows no study and no scheduler: it reads and writes the files of
 * a table, and what a function cannot read becomes an error with FILE:LINE.
 *
 * Read struct curve and struct scores first (measures.c), then struct result and the table
 * (results.c), then enum quantity. */
#pragma once

#include "src/base.h"

/* The intervals of a run that its log or its record has a time for: its epochs or, of a program
 * that does not count epochs, the steps between two rows. */
struct curve {
    size_t n;
    double *seconds; /* NaN if the log has no times */
    double *loss;
    /* validation IoU or accuracy; NaN in epochs without validation; NULL if there was none */
    double *score;
    double *val_loss;    /* as score */
    double *train_score; /* IoU of the training images; NULL if it was not counted */
    /* |G|^2 and tr(Sigma) of the gradient (analysis.h); NaN in epochs without them; NULL if
     * there were none */
    double *grad_sq, *grad_var;
    double *joules; /* of the GPUs in each interval, measured; NaN: unknown */
    double *units; /* work done by all ranks (result.unit) in each interval; NULL: unknown */
};

/* Creates a curve of n epochs, all NaN, with the values whose bits are in columns. NULL if memory
 * ran out. */
enum { CURVE_SCORE = 1, CURVE_GRADIENT = 2, CURVE_VAL_LOSS = 4, CURVE_TRAIN_SCORE = 8,
       CURVE_UNITS = 16 };
struct curve *curve_create(size_t n, int columns, struct err *e);
void curve_destroy(struct curve *c);

/* A longer time of an epoch, or of a training or evaluation, in seconds, is an error. So is the
 * time of an epoch that is not positive. */
#define CURVE_LONGEST_S 1e9

/* Returns k, the number of intervals at the beginning that are slow because the run warms up: 1 to
 * half of all n. With x(i) the logarithm of the time per unit of work of interval i, and med its
 * median over the m intervals of the second half, k is where this sum is the largest:
 *
 *   sum over i = 1 .. k - 1 of x(i) - med - t, each term limited to -t .. t
 *
 * So an interval counts as slow if it exceeds the median by more than t, and a single slow one
 * outweighs at most one that is as usual. t = CURVE_SLOW (1 + CURVE_FEW / m) s, where s is the
 * scatter of the second half: 1.4826 x its median absolute deviation, and at least CURVE_NOISE. */
size_t curve_warmup(const struct curve *c);
#define CURVE_SLOW 3.
#define CURVE_FEW 6
#define CURVE_NOISE 0.01

/* Fills dst, which has room for c->n, with the values (seconds or joules) of the intervals after
 * those, each scaled to their median work where that is known. Returns their number. */
size_t curve_steady(const struct curve *c, const double *values, double *dst);

struct result;
/* Sets r's epochs, first_epoch_s, second_epoch_s, median_epoch_s (of the steady intervals) and loss
 * and, if c has units, units and units_per_s. c has at least one epoch; with one epoch,
 * second_epoch_s, median_epoch_s and units_per_s are NaN. */
void curve_measure(const struct curve *c, struct result *r);

/* Returns the first epoch (from 0) whose value is at least the target, or with rising 0 at most the
 * target, if of it and the values behind it, `window` together, at least `hits` are; -1 if there is
 * none. Epochs without a value (NaN) are passed over; beyond the last, its value is repeated. */
long curve_reach(const double *values, size_t n, double target, int rising, int window, int hits);

/* images.csv: the IoU, or accuracy, of each validation image after the last epoch, and the pixels
 * of each class (logs/SCHEMA.md). With these scores, two single runs are compared on the same
 * images. */
struct score {
    uint64_t image; /* hash of the image's name */
    double iou;     /* or its accuracy */
};

/* The pixels of a class in all images. */
struct score_class {
    char name[64];
    double intersection, either; /* of prediction and truth: in both, and in one or both */
};

struct scores {
    struct score *rows; /* ascending by the hash */
    size_t count;
    struct score_class *classes; /* of several, in their order; the first is the background */
    size_t nclasses, capacity; /* capacity: of classes */
};

/* Returns (I + 1) / (U + 1) over the pixels of all images. */
double scores_class_iou(const struct score_class *c);

/* Reads the column "iou" or "accuracy" of the rows of class "all", and the counts of the others.
 * Returns NULL if the file cannot be read, or with ERR_DATA "FILE:LINE: REASON", some without LINE:
 * a column is missing, a row has another number of cells, a value is outside 0..1, an image appears
 * twice, there is no image, or the last newline is missing. */
struct scores *scores_read(const char *path, const char *column, struct err *e);
void scores_destroy(struct scores *s);

/* The settings of a run as one text: "data.height=96; model.base=16". In values, ';' and '\' are
 * preceded by a backslash. */

#define SETTINGS_GLOBAL_BATCH "train.global_batch"
#define SETTINGS_BATCH_PER_GPU "train.batch_per_gpu"
#define SETTINGS_STRATEGY "strategy"

/* One setting in the text. Its value still has its backslashes. */
struct setting_text {
    const char *key, *value;
    size_t nkey, nvalue;
};

void settings_add(struct buf *dst, const char *key, const char *value);

/* Reads the setting at *text and advances *text past it. Returns false at the end, or if the
 * text is malformed. */
bool settings_next(const char **text, struct setting_text *dst);

/* Adds the value without its backslashes. */
void settings_add_value(struct buf *dst, const struct setting_text *s);

/* Returns whether two texts are equal. NULL stands for unknown settings and equals only NULL. */
bool settings_equal(const char *a, const char *b);

/* Adds ", KEY VALUE" for each setting of texts[i] that at least one other of texts[0..n) does not
 * have with the same value, or ", settings not known" if only others are known. */
void settings_tell_apart(const char *const *texts, size_t n, size_t i, struct buf *dst);

/* Returns a copy of text by which runs are compared to which the strategy makes no difference:
 * those on one GPU and those on several nodes. The copy has no strategy. With one_gpu, it has
 * train.batch_per_gpu under the name train.global_batch, since both are the same on one GPU. The
 * caller frees the copy. NULL for NULL, or if memory ran out. */
char *settings_common(const char *text, bool one_gpu);

enum result_state {
    RESULT_DONE,        /* finished and verified */
    RESULT_FAILED,      /* it has a FAILED marker */
    RESULT_CANCELLED,   /* its job was cancelled */
    RESULT_KILLED,      /* it ended without a marker */
    RESULT_RUNNING,     /* its job is running */
    RESULT_PENDING,     /* the job waits to start */
    RESULT_UNFINISHED,  /* neither DONE nor FAILED, and the scheduler could not be queried */
    RESULT_CORRUPT,     /* its files are invalid or contradict each other */
    RESULT_NOT_STARTED, /* generated, but never started */
    /* finished, but it ran on another number of GPUs than planned for some time */
    RESULT_ELASTIC,
    RESULT_MISSING,     /* study.yaml asks for it, but it was not generated */
    RESULT_UNREAD       /* its log is of an unknown form or too large, as the note says */
};

/* In the note of a run that executed other files than the first of its engine, and of one whose
 * ranks see more GPUs than it was given. */
#define RESULT_NOTE_EDITED " from what "
#define RESULT_NOTE_SEEN "a rank sees "

struct result {
    char run[128];   /* unique in its table */
    char engine[32]; /* embedded, native, horovod ... */
    int gpus, nodes; /* nodes 0: unknown */
    long seed;
    int attempt; /* 0: there is none */
    enum result_state state;
    char note[512]; /* what went wrong, where, why; of a done run, what is odd */

    /* What it trained. */
    long epochs; /* completed */
    /* 1 if its intervals are the steps between two rows of its log, not epochs; `epochs` is their
     * number all the same, and units and times are of one of them */
    int stepped;
    /* 1 if it ended at limit.steps or limit.minutes: only its speed is known, neither its quality
     * nor the time of a whole run. */
    int limited;
    double limited_s; /* how long it trained then; 0: the sum of its curve */
    long asked_steps; /* limit.steps of its plan, for the reader of its log; 0: none */
    /* 1 if its times and scores are those of a run of another seed (suspects_mark_copied): no
     * repetition */
    int copied;
    long batch_per_gpu, global_batch; /* in units; 0: unknown */
    long parameters;                  /* of the network; 0: unknown */
    /* The settings that can change its time or quality (settings.h), without those at their
     * preset; owned by the table. NULL: unknown. */
    char *settings;
    /* what a series sets in its own copy of the row (series_rows_complete), 0 in a table */
    struct {
        /* How much the whole run did: its epochs or, if its intervals are steps, its work over that
         * of the first such run, in parts of 1 / SERIES_WORK_STEPS and plus 1. Runs and counts
         * compare as wholes only where it is the same; 0: unknown. */
        long work;
        bool energy_estimated; /* energy.gpus_j was not measured: series_facts.watts_per_gpu */
        bool mean; /* median_epoch_s and units_per_s are by the mean of the epochs (series.means) */
    } series;

    /* How fast it was. */
    char unit[24]; /* of work: "samples", "tokens" ...; "": images */
    double units;  /* of work that all ranks did in an epoch, median */
    /* of the epochs with index 0 and 1; a series sets the second to that of the epoch which the
     * user chose, if any (series_facts.epoch) */
    double first_epoch_s, second_epoch_s;
    double median_epoch_s; /* over the epochs after warming up */
    double units_per_s;    /* median over the same */
    double training_time, test_time;
    /* The step of the clock that its times are differences of, where that is coarse: they are then
     * means over the steady intervals (log_clock_slope). NaN: none. */
    double clock_step_s;
    /* how long its job ran, all starts together, and how many these were; NaN, 0: unknown */
    double job_s;
    long starts;
    double startup_s;            /* from process start to the first step */
    double stage_s, stage_bytes; /* before that: copying the data to rank 0's node, data.stage */
    /* time waited for communication and data in an epoch, median over all but the first */
    double comm_s, data_s;

    /* How good it became. */
    double loss; /* of the last epoch */
    struct {
        /* what the quality is: "accuracy" if images have classes; "iou" or "" if they have masks;
         * otherwise the name that the study or the log gives it, which has `value` */
        char metric[32];
        double value;
        int lower;           /* 1 if a smaller value is better */
        double iou, dice;    /* at the network's size */
        double iou_own_size; /* of the masks at each image's own size */
        double accuracy;     /* fraction of the images, or pixels, that are classified correctly */
        double constant;     /* what predicting one class everywhere would have */
        long val_images;     /* that it was measured on, of all ranks; 0: unknown */
    } quality;
    /* |G|^2 and tr(Sigma) of the gradient (analysis.h), means over the epochs after the first */
    double grad_sq, grad_var;

    /* What it consumed, over the whole run. */
    struct {
        double gpus_j;  /* of its GPUs, measured; else, in a series, by watts_per_gpu */
        double cpus_j;  /* of the CPU packages of its nodes, with all that ran on them */
        double nodes_j; /* of its nodes, which it had for itself, by Slurm (run_energy.c) */
        double epoch_j; /* of its GPUs in a steady epoch, measured */
    } energy;
    /* Means of its GPUs: power, share of the time with a kernel, and with clocks reduced by power
     * or heat; the most memory in use on one of them. */
    struct { double watts, busy, throttled, memory_mib; } gpu;

    /* Where and with what it ran. */
    char host[128]; /* the host of rank 0 */
    /* the hosts of all ranks as a node list (nodelist.h), and when the attempt started (ISO 8601,
     * UTC); "": unknown */
    char hosts[256], started[24];
    char device[128]; /* the model of GPU or processor that rank 0 computed on; "": unknown */
    int fake_gpus;      /* 1 if its "GPUs" are CPU cores, 0 if they are GPUs; -1: unknown */
    int oversubscribed; /* 1 if it had more workers than cores, or 0; -1: unknown */
    /* what it ran with, as in the record: "compiler cc 12.2.0; kernel Linux 6.1; ..." */
    char versions[512];
    /* Comparisons of kernels with the reference before they were used, over all processes (0: none,
     * or unknown), and the faults of kernels that were replaced for that reason, or "". */
    struct { int checked; char refused[256]; } kernels;

    /* Its files, and what they hold. */
    char log[128], images_log[128]; /* beside results.csv: its epochs, its scores; or "" */
    char *examples;        /* folder of its example pictures, owned by the table; NULL: none */
    struct curve *curve;   /* its epochs, owned by the table; NULL: not read */
    struct scores *scores; /* scores of its images, owned by the table; NULL: none */
};

struct results {
    struct result *rows;
    size_t count;
    size_t capacity; /* allocated rows */
};

extern const char *const result_state_names[];

/* Returns whether accuracy is the measure of the run's quality. */
bool result_by_accuracy(const struct result *r);

/* Returns the value of the measure that result.metric names, or NaN. */
double result_quality(const struct result *r);
/* Returns whether that is a share, between 0 and 1, of which more is better: IoU or accuracy. */
bool result_quality_is_share(const struct result *r);
const char *result_quality_word(const struct result *r); /* "accuracy", "IoU" or another name */

/* Returns whether the run's log has nothing but rates. */
bool result_is_rate(const struct result *r);

/* Returns the rate in what it is shown in, and writes that, such as images/s: per day if a typical
 * rate is below 0.05 per second. */
double rate_show(double per_second, double typical, const char *unit, char *name, size_t size);

/* Sets everything to unknown: NaN, 0, -1, "". The caller sets state, which becomes 0. */
void result_init(struct result *r);

/* Discards all measurements. r keeps run, engine, gpus, nodes, seed, attempt and settings, and gets
 * state and note. */
void result_discard(struct result *r, enum result_state state, const char *note);

/* Frees what r points to. */
void result_destroy(struct result *r);

/* Copies text into a field. Text that does not fit ends in "...". Control characters become
 * blanks, and bytes that are not UTF-8 question marks. */
void result_set_text(char *dst, size_t size, const char *text);

/* Appends a copy of r; the table then owns what r points to. Returns 0, or -1 if memory ran out. */
int results_add(struct results *table, const struct result *r, struct err *e);

/* Sorts by engine, GPUs, seed, settings, and then run. */
void results_sort(struct results *table);

size_t results_count(const struct results *table, enum result_state state);

/* Returns the table as CSV, which the caller frees, or NULL if memory ran out. */
char *results_encode(const struct results *table);
#define RESULTS_MARK "run,engine,gpus," /* the beginning of each such file (atomicfile_check_own) */

/* Returns a table of the epochs of the runs that are done as CSV, which the caller frees, or NULL
 * if memory ran out. */
char *results_encode_epochs(const struct results *table);

/* Fills table, which is empty, from a file that results_encode made. Curves and scores are not in
 * it. Columns are found by name; batch_per_gpu and the columns after it may be missing. Returns 0,
 * or -1 if the file cannot be read, or with ERR_DATA and FILE:LINE for a missing column, a row that
 * is cut off, an invalid value or an unknown state; table is then empty. */
int results_read(struct results *table, const char *path, struct err *e);

void results_destroy(struct results *table);

/* The quantities that are measured of a run, each with one name. */

enum quantity {
    /* Times, from each of which a speed-up and an efficiency are computed. */
    QUANTITY_STARTUP,      /* from process start to the first step */
    QUANTITY_FIRST_EPOCH,  /* the epoch with index 0, which includes warming up */
    /* A single epoch (series_facts.epoch), which the reference notebook compares. */
    QUANTITY_ONE_EPOCH,
    QUANTITY_STEADY_EPOCH, /* median or mean of the epochs after warming up */
    QUANTITY_COMM,         /* exposed communication in a steady epoch */
    QUANTITY_DATA,         /* wait for data in a steady epoch */
    QUANTITY_EVALUATION,   /* test_time */
    QUANTITY_TRAINING,     /* all epochs */
    QUANTITY_WHOLE, /* its job or, as logged, training + stage-in, start-up, evaluation */
    QUANTITY_NTIMES,
    /* Other quantities. */
    QUANTITY_STAGE = QUANTITY_NTIMES, /* seconds of copying the data to the nodes (data.stage) */
    QUANTITY_UNITS, /* of work (images, words ...) that all ranks processed in an epoch */
    QUANTITY_RATE,                     /* these per second of a steady epoch */
    QUANTITY_LOSS,                     /* of the last epoch */
    QUANTITY_QUALITY, /* IoU, accuracy, or what the log names (result_quality) */
    QUANTITY_IOU_OWN_SIZE,
    QUANTITY_DICE,
    QUANTITY_ENERGY, /* kWh: measured, or computed from watts per GPU x GPU-seconds */
    QUANTITY_UNIT_ENERGY, /* joules per unit of work in a steady epoch, measured */
    QUANTITY_CPU_ENERGY,  /* kWh of the CPU packages, measured */
    QUANTITY_NODE_ENERGY, /* kWh of whole nodes, by Slurm */
    QUANTITY_GPU_POWER,   /* watts of a GPU */
    QUANTITY_GPU_BUSY, QUANTITY_GPU_THROTTLED, /* shares of the time */
    QUANTITY_GPU_MEMORY,                       /* MiB */
    QUANTITY_COUNT
};

extern const struct quantity_words {
    const char *key;  /* "steady_epoch_s", for JSON keys and columns */
    const char *name; /* "steady epoch" */
    const char *text; /* one sentence that defines the quantity */
    size_t offset;    /* of its number in struct result, in `parts` of 1, or that it is computed */
    double parts;     /* 0: in whole ones */
} quantities[QUANTITY_COUNT];

/* Returns the quantity of a run, or NaN if it is unknown. */
double quantity_of(const struct result *r, enum quantity q);

/* Copies the known values of q in rows[0..n) to dst and returns their number. */
size_t quantity_collect(const struct result *rows, size_t n, enum quantity q, double *dst);

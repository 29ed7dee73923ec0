/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train data split: divides a data set into training and validation, once. */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include <sys/stat.h>

#include "src/atomicfile.h"
#include "trainer/data/set/dataset.h"

static struct {
    const char *dir, *out, *train_list, *val_list, *group;
    double val_fraction;
    long seed, folds, fold;
    bool soft_masks;
    long classes;
    const char *ignore, *class_file;
    struct source_folders folders;
} given = {.seed = 1244, .fold = 1, .classes = 1};

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data folder: images/ and masks/, or another format", &given.dir, 0,
     0},
    OPTIONS_FOLDERS(given.folders),
    {"out", 'o', CLI_STRING, "FILE", "split file to write", &given.out, 0, 0},
    {"val-fraction", 0, CLI_DOUBLE, "F", "share of the images for validation (default 0.2)",
     &given.val_fraction, 0.001, 0.999},
    {"folds", 0, CLI_INT, "K", "instead: divide the images into K parts (default 0: none)",
     &given.folds, 0, 100},
    {"fold", 0, CLI_INT, "I", "with --folds: the part that validates (default 1)", &given.fold, 1,
     100},
    {"seed", 0, CLI_INT, "S", "seed of the division (default 1244)", &given.seed, 0, 0x1p53},
    {"soft-masks", 0, CLI_FLAG, NULL, "masks may hold grey values", &given.soft_masks, 0, 0},
    {"train-list", 0, CLI_STRING, "FILE",
     "use a given split: a file with one image file name per line", &given.train_list, 0, 0},
    {"val-list", 0, CLI_STRING, "FILE", "the same for validation", &given.val_list, 0, 0},
    {"group", 0, CLI_STRING, "RULE", "keep groups on one side: a pattern over names with the "
     "(group), or FILE.csv:COLUMN", &given.group, 0, 0},
    {"classes", 0, CLI_INT, "N", "classes of the masks (default 1: foreground and background)",
     &given.classes, 1, 250},
    OPTIONS_IGNORE(given.ignore),
    OPTIONS_CLASS_FILE(given.class_file),
    {0}};

static bool has_split(const char *path, const char *text)
{
    struct err ignored;
    struct split *s = split_read(path, &ignored);
    char *found = s ? split_encode(s, &ignored) : NULL;
    bool equal = found && strcmp(found, text) == 0;

    free(found);
    split_destroy(s);
    return equal;
}

/* Writes the split, or checks that the existing file has the same: a split never changes. */
static int write_once(const char *path, const char *text, struct err *e)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return atomicfile_write(path, text, strlen(text), 0666, e);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_CONFIG, "%s: is not a regular file; give another --out", path);
    if (!has_split(path, text))
        return err_set(e, ERR_CONFIG, "%s: exists and holds another split, which is not "
                       "overwritten. Give another --out, or remove the file if no run has used it",
                       path);
    return 0;
}

static void log_split(const struct split *s)
{
    if (s->nclasses)
        log_info("%s: %zu images for training, %zu for validation; %d classes", given.out,
                 s->train.count,
                 s->val.count, s->nclasses);
    else if (s->mask_scale == MASK_CLASS)
        log_info("%s: %zu pairs for training, %zu for validation; masks of %ld classes", given.out,
                 s->train.count, s->val.count, given.classes < 2 ? 2 : given.classes);
    else
        log_info("%s: %zu pairs for training, %zu for validation; masks contain 0 and %d%s",
                 given.out,
                 s->train.count, s->val.count, (int)s->mask_scale,
                 given.soft_masks ? ", and grey values" : "");
}

static int run_data_split(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct split_config config = {
        .dir = given.dir, .folders = &given.folders, .seed = given.seed,
        .val_fraction = given.val_fraction > 0 ? given.val_fraction : 0.2,
        .folds = (int)given.folds, .fold = (int)given.fold,
        .train_list = given.train_list, .val_list = given.val_list, .group = given.group,
        .masks = {given.soft_masks, (int)given.classes, given.ignore, given.class_file, NULL}};

    if (!given.dir || !given.out)
        return err_set(e, ERR_USAGE, "data split: --data DIR and --out FILE are needed");
    if (given.folds == 1 || (given.folds ? given.fold > given.folds : given.fold > 1))
        return err_set(e, ERR_USAGE, "data split: --folds %ld --fold %ld: there must be 2 folds or "
                       "more, and --fold one of them", given.folds, given.fold);
    if (given.folds && given.val_fraction > 0)
        return err_set(e, ERR_USAGE, "data split: --folds %ld and --val-fraction %g: a fold is 1/%ld "
                       "of the images; give one of them", given.folds, given.val_fraction, given.folds);
    struct split *s = split_create(&config, e);
    if (!s)
        return -1;
    char *text = split_encode(s, e);
    int rc = text ? write_once(given.out, text, e) : -1;
    if (rc == 0)
        log_split(s);
    free(text);
    split_destroy(s);
    return rc;
}

const struct cli_command cmd_data_split = {
    .name = "data split",
    .args = "--data DIR --out FILE",
    .summary = "Divide a data set into training and validation, once",
    .details =
        "DIR: images/ and masks/ with equal stems, or another usual layout (img/ and label/,\n"
        "imagesTr/ and labelsTr/, NAME_mask beside NAME, JPEGImages/ and SegmentationClass/);\n"
        "TFRecord shards; or images of one class each: a folder per class, CIFAR-10's or idx files.\n"
        "Decodes and hashes everything, checks sizes and mask values, and writes which images are\n"
        "for training and which for validation. A set that is divided by names of folders or\n"
        "shards (train and val or test), train.txt and val.txt, or test_batch.bin stays so. Otherwise the\n"
        "result depends only on the seed, the pictures and their names: equal pictures, and pages\n"
        "and tiles (NAME-y00000-x00128) of one file are on the same side, and classes of images\n"
        "are divided one by one. An existing FILE is kept if it is equal, and refused otherwise.\n"
        "With --folds K each image validates in one of K files, which --fold 1 to K write.\n"
        "\n"
        "--group keeps more on one side, such as all images of a patient: an extended regular\n"
        "expression over the names (\"stem\" in FILE), whose part in parentheses names the group; or\n"
        "FILE.csv:COLUMN, a list whose first line names the columns and whose first other column\n"
        "has the images' names, with or without folder and suffix.\n"
        "\n"
        "Images: colour becomes grey by Rec. 601 luma when one channel is asked for, grey is\n"
        "repeated for three, alpha is dropped, palettes become RGB, 1, 2 and 4 bits are scaled to\n"
        "the full range. Masks: grey or palette index, 0 and 255 (65535 in 16 bits), or 0 and 1 for\n"
        "the whole set; with --soft-masks anything between counts as value/255. With --classes N\n"
        "the values are the classes 0..N-1, unless a --class-file defines them by lines of `VALUE\n"
        "NAME`, `FROM-TO NAME` or `RED GREEN BLUE NAME`. Pixels with the name `ignore` or the value\n"
        "--ignore count in no loss and no metric.\n"
        "\n"
        "  unet-train data split --data DIR --val-fraction 0.2 --seed 1244 --out split.json\n",
    .options = options,
    .run = run_data_split,
};

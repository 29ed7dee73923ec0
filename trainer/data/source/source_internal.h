/* SPDX-License-Identifier: BSD-3-Clause */
/* The readers of the layouts, which source.c calls. */
#pragma once

#include "src/base.h"

#include "trainer/data/source/source.h"

/* Pairs the images and masks of two folders by name. */

/* A folder of images and its folder of masks, relative to the data folder; "." is that folder
 * itself. */
struct pairs_part {
    char images[NAME_MAX * 2], masks[NAME_MAX * 2];
    enum source_side side;
};

struct pair {
    char *stem;         /* what the two names share, without suffixes */
    char *image, *mask; /* relative to dir: "images/0001.png" */
};

struct pairs {
    struct pair *items; /* sorted by the bytes of the stem */
    size_t count;
    size_t unpaired; /* images without a mask, which a partial set may have */
    size_t nseveral; /* images left out because they have several masks, and one of them */
    char several_name[256];
    size_t nothers;     /* entries that are not images, if images and masks have two folders */
    char other_name[256]; /* the name of one of them */
};

/* Pairs the image files (png tif tiff jpg jpeg bmp, not hidden) of two folders below dir. partial:
 * images without a mask are skipped and counted. ERR_DATA: a folder is missing or has no images, an
 * image has no mask (unless partial) or a mask no image, two files have the same stem. The caller
 * frees pairs, also after an error. */
int pairs_scan(const char *dir, const struct pairs_part *part, bool partial, struct pairs *pairs,
               struct err *e);
void pairs_free(struct pairs *pairs);

/* Returns whether masks lie beside their images in dir/sub: marked by a suffix, or as x.png beside
 * x.jpg. */
bool pairs_are_in(const char *dir, const char *sub);

/* Returns whether the files in dir/others would be the masks of most images in dir/images. */
bool pairs_match(const char *dir, const char *images, const char *others);

/* Finds the folders of images and masks of a data set (doc/FORMATS.md, "Data"). */

struct layout {
    struct pairs_part parts[2];
    int nparts;
    bool partial; /* images without a mask are normal and are left out */
    bool nested;  /* each subfolder has masks beside its images; parts is not used */
    bool merged;  /* each has images/ with one image, and masks/ of its objects; the same */
    bool deep;    /* the images and masks of a part lie in folders of equal names below it */
};

/* Looks for the folders of each known layout in dir. Returns 1 if found, 0 if not, and -1 with
 * ERR_DATA for a layout that is not supported (COCO), or ERR_CONFIG for an ambiguous one: several
 * folders may hold the masks, and `choice` names none, or none with images. Folders that have no
 * images, or images/ or masks/ alone, are found, too: pairs_scan then reports what is missing. */
int layout_find(const char *dir, const struct source_folders *choice, struct layout *dst,
                struct err *e);
/* Names of the folders of training and of held-out data, ended by NULL: those for validation begin
 * with v. */
extern const char *const layout_train[], *const layout_held_out[];

/* Finds the first of several names, ended by NULL, that a folder in dir has; case is ignored.
 * Copies the spelling on disk to dst and returns true, or returns false. */
bool layout_folder(const char *dir, const char *const *names, char dst[NAME_MAX + 1]);

/* Data folders with one folder for each class of images (doc/FORMATS.md, "Data"). */

/* Lists the images of dir/CLASS/, or of dir/train/CLASS/ and dir/val/CLASS/, with their classes.
 * ERR_DATA if there are fewer than two classes or no training images; ERR_CONFIG if a folder seems
 * to hold masks. */
int class_folders_list(struct source *s, struct err *e);

/* One sample as the library OTBTF writes it: a tf.train.Example whose features are bytes, each a
 * serialized TensorProto (tensorflow/core/example/example.proto, framework/tensor.proto); or as
 * most others do, with features of encoded PNG, JPEG or TIFF bytes. In such a record a whole number
 * whose name has "label" may be the class, and features that are not encoded are ignored. */

/* The name of a feature says which part it is. */
enum example_part {
    EXAMPLE_IMAGE, /* the feature that is not the target */
    EXAMPLE_TARGET /* its name contains "mask", "label", "target" or "segmentation" */
};

/* Decodes one part of an Example. Tensors of images are uint8, uint16, or other types of tf_dtype
 * (example.c) that become 16 bits (data/image/pixels.h), with 1 to PIXELS_MAX_CHANNELS channels.
 * Targets have one channel of whole numbers from 0 to 65535. name: the record's name in errors.
 * Returns -1 with ERR_DATA for anything else. */
int example_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum example_part part,
                   struct pixels *img, struct err *e);

/* Returns 1 and the class in *label if the target is a single number, 0 if it is a mask, -1 on
 * error. */
int example_label(const uint8_t *bytes, size_t nbytes, const char *name, int *label,
                  struct err *e);

/* Data folders whose samples are records of container files (doc/FORMATS.md, "Data"). */

/* Finds CIFAR-10's, idx or TFRecord files in the folder, sets the source's format and lists their
 * records, of shards divided by words in their names. family: only idx and TFRecord files whose
 * names begin with this before such a word, or NULL. Returns 1 if found, 0 if not, -1 on error:
 * ERR_CONFIG for shards of several sets, ERR_DATA for one that is missing. */
int record_files_list(struct source *s, const char *family, struct err *e);

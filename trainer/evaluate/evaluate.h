/* SPDX-License-Identifier: BSD-3-Clause */
/* What a network makes of images: scores over a set of samples, predictions for images of any size,
 * and pictures of masks.
 *
 * run/ validates with it after epochs, at the end and for the examples of a run; step/ uses its
 * counts; cmd/ evaluates and predicts. Scores are sums that the ranks add up (metric/metric.h). A
 * network is only read, apart from its batches.
 *
 * To read: evaluate.c, then predict.c (tiles and resizing) and examples.c (pictures). */
#pragma once

#include "trainer/data/set/dataset.h"
#include "trainer/json/cjson.h"
#include "trainer/metric/metric.h"
#include "trainer/network/network.h"

/* Predicts the probabilities of an image of any size with a network of fixed size: from the resized
 * image, or at the image's own scale from overlapping tiles.
 *
 * Tiles lie inside the image; the last one of a row or column is moved back to end with it. An
 * image smaller than a tile is centred in zeros. Where tiles overlap, probabilities are averaged by
 * a Gaussian around the middle of each tile, so that no seam is visible. Only the rows under one
 * row of tiles are in memory. */

struct predict_image { /* [height][width][channels] of a record (core/kernel.h); borrowed */
    enum record_kind kind; /* RECORD_BYTES or RECORD_NUMBERS */
    int height, width;
    const void *values;
};

/* Sets dst to n numbers from the first on. */
void predict_image_read(const struct predict_image *image, size_t first, size_t n, float *dst);

struct predict_calls {
    /* Takes the rows y to y + n - 1, p[n][width][classes] (with one class, the probability of
     * foreground), in order; -1 ends the prediction. */
    int (*rows)(void *arg, int y, int n, const float *p, struct err *e);
    void (*progress)(void *arg, size_t done, size_t total); /* after each tile; may be NULL */
    void *arg;
    const atomic_int *interrupt; /* not 0, the number of a signal, ends it; may be NULL */
};

/* overlap: the least number of pixels that neighbouring tiles share. */
int predict_tiled(struct network *n, const struct network_config *config,
                  const struct predict_image *image, int overlap,
                  const struct predict_calls *calls, struct err *e);

/* As predict_tiled, from the image resized to the network's size with its aspect kept and padded
 * with zeros, as in training. The result is resized back. */
int predict_resized(struct network *n, const struct network_config *config,
                    const struct predict_image *image, const struct predict_calls *calls,
                    struct err *e);

/* Sets *logits to those of the image resized so, which stay until the network's next run. */
int predict_infer_resized(struct network *n, const struct network_config *config,
                          const struct predict_image *image, const float **logits, struct err *e);

/* Sets an overlap below 0, which means "not given", to predict_overlap. ERR_USAGE
 * for more than three quarters of the tile's smaller side, for an overlap without native, and for
 * native with a network that classifies whole images. */
int predict_check_overlap(const struct network_config *config, bool native, long *overlap,
                          struct err *e);

/* Returns half of the tile's smaller side, the overlap of tiles unless one is given. */
int predict_overlap(const struct network_config *config);

/* Sets p[classes] to the sigmoid of one logit, or the softmax of several. */
void predict_probabilities(const float *logits, int classes, float *p);

/* Returns the class of the largest logit or probability. */
int predict_largest(const float *v, int classes);

/* Return the number of tiles along a side of the image, and where tile i begins. If the side is
 * shorter than the tile, the image is centred in the only tile, which begins at (side - tile) / 2,
 * rounded towards 0. */
int predict_tile_count(int side, int tile, int overlap);
int predict_tile_begin(int side, int tile, int overlap, int i);

/* Scores a network on the images of a data set. Functions return -1 on error, such as an image that
 * cannot be read. */

/* The validation images of a data set, with their scores. With a device it computes them, and
 * evaluate_wait copies them. */
struct evaluation {
    struct network *network;
    const struct network_config *config;
    struct dataset *dataset;
    size_t images;
    int64_t *scores;           /* of each image, then room for their sum (evaluate_total);
                                * score_size(classes) numbers each */
    struct image_loss *losses; /* of each image, then room for their sum; or NULL */
    struct mirror score_memory, loss_memory;
    bool is_there;             /* the device has added to them */
    const atomic_int *interrupt; /* ends evaluate_image within a native image, or NULL */
    /* The caller's, with n = confusion_side(classes), or NULL: what evaluate_own, and
     * evaluate_image of whole images' classes, add up over the images. */
    int64_t *pairs;                    /* [n][n]: confusion_add */
    struct instance_counts *instances; /* [n]: instances_add; of masks */
};

/* Prepares an evaluation. All pointers must outlive it. losses: whether losses are computed,
 * too. */
int evaluate_open(struct evaluation *v, struct network *n, const struct network_config *config,
                  struct dataset *ds, bool losses, struct err *e);
void evaluate_close(struct evaluation *v); /* a zeroed one is allowed; before the network's end */

int evaluate_clear(struct evaluation *v, struct err *e);

/* Adds image i to its score and loss: of a native data set at its own size, in tiles. Images are
 * computed one by one, by the same kernels for any number of ranks, so that equal weights give
 * equal counts on 1 rank and on 14. A device may still be computing on return, until
 * evaluate_wait. */
int evaluate_image(struct evaluation *v, size_t i, struct err *e);
int evaluate_wait(struct evaluation *v, struct err *e);

/* Pixels of an image at its own size beside whose computation another one is read, written or
 * decoded. */
#define EVALUATE_BESIDE (1 << 23)

/* Adds the images from begin to end - 1 at their own sizes to their scores; their losses stay.
 * They are predicted in tiles (predict.c) or, with an overlap below 0, resized to the network's
 * size and back. Not for networks that classify whole images. */
int evaluate_own(struct evaluation *v, size_t begin, size_t end, int overlap,
                 const atomic_int *interrupt, struct err *e);

/* mirror_open with the network's device, if it has one. */
int evaluate_alloc(struct network *n, struct mirror *m, size_t nbytes, struct err *e);

/* Returns the sum of the scores of all images, which stays until the next call. */
const int64_t *evaluate_total(struct evaluation *v);

/* The best result that predicting one class everywhere would have, given the truth of a score. ds
 * may be NULL with one class. */
struct evaluate_constant {
    double quality;   /* its IoU, or its accuracy if images have classes */
    const char *name; /* of the class; lives as long as ds */
    bool reaches;     /* the score is not better than quality by SCORE_MARGIN */
};
void evaluate_constant(const int64_t *score, int classes, const struct dataset *ds,
                       struct evaluate_constant *dst);
/* Warns if the score is not better than that by SCORE_MARGIN, or cannot be. */
void evaluate_warn(const int64_t *score, int classes, const struct dataset *ds);

/* Connected components of a class, or of the foreground, in all images. matched: those of the truth
 * that a predicted one of the same class agrees with by an IoU above 1/2, as at most one does. */
struct instance_counts {
    int64_t truth, pred, matched;
};

/* Adds the components of one image, of 8-connected pixels, to counts[class]; class 0 is the
 * background. Masks: [height][width]. ERR_CONFIG for an image of 2^32 pixels. */
int instances_add(struct instance_counts *counts, const uint8_t *truth, const uint8_t *pred,
                  size_t height, size_t width, struct err *e);

/* Writes the scores of the validation images (score_size(classes) numbers each) as a table:
 *     image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels
 * with a row "all" per image and, of several classes, one for each that occurs or is predicted. */
int evaluate_write(const char *path, struct dataset *ds, int classes, const int64_t *scores,
                   struct err *e);

/* Checks that the data set has the targets that the model learns: masks, or one class for each
 * image. If images have classes, *classes (of the configuration or checkpoint) is compared with
 * the data set's number: 1, the preset, is replaced by it, and any other number must be equal.
 * Returns 0, or -1 with ERR_CONFIG. */
int evaluate_check_targets(const char *model, const struct dataset *ds, int *classes,
                           struct err *e);

/* Scores (metric/metric.h) as members of a JSON object. */

/* Adds all values of a score. names: the data set that has the names of the classes. */
void score_json_add(cJSON *to, const int64_t *score, int classes, const struct dataset *names);

/* Adds own_size, an object with the values of a score at the images' own sizes. */
void score_json_add_own(cJSON *to, const int64_t *score, int classes, const struct dataset *names);

/* Predicted masks in colours: as pictures, and over their images. */

struct mask_picture {
    int height, width;
    const uint8_t *mask; /* [height][width]: the class, or 0 and 1 */
    bool is_binary;      /* 0 is background, and 1 the foreground */
    /* Its colours are used if it has some, otherwise hues; NULL: hues. */
    const struct classes *classes;
    enum scale scale; /* of the image that it is written over (data/image/pixels.h) */
};

/* Writes the mask's colours as an RGB PNG: over its image as the network sees it, with 1 or 3
 * channels, where the background of a binary mask is left clear, or alone if image is NULL. */
int mask_picture_write(const char *path, const struct mask_picture *m,
                       const struct predict_image *image, int channels, struct err *e);

/* Pictures of four validation images, from the best to the worst, for the report's page. */

/* Writes best.png, median.png, worst.png and random.png into dir, which is made: the image with its
 * true mask over it, and beside it the same image with the predicted mask, at the network's size
 * or, if that is large, with every 2nd, 3rd, ... pixel. examples.csv has their names and IoU. v has
 * the scores of all images; scale is data.scale; seed chooses the random one. Earlier files are
 * replaced. A data set without masks has no examples. */
int examples_write(const char *dir, struct evaluation *v, const char *scale, uint64_t seed,
                   struct err *e);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoded images: their samples, scales, channels, orientation and size. */
#include "src/base.h"
#include "trainer/data/image/pixels.h"

#include "src/format/sha256.h"

int pixels_check_size(uint64_t width, uint64_t height, const char *name, struct err *e)
{
    if (width == 0 || height == 0)
        return err_set(e, ERR_DATA, "%s: damaged: %llu x %llu pixels", name,
                       (unsigned long long)width, (unsigned long long)height);
    if (width > PIXELS_MAX_SIDE || height > PIXELS_MAX_SIDE)
        return err_set(e, ERR_DATA, "%s: %llu x %llu pixels, more than %u on a side", name,
                       (unsigned long long)width, (unsigned long long)height, PIXELS_MAX_SIDE);
    return 0;
}

int pixels_allocate(struct pixels *img, const char *name, int channels, int bits, struct err *e)
{
    uint64_t nbytes = (uint64_t)img->width * img->height * (unsigned)channels *
                      (unsigned)(bits / 8);

    if (pixels_check_size(img->width, img->height, name, e))
        return -1;
    if (nbytes > PIXELS_MAX_BYTES)
        return err_set(e, ERR_DATA, "%s: %u x %u pixels need %llu bytes, more than the limit of %llu",
                       name, img->width, img->height, (unsigned long long)nbytes,
                       (unsigned long long)PIXELS_MAX_BYTES);
    img->channels = channels;
    img->bits = bits;
    img->nbytes = (size_t)nbytes;
    img->samples = calloc(1, img->nbytes);
    if (!img->samples)
        return err_set(e, ERR_DATA, "%s: no memory for %u x %u pixels", name, img->width,
                       img->height);
    return 0;
}

void pixels_free(struct pixels *img)
{
    free(img->samples);
    img->samples = NULL;
    img->nbytes = 0;
}

void pixels_hash(const struct pixels *img, char hex[65])
{
    sha256_bytes(img->samples, img->nbytes, hex);
}

static int check_mask_values(const struct levels *l, const char *name, struct err *e)
{
    double wrong = !isnan(l->wrong) ? l->wrong : l->min < 0 ? l->min : l->max;

    if (isnan(l->wrong) && l->min >= 0 && l->max <= 65535)
        return 0;
    return err_set(e, ERR_DATA, "%s: holds %g; masks hold whole numbers from 0 to 65535%s", name,
                   wrong, wrong > 65535 ? ": renumber the labels" : "");
}

int levels_choose(struct levels *l, const char *name, enum pixels_mode mode, struct pixels *img,
                  struct err *e)
{
    double top = l->real ? 1 : 65535;

    if (l->infinite)
        return err_set(e, ERR_DATA, "%s: holds a value that is not a number, or infinite", name);
    l->base = 0;
    l->step = 1;
    if (mode == PIXELS_RAW) {
        if (check_mask_values(l, name, e))
            return -1;
        img->bits = l->max > 255 ? 16 : 8;
    } else if (l->min >= 0 && l->max <= top) {
        l->step = 65535 / top;
        img->high = l->real ? 1 : 0;
    } else {
        img->flags |= PIXELS_STRETCHED;
        img->low = l->base = l->min;
        img->high = l->max;
        l->step = l->max > l->min ? 65535 / (l->max - l->min) : 0;
        if (!isfinite(l->step) || !isfinite(l->max - l->min))
            return err_set(e, ERR_DATA, "%s: holds values from %g to %g, which cannot be distinguished",
                           name, l->min, l->max);
    }
    img->source_bits = img->bits;
    img->nbytes = (size_t)img->width * img->height * (size_t)img->channels *
                  (size_t)(img->bits / 8);
    return 0;
}

#define VALUES 65536

static const char *const words[] = {[SCALE_FULL] = "full", [SCALE_RANGE] = "range",
                                    [SCALE_PERCENTILE] = "percentile", [SCALE_ZSCORE] = "zscore",
                                    [SCALE_AUTO] = "auto"};

int scale_decode(const char *word, enum scale *scale, struct err *e)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *scale = (enum scale)i;
            return 0;
        }
    return err_set(e, ERR_DATA, "scale '%s' is unknown", word);
}

/* A sample v becomes (v - base) / span. */
struct affine {
    float base, span;
};

/* Returns the smallest value that a share of the n pixels does not exceed. */
static unsigned quantile(const size_t count[VALUES], size_t n, double share)
{
    size_t below = 0;
    unsigned v = 0;

    while (v < VALUES - 1 && (double)(below += count[v]) < share * (double)n)
        v++;
    return v;
}

static struct affine find_range(const size_t count[VALUES], size_t n, double low, double high)
{
    unsigned first = 0, last = VALUES - 1;

    while (first < last && !count[first])
        first++;
    while (last > first && !count[last])
        last--;
    if (low > 0) {
        unsigned a = quantile(count, n, low), b = quantile(count, n, high);
        if (a < b)
            first = a, last = b;
    }
    return (struct affine){(float)first, (float)(last - first)};
}

static struct affine find_moments(const size_t count[VALUES], size_t n)
{
    double sum = 0, squares = 0;

    for (int v = 0; v < VALUES; v++)
        sum += (double)count[v] * v;
    double mean = sum / (double)n;
    for (int v = 0; v < VALUES; v++)
        squares += (double)count[v] * (v - mean) * (v - mean);
    return (struct affine){(float)mean, (float)sqrt(squares / (double)n)};
}

static void scale_channel(const struct pixels *img, int channel, int channels, enum scale scale,
                          size_t count[VALUES], float *dst)
{
    size_t n = (size_t)img->width * img->height;

    memset(count, 0, VALUES * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[picture_sample(img, i, channel, channels)]++;
    bool percentile = scale == SCALE_PERCENTILE;
    struct affine a = scale == SCALE_ZSCORE ? find_moments(count, n)
                                            : find_range(count, n, percentile ? 0.01 : 0, 0.99);
    for (size_t i = 0; i < n; i++) {
        float v = (float)picture_sample(img, i, channel, channels) - a.base;
        v = a.span > 0 ? v / a.span : 0;
        if (scale != SCALE_ZSCORE)
            v = v < 0 ? 0 : v > 1 ? 1 : v;
        dst[i * (size_t)channels + (size_t)channel] = v;
    }
}

static bool stands_for_values(const struct pixels *img)
{
    return img->flags & PIXELS_STRETCHED || img->high > img->low;
}

int pixels_bits(const struct pixels *img)
{
    unsigned all = 256; /* so that 9 bits are the least */

    if (img->bits == 8 || stands_for_values(img))
        return img->bits == 8 ? 8 : 32;
    for (size_t i = 0; i < img->nbytes / 2; i++)
        all |= pixels_sample(img, i);
    return 32 - __builtin_clz(all);
}

bool bits_differ(int bits, int trained)
{
    return bits && trained && ((bits == 8) != (trained == 8) || abs(bits - trained) > 1);
}

bool picture_has_levels(const struct pixels *img)
{
    return img->bits == 16 && (img->channels < 3 || img->channels > 4 || img->flags & PIXELS_BAND);
}

/* Returns the value that sample s of the picture stands for. */
static double value_of(const struct pixels *img, unsigned s)
{
    return stands_for_values(img) ? img->low + s * ((img->high - img->low) / 65535) : s;
}

int picture_points(const struct pixels *img, float values[SCALE_POINTS], struct err *e)
{
    size_t *count = mem_zero(VALUES, sizeof *count, e), n = img->nbytes / 2, below = 0;
    int k = 0;

    if (!count)
        return -1;
    for (size_t i = 0; i < n; i++)
        count[pixels_sample(img, i)]++;
    for (unsigned s = 0; s < VALUES; s++)
        for (below += count[s]; k < SCALE_POINTS &&
             (double)below >= (k + 0.5) / SCALE_POINTS * (double)n; k++)
            values[k] = (float)value_of(img, s);
    free(count);
    return 0;
}

static void apply_levels(const struct pixels *img, int channels, const double levels[2], float *dst)
{
    size_t npixels = (size_t)img->width * img->height;

    for (size_t i = 0; i < npixels; i++)
        for (int c = 0; c < channels; c++) {
            double v = value_of(img, picture_sample(img, i, c, channels)) - levels[0];
            v /= levels[1] - levels[0];
            *dst++ = v < 0 ? 0 : v > 1 ? 1 : (float)v;
        }
}

int scale_picture(const struct pixels *img, int channels, enum scale scale, const double levels[2],
                  const char *name, float *dst, struct err *e)
{
    if (scale == SCALE_AUTO && levels[1] > levels[0] && picture_has_levels(img)) {
        apply_levels(img, channels, levels, dst);
        return 0;
    }
    scale = scale == SCALE_AUTO ? SCALE_FULL : scale;
    if (scale == SCALE_FULL && img->flags & PIXELS_STRETCHED)
        return err_set(e, ERR_DATA, "%s: holds values from %g to %g, and data.scale=full takes "
                       "0..1 (floats) or 0..65535 (whole numbers): set data.scale=range, "
                       "percentile or zscore", name, img->low, img->high);
    if (scale == SCALE_FULL) {
        picture_to_float(img, channels, dst);
        return 0;
    }
    size_t *count = mem_alloc(VALUES, sizeof *count, e);
    if (!count)
        return -1;
    for (int c = 0; c < channels; c++)
        scale_channel(img, c, channels, scale, count, dst);
    free(count);
    return 0;
}

int picture_check(const struct pixels *img, int channels, const char *name, struct err *e)
{
    if (channels == img->channels || (img->channels <= 4 && (channels == 1 || channels == 3)))
        return 0;
    return err_set(e, ERR_DATA, "%s: has %d channels, and data.channels is %d: train with "
                   "--channels %d", name, img->channels, channels, img->channels);
}

unsigned picture_sample(const struct pixels *img, size_t pixel, int channel, int channels)
{
    size_t at = pixel * (size_t)img->channels;

    if (channels == img->channels)
        return pixels_sample(img, at + (size_t)channel);
    if (img->channels < 3)
        return pixels_sample(img, at);
    if (channels == 3)
        return pixels_sample(img, at + (size_t)channel);
    return (299 * pixels_sample(img, at) + 587 * pixels_sample(img, at + 1) +
            114 * pixels_sample(img, at + 2) + 500) / 1000;
}

void picture_to_float(const struct pixels *img, int channels, float *dst)
{
    size_t npixels = (size_t)img->width * img->height;
    /* A quotient, not a product with 1/full: a grey value v stored in 16 bits as 257 v then gives v
     * / 255 to the last bit. */
    float full = img->bits == 16 ? 65535.0f : 255.0f;

    for (size_t i = 0; i < npixels; i++)
        for (int c = 0; c < channels; c++)
            *dst++ = (float)picture_sample(img, i, c, channels) / full;
}

void picture_to_bytes(const struct pixels *img, int channels, uint8_t *dst)
{
    size_t npixels = (size_t)img->width * img->height;

    for (size_t i = 0; i < npixels; i++)
        for (int c = 0; c < channels; c++)
            *dst++ = (uint8_t)picture_sample(img, i, c, channels);
}

#define TAG_ORIENTATION 0x112u

static uint32_t get_number(const uint8_t *p, size_t n, bool little)
{
    uint32_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[little ? n - 1 - i : i];
    return v;
}

int orientation_of_exif(const uint8_t *exif, size_t n)
{
    bool little = n > 8 && memcmp(exif, "II*\0", 4) == 0;

    if (n < 10 || (!little && memcmp(exif, "MM\0*", 4) != 0))
        return 1;
    size_t at = get_number(exif + 4, 4, little);
    if (at > n - 2)
        return 1;
    size_t count = get_number(exif + at, 2, little);
    for (at += 2; count > 0 && at <= n && n - at >= 12; at += 12, count--)
        if (get_number(exif + at, 2, little) == TAG_ORIENTATION) {
            uint32_t v = get_number(exif + at + 8, 2, little);
            return v >= 1 && v <= 8 ? (int)v : 1;
        }
    return 1;
}

void orientation_size(int orientation, uint32_t *width, uint32_t *height)
{
    uint32_t w = *width;

    if (orientation < 5)
        return;
    *width = *height;
    *height = w;
}

/* Returns the stored pixel that the upright picture has at row y, column x. */
static size_t stored_pixel(const struct pixels *img, int orientation, uint32_t y, uint32_t x)
{
    bool exchanged = orientation >= 5;
    uint32_t row = exchanged ? x : y, column = exchanged ? y : x;

    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        row = img->height - 1 - row;
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        column = img->width - 1 - column;
    return (size_t)row * img->width + column;
}

int orientation_turn(struct pixels *img, int orientation, const char *name, struct err *e)
{
    struct pixels upright = *img;
    size_t size = (size_t)img->channels * (size_t)(img->bits / 8);

    if (orientation < 2)
        return 0;
    orientation_size(orientation, &upright.width, &upright.height);
    if (pixels_allocate(&upright, name, img->channels, img->bits, e))
        return -1;
    uint8_t *dst = upright.samples;
    for (uint32_t y = 0; y < upright.height; y++)
        for (uint32_t x = 0; x < upright.width; x++, dst += size)
            memcpy(dst, img->samples + stored_pixel(img, orientation, y, x) * size, size);
    pixels_free(img);
    *img = upright;
    return 0;
}

static int turn_by_file(struct pixels *img, const char *name, struct err *e)
{
    if (orientation_turn(img, img->orientation, name, e))
        return -1;
    if (img->flags & PIXELS_ORIENTED)
        img->flags = (img->flags & ~(unsigned)PIXELS_ORIENTED) | PIXELS_TURNED;
    return 0;
}

int orientation_apply(struct pixels *img, struct pixels *mask, const char *name, struct err *e)
{
    uint32_t w = img->width, h = img->height, mask_w, mask_h;

    if (mask && mask->samples) {
        mask_w = mask->width;
        mask_h = mask->height;
        orientation_size(img->orientation, &w, &h);
        orientation_size(mask->orientation, &mask_w, &mask_h);
        if (w != mask_w || h != mask_h) {
            img->orientation = mask->orientation = 1;
            return 0;
        }
        if (turn_by_file(mask, name, e))
            return -1;
    }
    return turn_by_file(img, name, e);
}

struct resize_fit resize_fit(int src_height, int src_width, int dst_height, int dst_width)
{
    int64_t h = src_height, w = src_width, th = dst_height, tw = dst_width;
    struct resize_fit fit = {dst_height, dst_width, 0, 0};

    /* The side with the smaller ratio of destination to source fills the destination. Integers are
     * used because floor() of a rounded quotient is sometimes one row short. */
    if (h * tw < w * th) {
        fit.height = h * tw / w > 0 ? (int)(h * tw / w) : 1;
        fit.top = (int)((th * w - h * tw) / (2 * w));
    } else if (h * tw > w * th) {
        fit.width = w * th / h > 0 ? (int)(w * th / h) : 1;
        fit.left = (int)((tw * h - w * th) / (2 * h));
    }
    return fit;
}

/* Destination line i lies between the source lines low and high, at this fraction of the way. */
struct tap {
    int low, high;
    float fraction;
};

static struct tap tap_at(int i, int nsrc, int ndst)
{
    float at = ((float)i + 0.5f) * ((float)nsrc / (float)ndst) - 0.5f;
    float base = floorf(at);
    int low = (int)base, high = low + 1;

    return (struct tap){low < 0 ? 0 : low, high > nsrc - 1 ? nsrc - 1 : high, at - base};
}

/* Fills the rectangle fit of dst by bilinear interpolation, in strips whose columns are computed
 * once. dst_row: floats in a row of dst; nc: channels. */
static void resize_into(const float *src, int src_height, int src_width, float *dst, size_t dst_row,
                        struct resize_fit fit, size_t nc)
{
    enum { STRIP = 256 };
    size_t src_row = (size_t)src_width * nc;
    struct tap across[STRIP];

    for (int left = 0; left < fit.width; left += STRIP) {
        int n = fit.width - left < STRIP ? fit.width - left : STRIP;
        for (int x = 0; x < n; x++)
            across[x] = tap_at(left + x, src_width, fit.width);
        for (int y = 0; y < fit.height; y++) {
            struct tap ty = tap_at(y, src_height, fit.height);
            const float *top = src + (size_t)ty.low * src_row;
            const float *bottom = src + (size_t)ty.high * src_row;
            float *out = dst + (size_t)(fit.top + y) * dst_row + (size_t)(fit.left + left) * nc;
            for (int x = 0; x < n; x++) {
                size_t low = (size_t)across[x].low * nc, high = (size_t)across[x].high * nc;
                for (size_t c = 0; c < nc; c++) {
                    float tl = top[low + c], bl = bottom[low + c];
                    float above = tl + (top[high + c] - tl) * across[x].fraction;
                    float below = bl + (bottom[high + c] - bl) * across[x].fraction;
                    *out++ = above + (below - above) * ty.fraction;
                }
            }
        }
    }
}

/* Returns whether dst has been filled because it has the size of src. */
static bool is_copied(const float *src, int src_height, int src_width, float *dst, int dst_height,
                      int dst_width, int channels)
{
    if (src_height != dst_height || src_width != dst_width)
        return false;
    memcpy(dst, src, (size_t)dst_height * (size_t)dst_width * (size_t)channels * sizeof *dst);
    return true;
}

void resize_pad(const float *src, int src_height, int src_width, float *dst, int dst_height,
                int dst_width, int channels)
{
    size_t nc = (size_t)channels, dst_row = (size_t)dst_width * nc;

    if (is_copied(src, src_height, src_width, dst, dst_height, dst_width, channels))
        return;
    memset(dst, 0, (size_t)dst_height * dst_row * sizeof *dst);
    resize_into(src, src_height, src_width, dst, dst_row,
                resize_fit(src_height, src_width, dst_height, dst_width), nc);
}

void resize_stretch(const float *src, int src_height, int src_width, float *dst, int dst_height,
                    int dst_width, int channels)
{
    if (is_copied(src, src_height, src_width, dst, dst_height, dst_width, channels))
        return;
    resize_into(src, src_height, src_width, dst, (size_t)dst_width * (size_t)channels,
                (struct resize_fit){dst_height, dst_width, 0, 0}, (size_t)channels);
}

/* Returns floor((i + 1/2) * nsrc / ndst), the source pixel that contains the centre of pixel i. */
static size_t nearest(int i, int nsrc, int ndst)
{
    return (size_t)((2 * (int64_t)i + 1) * nsrc / (2 * (int64_t)ndst));
}

void resize_pad_labels(const uint8_t *src, int src_height, int src_width, uint8_t *dst,
                       int dst_height, int dst_width, uint8_t padding)
{
    struct resize_fit fit = resize_fit(src_height, src_width, dst_height, dst_width);

    memset(dst, padding, (size_t)dst_height * (size_t)dst_width);
    for (int y = 0; y < fit.height; y++) {
        const uint8_t *row = src + nearest(y, src_height, fit.height) * (size_t)src_width;
        uint8_t *out = dst + (size_t)(fit.top + y) * (size_t)dst_width + fit.left;
        for (int x = 0; x < fit.width; x++)
            out[x] = row[nearest(x, src_width, fit.width)];
    }
}

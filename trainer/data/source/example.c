/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes the protocol buffers of tf.train.Example and TensorProto by hand, as only
 * a few of their fields are needed. Every length is checked against the bytes of the record. */
#include "src/base.h"
#include "trainer/data/source/source_internal.h"

#include "src/format/tfrecord.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/image/image_file.h"

/* Numbers of tensorflow/core/framework/types.proto. */
enum tf_dtype { DT_FLOAT = 1, DT_DOUBLE = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 5, DT_INT8 = 6,
             DT_INT64 = 9, DT_BOOL = 10, DT_UINT16 = 17 };

#define MAX_DIMS 8

struct tf_tensor {
    int dtype;
    int ndims;
    uint64_t dims[MAX_DIMS];
    const uint8_t *content;
    size_t nbytes;
};

/* The value of a feature: a tensor, an encoded picture, or a whole number. */
struct example_value {
    enum { VALUE_TENSOR, VALUE_PICTURE, VALUE_NUMBER } kind;
    struct tf_tensor tensor;
    const uint8_t *bytes; /* of the picture */
    size_t nbytes;
    uint64_t number;
};

/* The checksum of a record is right, so that nothing in it is damaged. */
static int refuse_record(const char *name, const char *what, struct err *e)
{
    return err_set(e, ERR_DATA, "%s: is %s", name, what);
}

static int read_shape(const struct protobuf_field *shape, struct tf_tensor *t)
{
    struct protobuf_reader r = {shape->bytes, shape->bytes + shape->n};
    struct protobuf_field dim, f;
    int status;

    t->ndims = 0;
    while ((status = protobuf_next(&r, &dim)) == 1) {
        if (dim.number != 2 || dim.wire != PROTOBUF_BYTES)
            continue;
        if (t->ndims == MAX_DIMS)
            return -1;
        struct protobuf_reader inner = {dim.bytes, dim.bytes + dim.n};
        t->dims[t->ndims] = 0;
        while ((status = protobuf_next(&inner, &f)) == 1)
            if (f.number == 1 && f.wire == PROTOBUF_VARINT)
                t->dims[t->ndims] = f.value;
        if (status)
            return -1;
        t->ndims++;
    }
    return status;
}

/* Returns 0, or -1 if the bytes are not a TensorProto with a type. */
static int read_tensor(const uint8_t *bytes, size_t nbytes, struct tf_tensor *t)
{
    struct protobuf_reader r = {bytes, bytes + nbytes};
    struct protobuf_field f;
    int status;

    memset(t, 0, sizeof *t);
    while ((status = protobuf_next(&r, &f)) == 1) {
        if (f.number == 1 && f.wire == PROTOBUF_VARINT)
            t->dtype = f.value < 1000 ? (int)f.value : 0;
        else if (f.number == 2 && f.wire == PROTOBUF_BYTES && read_shape(&f, t))
            return -1;
        else if (f.number == 4 && f.wire == PROTOBUF_BYTES) {
            t->content = f.bytes;
            t->nbytes = f.n;
        }
    }
    return status || !t->dtype ? -1 : 0;
}

/* Sets *value to the first entry of a feature's list: number 1 is its bytes_list, 2 its float_list,
 * 3 its int64_list.
 * Returns whether it has one. */
static bool find_value(const struct protobuf_field *feature, unsigned number,
                       struct protobuf_field *value)
{
    struct protobuf_reader r = {feature->bytes, feature->bytes + feature->n};
    struct protobuf_field list;

    while (protobuf_next(&r, &list) == 1) {
        if (list.number != number || list.wire != PROTOBUF_BYTES)
            continue;
        struct protobuf_reader inner = {list.bytes, list.bytes + list.n};
        if (protobuf_next(&inner, value) == 1 && value->number == 1)
            return true;
    }
    return false;
}

static bool is_picture(const struct protobuf_field *feature)
{
    static const struct {
        const char *bytes;
        size_t n;
    } magic[] = {{"\x89PNG", 4}, {"\xff\xd8\xff", 3}, {"II*", 4}, {"MM\0*", 4}};
    struct protobuf_field value;

    if (!find_value(feature, 1, &value) || value.wire != PROTOBUF_BYTES || value.n < 4)
        return false;
    for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
        if (memcmp(value.bytes, magic[i].bytes, magic[i].n) == 0)
            return true;
    return false;
}

/* Reads a feature that holds a single whole number. */
static bool read_number(const struct protobuf_field *feature, uint64_t *number)
{
    struct protobuf_field value;

    if (!find_value(feature, 3, &value))
        return false;
    if (value.wire == PROTOBUF_VARINT) {
        *number = value.value;
        return true;
    }
    *number = 0;
    for (size_t i = 0; value.wire == PROTOBUF_BYTES && i < value.n && i < 9; i++) {
        *number |= (uint64_t)(value.bytes[i] & 127) << 7 * i;
        if (value.bytes[i] < 128)
            return i + 1 == value.n;
    }
    return false;
}

static bool has_word(const struct protobuf_field *key, const char *word)
{
    return memmem(key->bytes, key->n, word, strlen(word)) != NULL;
}

static bool is_target(const struct protobuf_field *key)
{
    return has_word(key, "mask") || has_word(key, "label") || has_word(key, "target") ||
           has_word(key, "segmentation");
}

/* What is looked for among the features of a record. */
struct search {
    const char *name;
    enum example_part part;
    bool pictures; /* the record has encoded pictures: features of other kinds are ignored */
    struct example_value *dst;
    int found, numbers; /* numbers: features that hold a class */
    char other[160];    /* what a feature for this part holds that is not read, or "" */
};

/* Reads a feature's tensor or class, or describes what it holds instead, unless that is a single
 * number, as of a height. */
static void take_tensor(struct search *s, const struct protobuf_field *key,
                        const struct protobuf_field *feature)
{
    struct protobuf_field value;
    const char *what = "floats without their shape";
    char name[64], bytes[64];
    int n = (int)(key->n < sizeof name ? key->n : sizeof name - 1);
    uint64_t number;

    snprintf(name, sizeof name, "%.*s", n, (const char *)key->bytes);
    if (find_value(feature, 1, &value) && value.wire == PROTOBUF_BYTES) {
        if (read_tensor(value.bytes, value.n, &s->dst->tensor) == 0) {
            s->found++;
            return;
        }
        snprintf(bytes, sizeof bytes, "%zu bytes that are raw, without their shape", value.n);
        what = bytes;
    } else if (!find_value(feature, 2, &value)) {
        if (read_number(feature, &number)) {
            s->numbers += s->part == EXAMPLE_TARGET && has_word(key, "label");
            s->dst->number = number;
            return;
        }
        what = "whole numbers without their shape";
    }
    filename_escape(name, s->other, sizeof s->other - 80);
    snprintf(s->other + strlen(s->other), 80, " holds %s", what);
}

static void take_picture(struct search *s, const struct protobuf_field *key,
                         const struct protobuf_field *feature)
{
    bool target = s->part == EXAMPLE_TARGET;
    struct protobuf_field value;
    uint64_t number;

    if (is_picture(feature) && is_target(key) == target) {
        find_value(feature, 1, &value);
        s->dst->kind = VALUE_PICTURE;
        s->dst->bytes = value.bytes;
        s->dst->nbytes = value.n;
        s->found++;
    } else if (target && has_word(key, "label") && read_number(feature, &number)) {
        s->dst->number = number;
        s->numbers++;
    }
}

/* Reads one entry of the map Features.feature, unless dst is NULL: then s->pictures is set if it is
 * an encoded picture. Returns -1 on error. */
static int read_entry(struct search *s, const struct protobuf_field *entry, struct err *e)
{
    struct protobuf_reader r = {entry->bytes, entry->bytes + entry->n};
    struct protobuf_field f, key = {0}, value = {0};
    int status;

    while ((status = protobuf_next(&r, &f)) == 1) {
        if (f.number == 1 && f.wire == PROTOBUF_BYTES)
            key = f;
        else if (f.number == 2 && f.wire == PROTOBUF_BYTES)
            value = f;
    }
    if (status || !key.bytes || !value.bytes)
        return refuse_record(s->name, "not a tf.train.Example: a feature has no name or value", e);
    if (!s->dst) {
        s->pictures |= is_picture(&value);
        return 0;
    }
    if (s->pictures) {
        take_picture(s, &key, &value);
        return 0;
    }
    if (is_target(&key) != (s->part == EXAMPLE_TARGET))
        return 0;
    take_tensor(s, &key, &value);
    return 0;
}

static int read_entries(const uint8_t *bytes, size_t nbytes, struct search *s, struct err *e)
{
    struct protobuf_reader r = {bytes, bytes + nbytes};
    struct protobuf_field features, entry;
    int status;

    while ((status = protobuf_next(&r, &features)) == 1) {
        if (features.number != 1 || features.wire != PROTOBUF_BYTES)
            continue;
        struct protobuf_reader inner = {features.bytes, features.bytes + features.n};
        while ((status = protobuf_next(&inner, &entry)) == 1)
            if (entry.number == 1 && entry.wire == PROTOBUF_BYTES && read_entry(s, &entry, e))
                return -1;
        if (status)
            break;
    }
    return status ? refuse_record(s->name, "not a tf.train.Example", e) : 0;
}

static int find_part(const uint8_t *bytes, size_t nbytes, const char *name,
                     enum example_part part, struct example_value *dst, struct err *e)
{
    struct search s = {.name = name, .part = part};

    memset(dst, 0, sizeof *dst);
    if (read_entries(bytes, nbytes, &s, e))
        return -1;
    s.dst = dst;
    if (read_entries(bytes, nbytes, &s, e))
        return -1;
    int found = s.found;
    if (found == 0 && s.numbers == 1) {
        dst->kind = VALUE_NUMBER;
        found = 1;
    }
    if (found == 0 && *s.other)
        return err_set(e, ERR_DATA, "%s: its feature %s; an %s is the bytes of a PNG, TIFF or JPEG "
                       "(tf.io.encode_png), or a tensor (tf.io.serialize_tensor): write the records "
                       "so", name, s.other, part == EXAMPLE_TARGET ? "annotation" : "image");
    if (found != 1)
        return err_set(e, ERR_DATA,
                       "%s: has %d features that could be the %s; it must have two, one "
                       "with mask, label or target in its name",
                       name, found, part == EXAMPLE_TARGET ? "target" : "image");
    return 0;
}

static size_t dtype_size(int dtype)
{
    switch (dtype) {
    case DT_UINT8: case DT_INT8: case DT_BOOL: return 1;
    case DT_UINT16: case DT_INT16: return 2;
    case DT_FLOAT: case DT_INT32: return 4;
    case DT_DOUBLE: case DT_INT64: return 8;
    default: return 0;
    }
}

/* Checks that the tensor's content is as long as its shape and type require. Sets *n to its number
 * of values. */
static int check_content(const struct tf_tensor *t, const char *name, uint64_t *n, struct err *e)
{
    size_t size = dtype_size(t->dtype);

    if (size == 0)
        return err_set(e, ERR_DATA, "%s: a tensor of type %d is not supported", name, t->dtype);
    *n = 1;
    for (int i = 0; i < t->ndims; i++)
        if (__builtin_mul_overflow(*n, t->dims[i], n) || *n > PIXELS_MAX_BYTES)
            return err_set(e, ERR_DATA, "%s: a tensor of more than 2^30 values", name);
    if (t->nbytes != *n * size)
        return err_set(e, ERR_DATA, "%s: a tensor has %zu bytes of content, and by shape and type %llu",
                       name, t->nbytes, (unsigned long long)(*n * size));
    return 0;
}

static double tensor_value(const struct tf_tensor *t, size_t i)
{
    const uint8_t *p = t->content + i * dtype_size(t->dtype);
    uint64_t bits = 0;
    float f;
    double d;

    for (size_t k = 0; k < dtype_size(t->dtype); k++)
        bits |= (uint64_t)p[k] << 8 * k;
    switch (t->dtype) {
    case DT_FLOAT: {
        uint32_t low = (uint32_t)bits;
        memcpy(&f, &low, sizeof f);
        return (double)f;
    }
    case DT_DOUBLE: memcpy(&d, &bits, sizeof d); return d;
    case DT_INT8: return (int8_t)bits;
    case DT_INT16: return (int16_t)bits;
    case DT_INT32: return (int32_t)bits;
    case DT_INT64: return (double)(int64_t)bits;
    default: return (double)bits;
    }
}

static int set_image_shape(const struct tf_tensor *t, const char *name, enum example_part part,
                           struct pixels *img, struct err *e)
{
    uint64_t n = t->ndims == 3 ? t->dims[2] : 1;

    if (t->ndims != 2 && t->ndims != 3)
        return err_set(e, ERR_DATA, "%s: a tensor with %d dimensions is not a picture", name,
                       t->ndims);
    if (n < 1 || n > PIXELS_MAX_CHANNELS || (n != 1 && part == EXAMPLE_TARGET))
        return err_set(e, ERR_DATA, "%s: a picture of %" PRIu64 " channels; 1 to %d are supported, 1 in a mask",
                       name, n, PIXELS_MAX_CHANNELS);
    if (pixels_check_size(t->dims[1], t->dims[0], name, e))
        return -1;
    img->channels = (int)n;
    img->height = (uint32_t)t->dims[0];
    img->width = (uint32_t)t->dims[1];
    img->pages = 1;
    return 0;
}

static int decode_tensor(const struct tf_tensor *t, const char *name, enum example_part part,
                         struct pixels *img, struct err *e)
{
    struct levels levels = levels_begin(t->dtype == DT_FLOAT || t->dtype == DT_DOUBLE);
    bool plain = t->dtype == DT_UINT8 || t->dtype == DT_UINT16;
    uint64_t n;

    if (check_content(t, name, &n, e) || set_image_shape(t, name, part, img, e) ||
        pixels_allocate(img, name, img->channels, t->dtype == DT_UINT8 ? 8 : 16, e))
        return -1;
    img->source_bits = img->bits;
    for (size_t i = 0; !plain && i < n; i++)
        levels_add(&levels, tensor_value(t, i));
    levels.step = 1;
    if (!plain && levels_choose(&levels, name,
                                part == EXAMPLE_TARGET ? PIXELS_RAW : PIXELS_PICTURE, img, e)) {
        pixels_free(img);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        pixels_set(img, i, levels_sample(&levels, tensor_value(t, i)));
    return 0;
}

static int decode_picture(const struct example_value *v, const char *name, enum example_part part,
                          struct pixels *img, struct err *e)
{
    enum pixels_mode mode = part == EXAMPLE_TARGET ? PIXELS_RAW : PIXELS_PICTURE;

    int rc = image_file_decode(v->bytes, v->nbytes, name, 0, mode, img, e);
    if (rc == 0 && (img->pages > 1 || img->flags & PIXELS_STACK))
        rc = err_set(e, ERR_DATA, "%s: holds a TIFF of several pictures; a sample is one", name);
    if (rc == 0 && part == EXAMPLE_TARGET)
        rc = mask_flatten(img, name, e);
    if (rc)
        pixels_free(img);
    return rc;
}

int example_decode(const uint8_t *bytes, size_t nbytes, const char *name, enum example_part part,
                   struct pixels *img, struct err *e)
{
    struct example_value v;

    memset(img, 0, sizeof *img);
    if (find_part(bytes, nbytes, name, part, &v, e))
        return -1;
    if (v.kind == VALUE_NUMBER)
        return err_set(e, ERR_DATA, "%s: has a class, not a mask", name);
    return v.kind == VALUE_PICTURE ? decode_picture(&v, name, part, img, e)
                                   : decode_tensor(&v.tensor, name, part, img, e);
}

int example_label(const uint8_t *bytes, size_t nbytes, const char *name, int *label, struct err *e)
{
    struct example_value value;
    uint64_t n;

    if (find_part(bytes, nbytes, name, EXAMPLE_TARGET, &value, e) ||
        (value.kind == VALUE_TENSOR && check_content(&value.tensor, name, &n, e)))
        return -1;
    if (value.kind == VALUE_PICTURE ||
        (value.kind == VALUE_TENSOR && (n != 1 || value.tensor.ndims > 1)))
        return 0;
    double v = value.kind == VALUE_NUMBER ? (double)value.number : tensor_value(&value.tensor, 0);
    if (!(v >= 0 && v <= 65535 && v == floor(v)))
        return err_set(e, ERR_DATA, "%s: has class %g; classes are whole numbers from 0 to 65535",
                       name, v);
    *label = (int)v;
    return 1;
}

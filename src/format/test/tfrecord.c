/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/format/tfrecord.h"

#include <fcntl.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static struct err e;

static void test_crc(void)
{
    unsigned char bytes[32] = {0};

    is_int(crc32c(0, bytes, 32), 0x8a9136aa, "32 zero bytes (RFC 3720, B.4)");
    memset(bytes, 0xff, 32);
    is_int(crc32c(0, bytes, 32), 0x62a8ab43, "32 bytes of ones");
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    is_int(crc32c(0, bytes, 32), 0x46dd794e, "the bytes 0 to 31 (RFC 3720, B.4)");
    is_int(crc32c(crc32c(0, bytes, 5), bytes + 5, 27), 0x46dd794e,
           "two pieces have the checksum of the whole");
    is_int(crc32c(0, "123456789", 9), 0xe3069283, "the check value of the polynomial");
}

static void test_records(void)
{
    struct buf file = {0};
    struct tfrecord_index index;
    uint8_t *bytes;
    int bad = 0, fd;

    tfrecord_encode("", 0, &file);
    tfrecord_encode("hello", 5, &file);
    if (atomicfile_write("x.records", file.data, file.length, 0600, &e))
        bail_out("%s", e.text);
    fd = open("x.records", O_RDONLY);
    ok(tfrecord_scan(fd, "x.records", &index, &e) == 0 && index.count == 2 &&
           index.places[1].nbytes == 5 && index.places[1].offset == 28, "two records are found");
    bytes = tfrecord_read(fd, "x.records", &index, 1, 100, &e);
    ok(bytes && memcmp(bytes, "hello", 5) == 0, "the second record is read");
    free(bytes);
    ok(!tfrecord_read(fd, "x.records", &index, 1, 4, &e) && e.code == ERR_DATA, "%s", e.text);
    tfrecord_index_free(&index);
    close(fd);

    for (size_t i = 0; i < file.length * 8; i++) {
        file.data[i / 8] ^= (char)(1 << i % 8);
        atomicfile_write("x.records", file.data, file.length, 0600, &e);
        file.data[i / 8] ^= (char)(1 << i % 8);
        fd = open("x.records", O_RDONLY);
        bool whole = tfrecord_scan(fd, "x.records", &index, &e) == 0 && index.count == 2;
        for (size_t k = 0; whole && k < 2; k++) {
            bytes = tfrecord_read(fd, "x.records", &index, k, 100, &e);
            whole = bytes != NULL;
            free(bytes);
        }
        bad += whole;
        tfrecord_index_free(&index);
        close(fd);
    }
    is_int(bad, 0, "every changed bit is detected");
    for (size_t n = 1; n < file.length; n++) {
        atomicfile_write("x.records", file.data, n, 0600, &e);
        fd = open("x.records", O_RDONLY);
        bad += tfrecord_scan(fd, "x.records", &index, &e) == 0 && n != 16;
        tfrecord_index_free(&index);
        close(fd);
    }
    is_int(bad, 0, "every truncation is detected, except between two records");
    buf_destroy(&file);
    unlink("x.records");
}

static void test_protobuf(void)
{
    struct buf b = {0};
    struct protobuf_field f;
    int bad = 0;

    protobuf_add_varint(&b, 1, 150);
    protobuf_add_bytes(&b, 2, "testing", 7);
    protobuf_add_varint(&b, 3, UINT64_MAX);
    protobuf_add_float(&b, 4, 1.5f);
    protobuf_add_double(&b, 5, -2);
    ok(memcmp(b.data, "\x08\x96\x01\x12\x07testing", 12) == 0, "the examples of the specification");
    struct protobuf_reader r = {(const uint8_t *)b.data, (const uint8_t *)b.data + b.length};
    ok(protobuf_next(&r, &f) == 1 && f.number == 1 && f.value == 150, "a varint is read");
    ok(protobuf_next(&r, &f) == 1 && f.wire == PROTOBUF_BYTES && f.n == 7, "bytes are read");
    ok(protobuf_next(&r, &f) == 1 && f.value == UINT64_MAX, "the largest varint is read");
    ok(protobuf_next(&r, &f) == 1 && f.value == 0x3fc00000, "a float is read");
    ok(protobuf_next(&r, &f) == 1 && f.value == UINT64_C(0xc000000000000000), "a double is read");
    is_int(protobuf_next(&r, &f), 0, "the end of the message is found");
    static const struct { const char *bytes; size_t n; } broken[] = {
        {"\x08", 1}, {"\x08\x80", 2}, {"\x12\x05xx", 4}, {"\x0b", 1}, {"\x00\x01", 2},
        {"\x0d\x01\x02", 3}, {"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11}};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        r = (struct protobuf_reader){(const uint8_t *)broken[i].bytes,
                                     (const uint8_t *)broken[i].bytes + broken[i].n};
        bad += protobuf_next(&r, &f) != -1;
    }
    is_int(bad, 0, "malformed messages are refused");
    buf_destroy(&b);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-tfrecord.XXXXXX";

    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    test_crc();
    test_records();
    test_protobuf();
    rmdir(dir);
    return done_testing();
}

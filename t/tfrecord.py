# SPDX-License-Identifier: BSD-3-Clause
# TFRecord files for tests, without other packages.
#
#   tfrecord.py FOLDER OUT N    the PNG files of images/ and masks/, or of a folder per class, as
#                               OUT/0.records, OUT/1.records, ... of N samples each
import glob, os, struct, sys


def crc(data):
    """CRC-32C, masked as TFRecord has it."""
    c = 0xffffffff
    for b in data:
        c ^= b
        for _ in range(8):
            c = c >> 1 ^ 0x82f63b78 * (c & 1)
    c ^= 0xffffffff
    return struct.pack("<I", (c >> 15 | c << 17 & 0xffffffff) + 0xa282ead8 & 0xffffffff)


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def octets(data):
    """A feature of bytes."""
    return field(1, field(1, data))


def number(*n):
    """A feature of whole numbers."""
    return field(3, field(1, b"".join(map(varint, n))))


def tensor(dims, content, dtype=4):
    """A feature of a serialized tensor."""
    shape = b"".join(field(2, b"\x08" + varint(d)) for d in dims)
    return octets(b"\x08" + varint(dtype) + field(2, shape) + field(4, content))


def example(**features):
    """A record. _ in a name stands for /."""
    return field(1, b"".join(field(1, field(1, k.replace("_", "/").encode()) + field(2, v))
                             for k, v in features.items()))


def write(path, records):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        for r in records:
            head = struct.pack("<Q", len(r))
            f.write(head + crc(head) + r + crc(r))


def picture(path):
    """A feature of a file's bytes."""
    return octets(open(path, "rb").read())


def convert(folder, out, count):
    classes = sorted(os.listdir(folder))
    records = [example(image=picture(p), mask=picture(p.replace("/images/", "/masks/")))
               if classes == ["images", "masks"] else
               example(image=picture(p), label=number(classes.index(os.path.basename(os.path.dirname(p)))))
               for p in sorted(glob.glob(folder + "/*/*.png")) if os.path.dirname(p) != folder + "/masks"]
    for i in range(0, len(records), count):
        write("%s/%d.records" % (out, i // count), records[i:i + count])


if __name__ == "__main__":
    convert(sys.argv[1], sys.argv[2], int(sys.argv[3]))

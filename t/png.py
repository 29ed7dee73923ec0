# SPDX-License-Identifier: BSD-3-Clause
# PNG files of odd kinds for tests, without other packages.
import os, struct, zlib


def write(path, rows, palette=None, bits=8, exif=0):
    """rows: of numbers (grey, or an index where there is a palette), or of (r, g, b), or (r, g, b, alpha).
    exif: an orientation, or 0."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    colour = isinstance(rows[0][0], tuple)
    kind = (2 if len(rows[0][0]) == 3 else 6) if colour else 3 if palette else 0
    code = "B" if bits == 8 else ">H"
    data = b"".join(b"\0" + b"".join(struct.pack(code, v) for p in r for v in (p if colour else (p,))) for r in rows)
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), bits, kind, 0, 0, 0)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head))
        if palette:
            f.write(chunk(b"PLTE", bytes(v for p in palette for v in p)))
        if exif:
            f.write(chunk(b"eXIf", b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0%c\0\0" % exif))
        f.write(chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def read(path):
    """Rows of bytes of a grey or RGB picture of 8 or 16 bits."""
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        n, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack_from(">IIBB", data, at + 8)
            assert bits in (8, 16) and colour in (0, 2), path
        packed += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += n + 12
    step = (3 if colour else 1) * bits // 8
    raw, rows, up = zlib.decompress(packed), [], bytearray(step * width)
    for y in range(height):
        begin = y * (step * width + 1)
        kind, row = raw[begin], bytearray(raw[begin + 1:begin + 1 + step * width])
        for x in range(step * width):
            a, b, c = (row[x - step], up[x], up[x - step]) if x >= step else (0, up[x], 0)
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[x] = (row[x] + (0, a, b, (a + b) // 2, nearest)[kind]) & 255
        rows.append(row)
        up = row
    return rows


def picture(i, side=32):
    """Picture i, unlike all others."""
    return [[(x * 7 + y * 3 + i * 11 + (x * y + i) % 13 * 5) % 256 for x in range(side)] for y in range(side)]


def squares(values, i=0, side=32):
    """A mask of a ground of values[0] with a square of each other value, moved by i."""
    rows = [[values[0]] * side for _ in range(side)]
    step = side // max(1, len(values) - 1)
    for k, v in enumerate(values[1:]):
        for y in range(4 + (i + k) % 8, 20):
            for x in range(k * step, k * step + max(1, step - 1)):
                rows[y][x] = v
    return rows


def dataset(folder, masks, images="images", truth="masks", name="%02d", image_end="", mask_end=""):
    """One image for each mask."""
    for i, mask in enumerate(masks):
        write("%s/%s/%s%s.png" % (folder, images, name % i, image_end), picture(i, len(mask)))
        write("%s/%s/%s%s.png" % (folder, truth, name % i, mask_end), mask)

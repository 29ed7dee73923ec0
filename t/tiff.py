# SPDX-License-Identifier: BSD-3-Clause
# TIFF files of odd kinds for tests, without other packages.
import os, struct

UINT, INT, FLOAT = 1, 2, 3
CODES = {(UINT, 8): "B", (UINT, 16): "H", (UINT, 32): "I", (INT, 16): "h", (INT, 32): "i",
         (FLOAT, 32): "f", (FLOAT, 64): "d"}


def write(path, rows, bits=8, kind=UINT, photometric=1, tags=()):
    """rows: of numbers, or of tuples with a number for each band. bits 1: rows of 0 and 1.
    tags: further ones, each (number, type, value) where the value is a number or bytes."""
    bands = len(rows[0][0]) if isinstance(rows[0][0], tuple) else 1
    values = [v for row in rows for p in row for v in (p if bands > 1 else (p,))]
    if bits == 1:
        data = b"".join(int("".join(map(str, row)).ljust((len(row) + 7) // 8 * 8, "0"), 2)
                        .to_bytes((len(row) + 7) // 8, "big") for row in rows)
    else:
        data = struct.pack("<%d%s" % (len(values), CODES[kind, bits]), *values)
    data += b"\0" * (len(data) % 2)
    entries = [(256, 4, len(rows[0])), (257, 4, len(rows)), (258, 3, bits), (259, 3, 1),
               (262, 3, photometric), (273, 4, 8), (277, 3, bands), (278, 4, len(rows)),
               (279, 4, len(data)), (339, 3, kind)] + list(tags)
    directory, extra = b"", b""
    at = 8 + len(data) + 2 + 12 * len(entries) + 4
    for tag, type, value in sorted(entries):
        count = len(value) if isinstance(value, bytes) else 1
        if count > 4:
            extra += value + b"\0" * (count % 2)
            value = at + len(extra) - len(value) - count % 2
        elif count > 1:
            value = int.from_bytes(value, "little")
        directory += struct.pack("<HHI", tag, type, count)
        directory += struct.pack("<HH" if type == 3 else "<I", *((value, 0) if type == 3 else (value,)))
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as f:
        f.write(b"II*\0" + struct.pack("<I", 8 + len(data)) + data + struct.pack("<H", len(entries))
                + directory + b"\0\0\0\0" + extra)

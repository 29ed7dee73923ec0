/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes of this user have found out and later ones need not: a table of texts in a file of
 * $XDG_CACHE_HOME/unetctl or ~/.cache/unetctl. A process reads it at its first look-up; saving
 * reads it again, merges what other processes have added, and replaces the file as a whole. A
 * damaged file is reported, ignored, and replaced when the table is saved. */
#ifndef UNETCTL_TRAINER_CORE_MEMO_H
#define UNETCTL_TRAINER_CORE_MEMO_H

#include <stdbool.h>
#include <stddef.h>

#define MEMO_KEY 256 /* bytes of a key, and of a value; neither has line ends, a key no tabs */
#define MEMO_VALUE 256

struct memo_entry {
    char *line; /* KEY tab VALUE */
    size_t nkey;
};

struct memo_table {
    struct memo_entry *entries;
    size_t n, room;
};

/* Kept until the process ends. A file begins with a line "unet-train NAME 1". */
struct memo {
    const char *name; /* of the file */
    const char *what, *loss; /* words of a warning: WHAT can't be kept: LOSS */
    bool (*is_sound)(const char *value);
    struct memo_table known;
    bool is_read, is_dirty, has_warned;
};

/* Sets value to that of the key and returns true, or returns false. */
bool memo_find(struct memo *m, const char *key, char value[MEMO_VALUE]);

/* Adds or replaces a value in memory; the next save writes it. */
void memo_add(struct memo *m, const char *key, const char *value);

/* Writes the file if memo_add was called since the last save. Warns once that it cannot. */
void memo_save(struct memo *m);

/* memo_encode returns the file's text, to be freed by the caller; NULL: out of memory. memo_decode
 * adds the entries of such a text to the memory, which alone is not a reason for the next save to
 * write; -1, with nothing added, if the text is damaged. */
char *memo_encode(struct memo *m);
int memo_decode(struct memo *m, const char *text);

#endif

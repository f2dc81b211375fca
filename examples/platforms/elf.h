/* The sections of a 32-bit little-endian ELF object: all that a driver reads of shaderc's files. */
#ifndef ELF_H
#define ELF_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *bytes;
    size_t size;
} Bytes;

static uint32_t word_at(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }
static uint32_t half_at(const uint8_t *p) { return p[0] | p[1] << 8; }

static Bytes read_file(const char *path) {
    Bytes b = {0};
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) || (b.size = ftell(f)) < 52) {
        fprintf(stderr, "%s: no object\n", path);
        exit(1);
    }
    rewind(f);
    b.bytes = malloc(b.size);
    if (fread(b.bytes, 1, b.size, f) != b.size) exit(1);
    fclose(f);
    return b;
}

/* A section by its name; no bytes if there is none. */
static Bytes section(Bytes file, const char *name) {
    const uint8_t *b = file.bytes, *headers = b + word_at(b + 32);
    unsigned size = half_at(b + 46), count = half_at(b + 48), names = half_at(b + 50);
    const uint8_t *strings = b + word_at(headers + names * size + 16);
    for (unsigned n = 0; n < count; n++) {
        const uint8_t *h = headers + n * size;
        if (!strcmp((const char *)strings + word_at(h), name)) return (Bytes){file.bytes + word_at(h + 16), word_at(h + 20)};
    }
    return (Bytes){0};
}

#endif

/* Compiles a shader from C: compile FILE TARGET OUT. Messages are JSON lines on stderr, the reflection goes to stdout. */
#include <retroshade.h>
#include <stdio.h>

static uint8_t *read_file(const char *name, size_t *size) {
    FILE *f = fopen(name, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(n > 0 ? (size_t)n : 1);
    *size = bytes ? fread(bytes, 1, (size_t)n, f) : 0;
    fclose(f);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "compile FILE TARGET OUT (retroshade %s)\n", retroshade_version());
        return 2;
    }
    RetroshadeSource source = {0};
    source.name = argv[1];
    uint8_t *bytes = read_file(argv[1], &source.size);
    if (!bytes) {
        perror(argv[1]);
        return 1;
    }
    source.bytes = bytes;
    RetroshadeResult *result = retroshade_compile(&source, argv[2], NULL);
    int status = retroshade_status(result);
    fputs(retroshade_diagnostics(result), stderr);
    if (status == 0) {
        size_t size;
        const uint8_t *container = retroshade_container(result, &size);
        FILE *out = fopen(argv[3], "wb");
        if (!out || fwrite(container, 1, size, out) != size || fclose(out) != 0) {
            perror(argv[3]);
            status = 1;
        }
        puts(retroshade_reflection(result));
    }
    retroshade_free(result);
    free(bytes);
    return status;
}

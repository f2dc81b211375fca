/* What a driver for Tesla does with an object of shaderc's: it puts the code somewhere, moves the absolute branches there, and reads what a
 * launch needs from the interface. Prints the words instead of uploading them. */
#include "../elf.h"

/* A branch's target counts words: its low 16 bits stand in bits 26:11 of the first word, its high 6 in bits 19:14 of the second. */
static void move_branch(uint8_t *at, uint32_t base) {
    uint32_t low = word_at(at), high = word_at(at + 4);
    uint32_t target = ((low >> 11 & 0xFFFF) | (high >> 14 & 0x3F) << 16) + base / 4;
    low = (low & ~(0xFFFFu << 11)) | (target & 0xFFFF) << 11;
    high = (high & ~(0x3Fu << 14)) | (target >> 16 & 0x3F) << 14;
    for (int k = 0; k < 4; k++) at[k] = low >> 8 * k, at[4 + k] = high >> 8 * k;
}

/* A number of the interface, which is JSON. */
static unsigned number(Bytes abi, const char *key) {
    char quoted[64];
    int length = snprintf(quoted, sizeof quoted, "\"%s\":", key);
    for (size_t n = 0; n + length < abi.size; n++)
        if (!memcmp(abi.bytes + n, quoted, length)) return strtoul((const char *)abi.bytes + n + length, NULL, 10);
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: %s FILE.o ADDRESS\n", argv[0]), 2;
    uint32_t base = strtoul(argv[2], NULL, 0);
    if (base % 256) return fprintf(stderr, "the address must be a multiple of 256\n"), 2;
    Bytes file = read_file(argv[1]);
    Bytes code = section(file, ".text"), moves = section(file, ".rel.text"), abi = section(file, ".tesla.abi");
    if (!code.size || !abi.size) return fprintf(stderr, "%s: no Tesla object\n", argv[1]), 1;
    for (size_t n = 0; n + 8 <= moves.size; n += 8) {
        uint32_t at = word_at(moves.bytes + n);
        if (at + 8 > code.size || (moves.bytes[n + 4]) != 1) return fprintf(stderr, "an unknown relocation\n"), 1;
        move_branch(code.bytes + at, base);
    }
    printf("a thread takes %u registers, a block %u bytes of s[] and %u barriers; l[] %u bytes\n", number(abi, "registers"),
           number(abi, "shared_bytes"), number(abi, "barriers"), number(abi, "local_bytes"));
    printf("%zu bytes at %#x, %zu branches moved:\n", code.size, base, moves.size / 8);
    for (size_t n = 0; n + 4 <= code.size; n += 4) printf("%08x%s", word_at(code.bytes + n), n % 32 == 28 ? "\n" : " ");
    printf("\n");
    free(file.bytes);
    return 0;
}

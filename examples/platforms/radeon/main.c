/* What a driver for R700 does with an object of shaderc's: the program goes to memory, the register words into the command stream.
 *
 * Prints the words of the packets instead of sending them. Registers stand in the file by AMD's names; a driver has their addresses in its
 * own headers, of which these are the ones that the example's program needs ("Radeon R6xx/R7xx 3D Register Reference Guide"). */
#include "../elf.h"

static const struct {
    const char *name;
    uint32_t address;
} registers[] = {
    {"SQ_PGM_RESOURCES_PS", 0x28850}, {"SQ_PGM_EXPORTS_PS", 0x28854},    {"SPI_PS_IN_CONTROL_0", 0x286CC},
    {"SPI_PS_IN_CONTROL_1", 0x286D0}, {"SPI_INPUT_Z", 0x286D8},          {"SPI_PS_INPUT_CNTL_0", 0x28644},
    {"CB_SHADER_MASK", 0x2823C},      {"CB_SHADER_CONTROL", 0x287A0},    {"DB_SHADER_CONTROL", 0x2880C},
};

/* A SET_CONTEXT_REG packet of one register. */
static void set_context_register(uint32_t address, uint32_t value) {
    printf("  %08x %08x %08x", 0xC0000000u | 1u << 16 | 0x69u << 8, (address - 0x28000) / 4, value);
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: %s FILE.o\n", argv[0]), 2;
    Bytes file = read_file(argv[1]);
    Bytes code = section(file, ".text"), text = section(file, ".r700.registers");
    if (!code.size || !text.size) return fprintf(stderr, "%s: no R700 object\n", argv[1]), 1;
    printf("program: %zu bytes at a multiple of 256\n", code.size);
    for (size_t n = 0; n + 8 <= code.size; n += 8) printf("  %08x %08x\n", word_at(code.bytes + n), word_at(code.bytes + n + 4));

    printf("packets:\n");
    char name[64], *lines = calloc(1, text.size + 1), *line;
    memcpy(lines, text.bytes, text.size);
    for (line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned value, known = 0;
        if (sscanf(line, "%63s %x", name, &value) != 2) return fprintf(stderr, "%s?\n", line), 1;
        for (unsigned n = 0; n < sizeof registers / sizeof registers[0]; n++) {
            if (strcmp(registers[n].name, name)) continue;
            set_context_register(registers[n].address, value);
            printf("  %s\n", name);
            known = 1;
        }
        if (!known) return fprintf(stderr, "no address for %s\n", name), 1;
    }
    free(lines);
    free(file.bytes);
    return 0;
}

/* The C interface of retroshade, a shader compiler for NVIDIA Tesla, PowerVR USSE, AMD R700 and PICA200. */

#ifndef RETROSHADE_H
#define RETROSHADE_H

/* Made by cbindgen from capi/src/lib.rs: change that instead. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// What came out. Freed by `retroshade_free`.
typedef struct RetroshadeResult RetroshadeResult;

// What is to be compiled. Members that may be null say so.
typedef struct {
  // Name of the source in messages; its ending says the language where `language` is null.
  const char *name;
  // Text or SPIR-V.
  const uint8_t *bytes;
  // Number of bytes.
  size_t size;
  // "ir", "wgsl", "glsl", "hlsl" or "spv"; null: by the name.
  const char *language;
  // "vertex", "geometry", "fragment" or "compute"; null: by the name or the source.
  const char *stage;
  // Entry point; null: the only one.
  const char *entry;
} RetroshadeSource;

// How it is compiled. All members zero are the defaults.
typedef struct {
  // 0: optimise fully; 1: not at all; 2: cheaply; 3: for size.
  uint32_t optimisation;
  // Chip within the target's family; null: the target's default.
  const char *chip;
  // Whether products and sums keep their roundings.
  bool no_contraction;
  // Whether texels, colours and what is computed from them may be f16.
  bool relaxed_precision;
  // Whether indices are clamped to their arrays.
  bool robust;
  // Whether matrices of uniforms that the source does not place lie column by column (PICA200).
  bool column_matrices;
} RetroshadeOptions;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Compiles a source for a target ("tesla", "usse", "r700", "pica"). `options` may be null. The result is never null and says by
// `retroshade_status` how it went; it is freed by `retroshade_free`.
//
// # Safety
// `source` points to a source whose `bytes` has `size` bytes; strings end with a zero byte; nothing changes them during the call.
RetroshadeResult *retroshade_compile(const RetroshadeSource *source,
                                     const char *target,
                                     const RetroshadeOptions *options);

// 0: done; 1: the source is wrong or asks for what the machine lacks; 2: the request is malformed; 3: too much of something that the
// machine has; 70: a bug of the compiler.
//
// # Safety
// `result` comes from `retroshade_compile` and has not been freed.
int32_t retroshade_status(const RetroshadeResult *result);

// The platform's file (`.shbin`, `.gxp`, ELF …) and its size; null if there is none.
//
// # Safety
// `result` comes from `retroshade_compile` and has not been freed; `size` is good to write to.
const uint8_t *retroshade_container(const RetroshadeResult *result, size_t *size);

// The code words, little-endian, nothing else, and their size; null if there are none.
//
// # Safety
// `result` comes from `retroshade_compile` and has not been freed; `size` is good to write to.
const uint8_t *retroshade_code(const RetroshadeResult *result, size_t *size);

// The machine's assembly text; empty if there is none.
//
// # Safety
// `result` comes from `retroshade_compile` and has not been freed.
const char *retroshade_assembly(const RetroshadeResult *result);

// What a caller binds by, as JSON (`docs/binding.md`); empty if there is none.
//
// # Safety
// `result` comes from `retroshade_compile` and has not been freed.
const char *retroshade_reflection(const RetroshadeResult *result);

// What is wrong, or, where the status is 0, what the author should hear of (warnings): one JSON object a line, as `--message-format json`
// writes it; empty if there is nothing.
//
// # Safety
// `result` comes from `retroshade_compile` and has not been freed.
const char *retroshade_diagnostics(const RetroshadeResult *result);

// Frees a result; null is fine.
//
// # Safety
// `result` is null, or comes from `retroshade_compile` and has not been freed.
void retroshade_free(RetroshadeResult *result);

// The version of the library, `MAJOR.MINOR.PATCH`.
const char *retroshade_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RETROSHADE_H */

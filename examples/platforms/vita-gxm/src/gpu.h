/* What every GXM program sets up before its first triangle. */
#ifndef GPU_H
#define GPU_H

#include <psp2/gxm.h>
#include <psp2/types.h>

#define SCREEN_WIDTH 960
#define SCREEN_HEIGHT 544

extern SceGxmContext *gpu_context;
extern SceGxmShaderPatcher *gpu_patcher;

/* Context, target, surfaces, shader patcher. */
void gpu_start(void);
void gpu_end(void);

/* Memory that the GPU can read. It lives until the program ends. */
void *gpu_memory(unsigned size);

/* Between these, draw. */
void gpu_begin_frame(void);
void gpu_end_frame(void);

#endif

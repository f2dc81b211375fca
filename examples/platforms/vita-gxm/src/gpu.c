/* Two frames that take turns, one depth surface, the rings of a context. */
#include "gpu.h"

#include <psp2/display.h>
#include <psp2/kernel/sysmem.h>
#include <stdlib.h>
#include <string.h>

#define STRIDE 1024
#define FRAMES 2
#define PATCHER_SIZE (64 * 1024)

SceGxmContext *gpu_context;
SceGxmShaderPatcher *gpu_patcher;

static SceGxmRenderTarget *target;
static void *frames[FRAMES];
static SceGxmColorSurface colour[FRAMES];
static SceGxmSyncObject *sync[FRAMES];
static SceGxmDepthStencilSurface depth;
static unsigned front, back;

static unsigned up(unsigned n, unsigned step) { return (n + step - 1) / step * step; }

static void *block(SceKernelMemBlockType type, unsigned size, SceUID *id) {
    /* Video memory comes in pieces of 256 KiB, other memory in pages. */
    *id = sceKernelAllocMemBlock("gpu", type, up(size, 256 * 1024), NULL);
    void *at = NULL;
    sceKernelGetMemBlockBase(*id, &at);
    return at;
}

static void *mapped(SceKernelMemBlockType type, unsigned size, SceGxmMemoryAttribFlags access) {
    SceUID id;
    void *at = block(type, size, &id);
    sceGxmMapMemory(at, up(size, 256 * 1024), access);
    return at;
}

void *gpu_memory(unsigned size) {
    return mapped(SCE_KERNEL_MEMBLOCK_TYPE_USER_RW_UNCACHE, size, SCE_GXM_MEMORY_ATTRIB_READ);
}

/* Called when a frame is done: shows it. */
static void show(const void *data) {
    const SceDisplayFrameBuf frame = {
        .size = sizeof frame,
        .base = *(void *const *)data,
        .pitch = STRIDE,
        .pixelformat = SCE_DISPLAY_PIXELFORMAT_A8B8G8R8,
        .width = SCREEN_WIDTH,
        .height = SCREEN_HEIGHT,
    };
    sceDisplaySetFrameBuf(&frame, SCE_DISPLAY_SETBUF_NEXTFRAME);
    sceDisplayWaitVblankStart();
}

static void *host_alloc(void *user, unsigned size) {
    (void)user;
    return malloc(size);
}

static void host_free(void *user, void *at) {
    (void)user;
    free(at);
}

static void start_context(void) {
    const SceGxmInitializeParams start = {
        .displayQueueMaxPendingCount = FRAMES - 1,
        .displayQueueCallback = show,
        .displayQueueCallbackDataSize = sizeof(void *),
        .parameterBufferSize = SCE_GXM_DEFAULT_PARAMETER_BUFFER_SIZE,
    };
    sceGxmInitialize(&start);

    SceUID id;
    unsigned usse_offset;
    void *usse = block(SCE_KERNEL_MEMBLOCK_TYPE_USER_RW_UNCACHE, SCE_GXM_DEFAULT_FRAGMENT_USSE_RING_BUFFER_SIZE, &id);
    sceGxmMapFragmentUsseMemory(usse, SCE_GXM_DEFAULT_FRAGMENT_USSE_RING_BUFFER_SIZE, &usse_offset);
    const SceGxmContextParams context = {
        .hostMem = malloc(SCE_GXM_MINIMUM_CONTEXT_HOST_MEM_SIZE),
        .hostMemSize = SCE_GXM_MINIMUM_CONTEXT_HOST_MEM_SIZE,
        .vdmRingBufferMem = gpu_memory(SCE_GXM_DEFAULT_VDM_RING_BUFFER_SIZE),
        .vdmRingBufferMemSize = SCE_GXM_DEFAULT_VDM_RING_BUFFER_SIZE,
        .vertexRingBufferMem = gpu_memory(SCE_GXM_DEFAULT_VERTEX_RING_BUFFER_SIZE),
        .vertexRingBufferMemSize = SCE_GXM_DEFAULT_VERTEX_RING_BUFFER_SIZE,
        .fragmentRingBufferMem = gpu_memory(SCE_GXM_DEFAULT_FRAGMENT_RING_BUFFER_SIZE),
        .fragmentRingBufferMemSize = SCE_GXM_DEFAULT_FRAGMENT_RING_BUFFER_SIZE,
        .fragmentUsseRingBufferMem = usse,
        .fragmentUsseRingBufferMemSize = SCE_GXM_DEFAULT_FRAGMENT_USSE_RING_BUFFER_SIZE,
        .fragmentUsseRingBufferOffset = usse_offset,
    };
    sceGxmCreateContext(&context, &gpu_context);
}

static void start_surfaces(void) {
    const SceGxmRenderTargetParams params = {
        .width = SCREEN_WIDTH,
        .height = SCREEN_HEIGHT,
        .scenesPerFrame = 1,
        .multisampleMode = SCE_GXM_MULTISAMPLE_NONE,
        .driverMemBlock = -1,
    };
    sceGxmCreateRenderTarget(&params, &target);
    const SceGxmMemoryAttribFlags both = SCE_GXM_MEMORY_ATTRIB_RW;
    for (int n = 0; n < FRAMES; n++) {
        frames[n] = mapped(SCE_KERNEL_MEMBLOCK_TYPE_USER_CDRAM_RW, 4 * STRIDE * SCREEN_HEIGHT, both);
        sceGxmColorSurfaceInit(&colour[n], SCE_GXM_COLOR_FORMAT_A8B8G8R8, SCE_GXM_COLOR_SURFACE_LINEAR,
                               SCE_GXM_COLOR_SURFACE_SCALE_NONE, SCE_GXM_OUTPUT_REGISTER_SIZE_32BIT, SCREEN_WIDTH,
                               SCREEN_HEIGHT, STRIDE, frames[n]);
        sceGxmSyncObjectCreate(&sync[n]);
    }
    unsigned width = up(SCREEN_WIDTH, SCE_GXM_TILE_SIZEX), height = up(SCREEN_HEIGHT, SCE_GXM_TILE_SIZEY);
    void *samples = mapped(SCE_KERNEL_MEMBLOCK_TYPE_USER_CDRAM_RW, 4 * width * height, both);
    sceGxmDepthStencilSurfaceInit(&depth, SCE_GXM_DEPTH_STENCIL_FORMAT_S8D24, SCE_GXM_DEPTH_STENCIL_SURFACE_TILED, width, samples, NULL);
}

static void start_patcher(void) {
    SceUID id;
    unsigned vertex_offset, fragment_offset;
    void *vertex = block(SCE_KERNEL_MEMBLOCK_TYPE_USER_RW_UNCACHE, PATCHER_SIZE, &id);
    void *fragment = block(SCE_KERNEL_MEMBLOCK_TYPE_USER_RW_UNCACHE, PATCHER_SIZE, &id);
    sceGxmMapVertexUsseMemory(vertex, PATCHER_SIZE, &vertex_offset);
    sceGxmMapFragmentUsseMemory(fragment, PATCHER_SIZE, &fragment_offset);
    const SceGxmShaderPatcherParams params = {
        .hostAllocCallback = host_alloc,
        .hostFreeCallback = host_free,
        .bufferMem = mapped(SCE_KERNEL_MEMBLOCK_TYPE_USER_RW_UNCACHE, PATCHER_SIZE, SCE_GXM_MEMORY_ATTRIB_RW),
        .bufferMemSize = PATCHER_SIZE,
        .vertexUsseMem = vertex,
        .vertexUsseMemSize = PATCHER_SIZE,
        .vertexUsseOffset = vertex_offset,
        .fragmentUsseMem = fragment,
        .fragmentUsseMemSize = PATCHER_SIZE,
        .fragmentUsseOffset = fragment_offset,
    };
    sceGxmShaderPatcherCreate(&params, &gpu_patcher);
}

void gpu_start(void) {
    start_context();
    start_surfaces();
    start_patcher();
}

void gpu_begin_frame(void) {
    sceGxmBeginScene(gpu_context, 0, target, NULL, NULL, sync[back], &colour[back], &depth);
}

void gpu_end_frame(void) {
    sceGxmEndScene(gpu_context, NULL, NULL);
    sceGxmPadHeartbeat(&colour[back], sync[back]);
    sceGxmDisplayQueueAddEntry(sync[front], sync[back], &frames[back]);
    front = back;
    back = (back + 1) % FRAMES;
}

void gpu_end(void) {
    sceGxmFinish(gpu_context);
    sceGxmDisplayQueueFinish();
    sceGxmShaderPatcherDestroy(gpu_patcher);
    sceGxmDestroyContext(gpu_context);
    sceGxmTerminate();
}

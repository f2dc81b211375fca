/* A lit cube turns on television and gamepad; HOME ends. */
#include <gx2/draw.h>
#include <gx2/mem.h>
#include <gx2/registers.h>
#include <gx2/shaders.h>
#include <gx2r/buffer.h>
#include <gx2r/draw.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <whb/file.h>
#include <whb/gfx.h>
#include <whb/log.h>
#include <whb/log_udp.h>
#include <whb/proc.h>
#include <whb/sdcard.h>

/* The blocks as std140 lays them out; matrices column by column. */
typedef struct {
    float mvp[16];
    float model[16];
} Scene;
typedef struct {
    float direction[4];
    float tint[4];
} Light;

typedef struct {
    float position[3];
    float normal[3];
} Vertex;

#define FACE(nx, ny, nz, ax, ay, az, bx, by, bz)                                                   \
    {{nx - ax - bx, ny - ay - by, nz - az - bz}, {nx, ny, nz}},                                    \
        {{nx + ax - bx, ny + ay - by, nz + az - bz}, {nx, ny, nz}},                                \
        {{nx + ax + bx, ny + ay + by, nz + az + bz}, {nx, ny, nz}},                                \
        {{nx - ax + bx, ny - ay + by, nz - az + bz}, {nx, ny, nz}}

static const Vertex cube[] = {
    FACE(0, 0, 1, 1, 0, 0, 0, 1, 0),  FACE(0, 0, -1, -1, 0, 0, 0, 1, 0), FACE(1, 0, 0, 0, 0, -1, 0, 1, 0),
    FACE(-1, 0, 0, 0, 0, 1, 0, 1, 0), FACE(0, 1, 0, 1, 0, 0, 0, 0, -1),  FACE(0, -1, 0, 1, 0, 0, 0, 0, 1),
};
#define COUNT (sizeof cube / sizeof cube[0])

/* Uniform blocks are little-endian, this processor is not: every word is turned. */
static void set_block(GX2RBuffer *buffer, const void *block, unsigned size) {
    const uint32_t *from = block;
    uint32_t *to = GX2RLockBufferEx(buffer, 0);
    for (unsigned n = 0; n < size / 4; n++) to[n] = __builtin_bswap32(from[n]);
    GX2RUnlockBufferEx(buffer, 0);
}

static GX2RBuffer buffer(GX2RResourceFlags kind, unsigned element, unsigned count) {
    GX2RBuffer b = {0};
    b.flags = kind | GX2R_RESOURCE_USAGE_CPU_READ | GX2R_RESOURCE_USAGE_CPU_WRITE | GX2R_RESOURCE_USAGE_GPU_READ;
    b.elemSize = element;
    b.elemCount = count;
    GX2RCreateBuffer(&b);
    return b;
}

/* Rotation about y and x, 5 units away, under a perspective of 45 degrees; columns. */
static Scene scene(float angle, float aspect) {
    float s = sinf(angle), c = cosf(angle), t = sinf(0.5f), d = cosf(0.5f), f = 2.4f, near = 0.5f, far = 20.0f;
    Scene out = {.model = {c, t * s, -d * s, 0, 0, d, t, 0, s, -t * c, d * c, 0, 0, 0, -5, 1}};
    for (int k = 0; k < 4; k++) {
        const float *m = out.model + 4 * k;
        float *p = out.mvp + 4 * k;
        p[0] = m[0] * f / aspect;
        p[1] = m[1] * f;
        p[2] = (m[2] * (far + near) + m[3] * 2 * far * near) / (near - far);
        p[3] = -m[2];
    }
    return out;
}

static void draw(WHBGfxShaderGroup *group, GX2RBuffer *vertices, GX2RBuffer *scene_block, GX2RBuffer *light_block) {
    WHBGfxClearColor(0.1f, 0.15f, 0.2f, 1.0f);
    GX2SetShaderMode(GX2_SHADER_MODE_UNIFORM_BLOCK);
    GX2SetFetchShader(&group->fetchShader);
    GX2SetVertexShader(group->vertexShader);
    GX2SetPixelShader(group->pixelShader);
    GX2RSetVertexUniformBlock(scene_block, 0, 0); /* the numbers are the bindings */
    GX2RSetPixelUniformBlock(light_block, 1, 0);
    GX2RSetAttributeBuffer(vertices, 0, sizeof(Vertex), 0);
    GX2DrawEx(GX2_PRIMITIVE_MODE_QUADS, COUNT, 0, 1);
}

int main(void) {
    WHBLogUdpInit();
    WHBProcInit();
    WHBGfxInit();
    WHBGfxShaderGroup group = {0};
    char path[256];
    char *file = NULL;
    if (WHBMountSdCard()) {
        snprintf(path, sizeof path, "%s/wiiu/apps/cube/cube.gsh", WHBGetSdCardMountPath());
        file = WHBReadWholeFile(path, NULL);
    }
    if (!file || !WHBGfxLoadGFDShaderGroup(&group, 0, file)) {
        WHBLogPrintf("no shaders in %s", path);
    } else {
        WHBGfxInitShaderAttribute(&group, "position", 0, offsetof(Vertex, position), GX2_ATTRIB_FORMAT_FLOAT_32_32_32);
        WHBGfxInitShaderAttribute(&group, "normal", 0, offsetof(Vertex, normal), GX2_ATTRIB_FORMAT_FLOAT_32_32_32);
        WHBGfxInitFetchShader(&group);
        WHBFreeWholeFile(file);

        GX2RBuffer vertices = buffer(GX2R_RESOURCE_BIND_VERTEX_BUFFER, sizeof(Vertex), COUNT);
        memcpy(GX2RLockBufferEx(&vertices, 0), cube, sizeof cube);
        GX2RUnlockBufferEx(&vertices, 0);
        GX2RBuffer scene_block = buffer(GX2R_RESOURCE_BIND_UNIFORM_BLOCK, sizeof(Scene), 1);
        GX2RBuffer light_block = buffer(GX2R_RESOURCE_BIND_UNIFORM_BLOCK, sizeof(Light), 1);
        const Light light = {{0.45f, 0.7f, 0.55f, 0}, {0.9f, 0.5f, 0.2f, 1}};
        set_block(&light_block, &light, sizeof light);

        for (float angle = 0.0f; WHBProcIsRunning(); angle += 0.02f) {
            const Scene now = scene(angle, 16.0f / 9.0f);
            set_block(&scene_block, &now, sizeof now);
            WHBGfxBeginRender();
            WHBGfxBeginRenderTV();
            draw(&group, &vertices, &scene_block, &light_block);
            WHBGfxFinishRenderTV();
            WHBGfxBeginRenderDRC();
            draw(&group, &vertices, &scene_block, &light_block);
            WHBGfxFinishRenderDRC();
            WHBGfxFinishRender();
        }
        GX2RDestroyBufferEx(&vertices, 0);
        GX2RDestroyBufferEx(&scene_block, 0);
        GX2RDestroyBufferEx(&light_block, 0);
        WHBGfxFreeShaderGroup(&group);
    }
    WHBUnmountSdCard();
    WHBGfxShutdown();
    WHBProcShutdown();
    WHBLogUdpDeinit();
    return 0;
}

/* A lattice cube turns, lit; START ends. */
#include <math.h>
#include <psp2/ctrl.h>
#include <string.h>

#include "cube.frag.h" /* the programs, by shaderc --emit header */
#include "cube.vert.h"
#include "gpu.h"

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
#define FACES 6

/* Rotation about y and x, 5 units away, under a perspective; columns. */
static void matrices(float angle, float mvp[16], float model[16]) {
    float s = sinf(angle), c = cosf(angle), t = sinf(0.5f), d = cosf(0.5f), f = 2.4f, near = 0.5f, far = 20.0f;
    const float m[16] = {c, t * s, -d * s, 0, 0, d, t, 0, s, -t * c, d * c, 0, 0, 0, -5, 1};
    memcpy(model, m, sizeof m);
    for (int k = 0; k < 16; k += 4) {
        mvp[k] = m[k] * f * SCREEN_HEIGHT / SCREEN_WIDTH;
        mvp[k + 1] = m[k + 1] * f;
        mvp[k + 2] = (m[k + 2] * (far + near) + m[k + 3] * 2 * far * near) / (near - far);
        mvp[k + 3] = -m[k + 2];
    }
}

int main(void) {
    gpu_start();
    const SceGxmProgram *vertex = (const SceGxmProgram *)cube_v_gxp;
    const SceGxmProgram *fragment = (const SceGxmProgram *)cube_f_gxp;
    SceGxmShaderPatcherId vertex_id, fragment_id;
    sceGxmShaderPatcherRegisterProgram(gpu_patcher, vertex, &vertex_id);
    sceGxmShaderPatcherRegisterProgram(gpu_patcher, fragment, &fragment_id);

    /* Parameters go by the names of the source. */
    const SceGxmProgramParameter *position = sceGxmProgramFindParameterByName(vertex, "position");
    const SceGxmProgramParameter *normal = sceGxmProgramFindParameterByName(vertex, "normal");
    const SceGxmProgramParameter *mvp = sceGxmProgramFindParameterByName(vertex, "mvp");
    const SceGxmProgramParameter *model = sceGxmProgramFindParameterByName(vertex, "model");
    const SceGxmProgramParameter *direction = sceGxmProgramFindParameterByName(fragment, "direction");
    const SceGxmProgramParameter *tint = sceGxmProgramFindParameterByName(fragment, "tint");

    const SceGxmVertexAttribute attributes[2] = {
        {.offset = offsetof(Vertex, position), .format = SCE_GXM_ATTRIBUTE_FORMAT_F32, .componentCount = 3,
         .regIndex = sceGxmProgramParameterGetResourceIndex(position)},
        {.offset = offsetof(Vertex, normal), .format = SCE_GXM_ATTRIBUTE_FORMAT_F32, .componentCount = 3,
         .regIndex = sceGxmProgramParameterGetResourceIndex(normal)},
    };
    const SceGxmVertexStream stream = {.stride = sizeof(Vertex), .indexSource = SCE_GXM_INDEX_SOURCE_INDEX_16BIT};
    SceGxmVertexProgram *vertex_program;
    SceGxmFragmentProgram *fragment_program;
    sceGxmShaderPatcherCreateVertexProgram(gpu_patcher, vertex_id, attributes, 2, &stream, 1, &vertex_program);
    sceGxmShaderPatcherCreateFragmentProgram(gpu_patcher, fragment_id, SCE_GXM_OUTPUT_REGISTER_FORMAT_UCHAR4,
                                             SCE_GXM_MULTISAMPLE_NONE, NULL, vertex, &fragment_program);

    Vertex *vertices = gpu_memory(sizeof cube);
    memcpy(vertices, cube, sizeof cube);
    uint16_t *indices = gpu_memory(FACES * 6 * sizeof(uint16_t));
    static const uint16_t corners[6] = {0, 1, 2, 0, 2, 3};
    for (int n = 0; n < FACES * 6; n++) indices[n] = n / 6 * 4 + corners[n % 6];

    for (float angle = 0.0f;; angle += 0.02f) {
        SceCtrlData pad;
        sceCtrlPeekBufferPositive(0, &pad, 1);
        if (pad.buttons & SCE_CTRL_START) break;
        gpu_begin_frame();
        sceGxmSetVertexProgram(gpu_context, vertex_program);
        sceGxmSetFragmentProgram(gpu_context, fragment_program);
        sceGxmSetVertexStream(gpu_context, 0, vertices);
        float m[16], w[16];
        matrices(angle, m, w);
        const float sun[4] = {0.45f, 0.7f, 0.55f, 0}, colour[4] = {0.95f, 0.6f, 0.25f, 1};
        void *uniforms;
        sceGxmReserveVertexDefaultUniformBuffer(gpu_context, &uniforms);
        sceGxmSetUniformDataF(uniforms, mvp, 0, 16, m);
        sceGxmSetUniformDataF(uniforms, model, 0, 16, w);
        sceGxmReserveFragmentDefaultUniformBuffer(gpu_context, &uniforms);
        sceGxmSetUniformDataF(uniforms, direction, 0, 4, sun);
        sceGxmSetUniformDataF(uniforms, tint, 0, 4, colour);
        sceGxmDraw(gpu_context, SCE_GXM_PRIMITIVE_TRIANGLES, SCE_GXM_INDEX_FORMAT_U16, indices, FACES * 6);
        gpu_end_frame();
    }
    gpu_end();
    return 0;
}

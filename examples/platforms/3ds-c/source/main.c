/* A lit cube turns on the upper screen; START ends. */
#include <3ds.h>
#include <citro3d.h>
#include <string.h>

#include "lit_shader.h" /* the registers, by shaderc --emit header */
#include "lit_shbin.h"  /* the program, by bin2s */

typedef struct {
    float position[3];
    float normal[3];
} Vertex;

#define FACE(nx, ny, nz, ax, ay, az, bx, by, bz)                                                   \
    {{nx - ax - bx, ny - ay - by, nz - az - bz}, {nx, ny, nz}},                                    \
        {{nx + ax - bx, ny + ay - by, nz + az - bz}, {nx, ny, nz}},                                \
        {{nx + ax + bx, ny + ay + by, nz + az + bz}, {nx, ny, nz}},                                \
        {{nx + ax + bx, ny + ay + by, nz + az + bz}, {nx, ny, nz}},                                \
        {{nx - ax + bx, ny - ay + by, nz - az + bz}, {nx, ny, nz}},                                \
        {{nx - ax - bx, ny - ay - by, nz - az - bz}, {nx, ny, nz}}

static const Vertex cube[] = {
    FACE(0, 0, 1, 1, 0, 0, 0, 1, 0),  FACE(0, 0, -1, -1, 0, 0, 0, 1, 0), FACE(1, 0, 0, 0, 0, -1, 0, 1, 0),
    FACE(-1, 0, 0, 0, 0, 1, 0, 1, 0), FACE(0, 1, 0, 1, 0, 0, 0, 0, -1),  FACE(0, -1, 0, 1, 0, 0, 0, 0, 1),
};
#define COUNT (sizeof cube / sizeof cube[0])

int main(void) {
    gfxInitDefault();
    C3D_Init(C3D_DEFAULT_CMDBUF_SIZE);
    C3D_RenderTarget *screen = C3D_RenderTargetCreate(240, 400, GPU_RB_RGBA8, GPU_RB_DEPTH24_STENCIL8);
    C3D_RenderTargetSetOutput(screen, GFX_TOP, GFX_LEFT, GX_TRANSFER_OUT_FORMAT(GX_TRANSFER_FMT_RGB8));

    /* The file stays where it is: what is parsed points into it. */
    DVLB_s *file = DVLB_ParseFile((u32 *)lit_shbin, lit_shbin_size);
    shaderProgram_s program;
    shaderProgramInit(&program);
    shaderProgramSetVsh(&program, &file->DVLE[0]);
    C3D_BindProgram(&program);

    C3D_AttrInfo *attributes = C3D_GetAttrInfo();
    AttrInfo_Init(attributes);
    AttrInfo_AddLoader(attributes, VSH_ATTRIB_position, GPU_FLOAT, 3);
    AttrInfo_AddLoader(attributes, VSH_ATTRIB_normal, GPU_FLOAT, 3);

    void *vertices = linearAlloc(sizeof cube);
    memcpy(vertices, cube, sizeof cube);
    C3D_BufInfo *buffers = C3D_GetBufInfo();
    BufInfo_Init(buffers);
    BufInfo_Add(buffers, vertices, sizeof(Vertex), 2, 0x10);

    /* The program's colour as it is. */
    C3D_TexEnv *stage = C3D_GetTexEnv(0);
    C3D_TexEnvInit(stage);
    C3D_TexEnvSrc(stage, C3D_Both, GPU_PRIMARY_COLOR, 0, 0);
    C3D_TexEnvFunc(stage, C3D_Both, GPU_REPLACE);

    C3D_Mtx projection;
    Mtx_PerspTilt(&projection, C3D_AngleFromDegrees(40.0f), C3D_AspectRatioTop, 0.1f, 50.0f, false);
    float angle = 0.0f;
    while (aptMainLoop()) {
        hidScanInput();
        if (hidKeysDown() & KEY_START) break;
        angle += 0.02f;
        C3D_Mtx view;
        Mtx_Identity(&view);
        Mtx_Translate(&view, 0.0f, 0.0f, -7.0f, true);
        Mtx_RotateX(&view, 0.5f, true);
        Mtx_RotateY(&view, angle, true);

        C3D_FrameBegin(C3D_FRAME_SYNCDRAW);
        C3D_RenderTargetClear(screen, C3D_CLEAR_ALL, 0x203040FF, 0);
        C3D_FrameDrawOn(screen);
        C3D_FVUnifMtx4x4(GPU_VERTEX_SHADER, VSH_FVEC_projection, &projection);
        C3D_FVUnifMtx4x4(GPU_VERTEX_SHADER, VSH_FVEC_modelView, &view);
        C3D_FVUnifSet(GPU_VERTEX_SHADER, VSH_FVEC_light, 0.45f, 0.7f, 0.55f, 0.0f);
        C3D_FVUnifSet(GPU_VERTEX_SHADER, VSH_FVEC_tint, 0.95f, 0.6f, 0.25f, 1.0f);
        C3D_DrawArrays(GPU_TRIANGLES, 0, COUNT);
        C3D_FrameEnd(0);
    }

    linearFree(vertices);
    shaderProgramFree(&program);
    DVLB_Free(file);
    C3D_Fini();
    gfxExit();
    return 0;
}

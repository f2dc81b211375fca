/* A textured quad turns, its transparent texels left out; START ends. */
#include <math.h>
#include <psp2/ctrl.h>
#include <psp2/kernel/processmgr.h>
#include <vitaGL.h>

#include "quad_frag.h"
#include "quad_vert.h"

/* A compiled program instead of a source: no glCompileShader. */
static GLuint shader(GLenum kind, const void *bytes, unsigned size) {
    GLuint s = glCreateShader(kind);
    glShaderBinary(1, &s, 0, bytes, size);
    return s;
}

/* A chequered texture whose dark fields are transparent. */
static GLuint picture(void) {
    static unsigned pixels[64 * 64];
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++) pixels[y * 64 + x] = (x / 8 + y / 8) % 2 ? 0xFF40A0FFu : 0;
    GLuint t;
    glGenTextures(1, &t);
    glBindTexture(GL_TEXTURE_2D, t);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 64, 64, 0, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    return t;
}

int main(void) {
    vglInit(0x800000);
    GLuint program = glCreateProgram();
    glAttachShader(program, shader(GL_VERTEX_SHADER, quad_vert_bin, quad_vert_bin_len));
    glAttachShader(program, shader(GL_FRAGMENT_SHADER, quad_frag_bin, quad_frag_bin_len));
    glBindAttribLocation(program, 0, "position");
    glBindAttribLocation(program, 1, "texcoord");
    glLinkProgram(program);
    glUseProgram(program);

    static const float positions[] = {-1, -1, 1, -1, -1, 1, 1, 1};
    static const float texcoords[] = {0, 1, 1, 1, 0, 0, 1, 0};
    glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, positions);
    glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, 0, texcoords);
    glEnableVertexAttribArray(0);
    glEnableVertexAttribArray(1);
    glBindTexture(GL_TEXTURE_2D, picture());
    glUniform1i(glGetUniformLocation(program, "picture"), 0);
    glUniform4f(glGetUniformLocation(program, "tint"), 1.0f, 0.9f, 0.8f, 1.0f);
    GLint mvp = glGetUniformLocation(program, "mvp");

    glViewport(0, 0, 960, 544);
    glClearColor(0.1f, 0.15f, 0.2f, 1.0f);
    for (float angle = 0.0f;; angle += 0.02f) {
        SceCtrlData pad;
        sceCtrlPeekBufferPositive(0, &pad, 1);
        if (pad.buttons & SCE_CTRL_START) break;
        float c = cosf(angle) * 0.7f, s = sinf(angle) * 0.7f, aspect = 544.0f / 960.0f;
        /* Column by column. */
        const float matrix[16] = {c * aspect, s, 0, 0, -s * aspect, c, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
        glClear(GL_COLOR_BUFFER_BIT);
        glUniformMatrix4fv(mvp, 1, GL_FALSE, matrix);
        glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
        vglSwapBuffers(GL_FALSE);
    }
    sceKernelExitProcess(0);
    return 0;
}

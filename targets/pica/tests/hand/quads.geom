#version 450
// Points become turned quads.
layout(points) in;
layout(triangle_strip, max_vertices = 4) out;
uniform mat4 projection;
layout(location = 2) in vec4 colour[];
layout(location = 3) in vec2 spin[]; // half the size times cosine and sine
layout(location = 2) out vec4 v_color;
layout(location = 3) out vec2 v_texcoord0;
void main() {
    for (int i = 0; i < 4; i++) {
        vec2 c = vec2(float(i & 1), float(i >> 1));
        vec2 s = c * 2.0 - 1.0;
        vec2 o = vec2(s.x * spin[0].x - s.y * spin[0].y, s.x * spin[0].y + s.y * spin[0].x);
        gl_Position = projection * (gl_in[0].gl_Position + vec4(o, 0.0, 0.0));
        v_color = colour[0];
        v_texcoord0 = c;
        EmitVertex();
    }
    EndPrimitive();
}

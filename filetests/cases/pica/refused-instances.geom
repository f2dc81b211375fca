// A program that would run several times ran once. Found by the validator of meaning.
// test compile(expect-fail)
// target pica
#version 450
layout(triangles, invocations = 2) in;
layout(triangle_strip, max_vertices = 3) out;
void main() {
    gl_Position = gl_in[0].gl_Position; // error: P0004@0 run once for a primitive
    EmitVertex();
    EndPrimitive();
}

// Outputs without locations: their names say their types, whatever the order; what says none is data.
// test emit
// target pica
// check: .out - position o0
// check: .out - color o1
// check: .out - texcoord0 o2.xy
// check: .out - texcoord1 o3.xy
// check: .out - dummy o4.xyz
// check: mov o3.xy, v1.zw
// check: mov o2.xy, v1
#version 330
in vec4 position;
in vec4 coords;
uniform mat4 mvp;
out vec3 fragNormal;
out vec2 v_texcoord1;
out vec2 fragTexCoord;
out vec4 fragColor;
void main() {
    fragTexCoord = coords.xy;
    v_texcoord1 = coords.zw;
    fragNormal = coords.xyz;
    fragColor = position;
    gl_Position = mvp * position;
}

// Specialisation constants by name and by number, preprocessor symbols, push constants.
// @define { "COUNT": "4", "1": "0.5", "EXTRA": "10" }
// @refused pica: P0104
// @bind { "uniforms": { "pc.tint": [1,2,3,4], "pc.which": 1, "pc.list": [5,6] }, "invocations": [ { "inputs": { "p": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [0.5,1,1.5,2], "a": [15,8,13,6] } } ] }
#version 450
layout(constant_id = 0) const int COUNT = 2;
layout(constant_id = 1) const float SCALE = 1.0;
layout(push_constant) uniform PC { vec4 tint; int which; float list[2]; } pc;
layout(location = 0) in vec4 p;
layout(location = 0) out vec4 a;
void main() {
  float s = 0.0;
  for (int i = 0; i < COUNT; i++) s += pc.tint.y;
  gl_Position = p * SCALE;
#ifdef EXTRA
  a = vec4(pc.tint.x + float(EXTRA) + pc.tint.w, s, float(EXTRA) + pc.tint.z, pc.list[pc.which]);
#else
  a = vec4(0.0);
#endif
}

// Builtins of fragments, derivatives, discard and depth.
// @refused usse: front_facing
// @bind { "invocations": [
//   { "inputs": { "position": [0.5,0.5,0.25,1], "front_facing": true, "v": [1,10] } }, { "inputs": { "position": [1.5,0.5,0.25,1], "front_facing": true, "v": [3,10] } },
//   { "inputs": { "position": [0.5,1.5,0.25,1], "front_facing": false, "v": [1,15] } }, { "inputs": { "position": [1.5,1.5,0.25,1], "front_facing": false, "v": [3,15] } } ] }
// @expect { "invocations": [ { "outputs": { "c": [0.5,0.5,1,2], "e": [5,5,2,0], "frag_depth": 0.75 }, "discarded": false }, { "discarded": true },
//   { "outputs": { "c": [0.5,1.5,-1,2], "e": [5,5,2,0], "frag_depth": 0.25 }, "discarded": false }, { "discarded": true } ] }
#version 450
layout(location = 0) in vec2 v;
layout(location = 0) out vec4 c;
layout(location = 1) out vec4 e;
void main() {
  vec2 f = fwidth(v);
  if (gl_FragCoord.x > 1.0) discard;
  c = vec4(gl_FragCoord.xy, gl_FrontFacing ? 1.0 : -1.0, dFdx(v.x));
  e = vec4(dFdy(v.y), f.yx, dFdy(v.x));
  gl_FragDepth = gl_FrontFacing ? 0.75 : gl_FragCoord.z;
}

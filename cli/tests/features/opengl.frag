// A program as they were written for OpenGL ES: loose uniforms, varyings, texture2D, gl_FragColor, matrices of two columns, arrays.
// @bind { "uniforms": { "turn": [[0,1],[-1,0]], "tint": [1,0.5,0.25,1], "weights": [0.25,0.5,0.25], "on": true },
//   "textures": { "image": { "size": [1,1], "texels": [[0.5,1,1,1]] } },
//   "invocations": [ { "inputs": { "uv": [1,2] } }, { "inputs": { "uv": [1,2] } }, { "inputs": { "uv": [1,2] } }, { "inputs": { "uv": [1,2] } } ] }
// @expect { "invocations": [ { "outputs": { "gl_FragColor": [0.5,0.5,-2,1] } }, { "outputs": { "gl_FragColor": [0.5,0.5,-2,1] } }, { "outputs": { "gl_FragColor": [0.5,0.5,-2,1] } }, { "outputs": { "gl_FragColor": [0.5,0.5,-2,1] } } ] }
precision mediump float;
uniform mat2 turn;
uniform vec4 tint;
uniform float weights[3];
uniform bool on;
uniform sampler2D image;
varying vec2 uv;
void main() {
  vec4 c = vec4(0.0);
  for (int i = 0; i < 3; i++) c += texture2D(image, uv) * weights[i];
  vec2 t = turn * uv;
  gl_FragColor = on ? vec4((c * tint).rg, t) : vec4(0.0);
}

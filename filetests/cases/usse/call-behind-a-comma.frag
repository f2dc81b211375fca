// A texture function of an old dialect as a later argument is a call, not a name that the program declares.
// test compile
// test run
// target usse color=f32
// check: VMAX
#version 100
precision mediump float;
varying vec3 n;
uniform sampler2D image;
uniform samplerCube sky;
void main() { gl_FragColor = vec4(max(n, texture2D(image, n.xy).rgb), min(1.0, textureCube(sky, n).a)); }
// env: {"textures": {"image": {"size": [1, 1], "texels": [[0.5, 0.25, 1, 0.75]]}, "sky": {"dim": "cube", "size": [1, 1], "texels": [[1, 1, 1, 0.5], [1, 1, 1, 0.5], [1, 1, 1, 0.5], [1, 1, 1, 0.5], [1, 1, 1, 0.5], [1, 1, 1, 0.5]]}}}
// run: {"n": [0.75, 0.5, 0.5]} => {"gl_FragColor": [0.75, 0.5, 1, 0.5]}

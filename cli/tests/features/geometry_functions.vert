// The geometric and matrix functions.
// @bind { "uniforms": { "a": [3,4,0], "b": [0,1,0] }, "invocations": [ { "inputs": { "p": [1,-1,0] } } ] }
// @expect { "invocations": [ { "outputs": { "x": [0,0,3,5], "y": [0.6,0.8,0,4], "z": [1,1,0,4.242641], "w": [3,4,0,0], "q": [0.5,-1,0,0.25], "o": [3,6,4,8] } } ] }
#version 450
layout(location = 0) in vec3 p;
layout(std140, binding = 0) uniform U { vec3 a; vec3 b; };
layout(location = 0) out vec4 x;
layout(location = 1) out vec4 y;
layout(location = 2) out vec4 z;
layout(location = 3) out vec4 w;
layout(location = 4) out vec4 q;
layout(location = 5) out vec4 o;
void main() {
  x = vec4(cross(a, b), length(a));
  y = vec4(normalize(a), dot(a, b));
  z = vec4(reflect(p, b), distance(a.xy, vec2(0.0, 1.0)));
  w = vec4(faceforward(a, p, b), 0.0);
  mat2 m = mat2(2.0, 0.0, 0.0, 4.0);
  mat2 n = inverse(m) * mat2(1.0, -4.0, 0.0, 1.0);
  q = vec4(n[0], n[1]);
  mat2 k = outerProduct(b.yy + vec2(0.0, 1.0), a.xy);
  o = vec4(k[0], k[1]);
  gl_Position = vec4(refract(vec3(0.0, -1.0, 0.0), b, 1.0), determinant(m));
}

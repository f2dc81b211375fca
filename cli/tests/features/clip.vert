// Point size and clip distances.
// @refused pica: point_size
// @bind { "invocations": [ { "inputs": { "p": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [1,2,3,4], "point_size": 5, "clip_distances": [1,-2] } } ] }
#version 450
layout(location = 0) in vec4 p;
out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[2]; };
void main() {
  gl_Position = p;
  gl_PointSize = p.w + 1.0;
  gl_ClipDistance[0] = p.x;
  gl_ClipDistance[1] = -p.y;
}

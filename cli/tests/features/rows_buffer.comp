// A buffer with a matrix that stands row by row, read and written; std140 in a buffer; a member with an offset.
// @bind { "workgroups": [1,1,1], "storage": { "b": [0,0,0,0, 1,2,3,0, 4,5,6,0, 9,0,0,0, 8,0,0,0], "o": [0,0,0,0,0,0,0,0] } }
// @expect { "storage": { "b": [0,0,0,0, 1,20,3,0, 4,50,6,0, 9,0,0,0, 8,0,0,0], "o": [14,32,1,4,6,8,0,0] } }
#version 450
layout(local_size_x = 1) in;
layout(std140, row_major, set = 0, binding = 0) buffer B { layout(offset = 16) mat3x2 m; float list[2]; } b;
layout(std430, set = 0, binding = 1) buffer O { float o[]; };
void main() {
  vec2 r = b.m * vec3(1.0, 2.0, 3.0);
  o[0] = r.x; o[1] = r.y;
  vec2 c = b.m[0];
  o[2] = c.x; o[3] = c.y;
  o[4] = b.m[2][1];
  o[5] = b.list[1];
  b.m[1] = vec2(20.0, 50.0);
}

// Behind the loop conditions ask for the counter of the last round, which LOOP has left by then.
// test run
// target pica
struct S1 { m0: vec3<f32>, m1: vec2<f32>, m2: vec4<f32>,   }
const table = array<vec3<f32>, 4>(vec3(), vec3<f32>(), vec3<f32>(-0.25f,  ), vec3(-3.0f));
var<private> ga: vec4<f32>;
var<private> g0: array<array<f32, 2>, 4>;
struct Out {
  @builtin(position) position: vec4<f32>,
  @location(1) o1: vec4<f32>,
}
@vertex fn main(@location(0) a: vec4<f32>) -> Out {
  var i3 = 0;
  loop {
    g0[i3  ][i3 & 1] = a.z  ;
    g0[i3  ][i3 & 1] = a  .x  ;
    continuing {
      g0[i3  ][i3 & 1] = g0[i3  ][  1]     * a.w  ;
      i3 += 1;
      break if i3 >= 3;
    }
  }
  var w6: array<S1, 8>;
    var i8 = 0;
    loop {
      w6[3i & 7].m2 = vec4<f32>(table[  3], g0[i8  ][  1]);
      continuing {
        i8 += 1;
        break if i8 >= 3;
      }
    }
  var o: Out;
  o.o1 = w6[i3  ].m2 *   ((-w6[5i  ].m2.y) + select(ga.x, table[i3  ].x, a.w < 0.0f));
  return o;
}
// run: {"a": [-2.375, -0.125, -3.875, -0.625]} => {"position": [0, 0, 0, 0], "o1": [9, 9, 9, 0]}

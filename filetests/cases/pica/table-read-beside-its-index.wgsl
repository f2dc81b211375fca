// The table is read with the counter of this round, not with the next one's that is copied beside it.
// test run
// target pica
const table = array<f32, 4>(2.0, 0.25, 0.5, 3.75);
var<private> kept: vec4<f32>;
struct Out { @builtin(position) p: vec4<f32>, @location(0) o: vec4<f32> }
@vertex fn main(@location(0) a: vec4<f32>) -> Out {
    var sum = vec4(0.0);
    for (var i = 0; i < 3; i++) {
        for (var k = 0; k < 2; k++) { kept.x = table[i & 3]; }
        sum += sum.z + select(sum.z / 2.0, a.y, a.x < 0.0 && a.w < 0.0);
    }
    return Out(vec4(0.0), kept - sum);
}
// run: {"a": [1, 2, 3, 4]} => {"position": [0, 0, 0, 0], "o": [0.5, 0, 0, 0]}

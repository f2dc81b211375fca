// Overrides from the command line: by name, by number, used in sizes and in other overrides.
// @define { "scale": "1.5", "7": "3", "fast": "true" }
// @bind { "invocations": [ { "inputs": { "p": [1,2,3,4] } } ] }
// @expect { "invocations": [ { "outputs": { "position": [1.5,3,4.5,6], "a": [3,4.5,9,1] } } ] }
override scale: f32 = 2.0;
@id(7) override count: i32;
override twice = scale * 2.0;
override fast: bool = false;
override untouched: u32 = 9u;
struct Out { @builtin(position) position: vec4<f32>, @location(0) a: vec4<f32> }
@vertex fn main(@location(0) p: vec4<f32>) -> Out {
  var o: Out;
  o.position = p * scale;
  var sum = 0.0;
  for (var i = 0; i < count; i++) { sum += scale; }
  o.a = vec4(twice, sum, f32(untouched), select(0.0, 1.0, fast));
  return o;
}

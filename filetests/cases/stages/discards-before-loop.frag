// Two discards in front of a loop that ends by each pixel's own data: whoever is dropped by either ends there, in the order in which they stand.
// test interpret
// test run
// target tesla
// target r700
// target usse
#version 450
layout(location = 0) in vec4 c;
layout(location = 0) out vec4 o;
void main() {
    float x = c.x;
    if (c.y < 0.0) discard;
    x *= 3.0;
    if (c.z < 0.0) discard;
    x += c.w;
    while (x < 10.0) x = x * 2.0 + c.y;
    o = vec4(x, c.yzw);
}
// run: [{"c": [1, 1, 1, 1]}, {"c": [1, -1, 1, 1]}, {"c": [0, 0, -1, 0]}, {"c": [2, 0, 0, 0]}] => [{"o": [19, 1, 1, 1]}, {"discarded": true}, {"discarded": true}, {"o": [12, 0, 0, 0]}]

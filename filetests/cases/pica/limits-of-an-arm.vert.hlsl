// Both sides of `?` are read, and one of them is taken: where that is the other one, what lies behind the array is nobody's, and no limit for its neighbour.
// test run
// target pica
cbuffer W : register(b0) { float4 v[4]; };
struct Out { float4 p : SV_Position; float4 o : TEXCOORD0; };
Out main(float2 a : POSITION) {
    int n = int(a.x);
    Out o;
    o.p = v[n];
    float4 next = v[n + 1];
    o.o = a.x < 3.0 ? next : o.p * 2.0;
    return o;
}
// env: {"uniforms": {"v": [[1, 2, 3, 4], [5, 6, 7, 8], [2, 2, 2, 2], [3, 3, 3, 3]]}}
// run: {"a": [1, 0]} => {"position": [5, 6, 7, 8], "o": [2, 2, 2, 2]}
// run: {"a": [3, 0]} => {"position": [3, 3, 3, 3], "o": [6, 6, 6, 6]}

// Textures stand in the order of declaration, not in that of their first use, and pragmas of other compilers are passed over. Matrices lie column by column.
// test naga
// test run
// target usse
// target r700
// check@naga: uniform %m : mat2x2 @binding(0) @row_major
// check@naga: texture %first
// check@naga: texture %second
#pragma warning(disable : 3571) "and a text"
#ifdef NOTHING at all
#error "no"
#endif NOTHING
sampler2D first;
sampler2D second;
cbuffer B : register(b0) { float2x2 m; };
float4 main(float2 uv : TEXCOORD0) : SV_Target { return tex2D(second, uv) + tex2D(first, uv) + mul(m, uv).xyxy; }
// env: {"uniforms": {"m": [1, 2, 3, 4]}, "textures": {"first": {"size": [1, 1], "texels": [[1, 2, 3, 4]]}, "second": {"size": [1, 1], "texels": [[10, 20, 30, 40]]}}}
// run: {"uv": [1, 1]} => {"location0": [15, 28, 37, 50]}

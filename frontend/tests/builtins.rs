//! Every built-in function and operator of WGSL against the host's arithmetic.

mod common;
use common::*;

const A: [f32; 4] = [0.75, -1.5, 2.25, 0.125];
const B: [f32; 4] = [1.5, 0.5, -0.75, 3.0];
const I: [i32; 4] = [7, -9, 100, -2147483648];
const U: [u32; 4] = [13, 0x80000001, 0x00ff00ff, 0];

/// Evaluates a `vec4<f32>` expression of a, b (floats), i, j (integers), u (unsigned).
fn eval(expression: &str) -> Vec<f32> {
    floats(&bits(&format!("bitcast<vec4<u32>>({expression})")))
}

fn bits(expression: &str) -> Vec<u32> {
    let m = from_wgsl(&format!(
        "struct Out {{ @builtin(position) p: vec4<f32>, @location(0) @interpolate(flat) r: vec4<u32> }}
         @vertex fn main(@location(0) a: vec4<f32>, @location(1) b: vec4<f32>, @location(2) i: vec4<i32>, @location(3) u: vec4<u32>) -> Out {{
             var o: Out; o.p = vec4<f32>(0.0); o.r = {expression}; return o; }}"
    ));
    let inputs = vec![words(&A), words(&B), I.iter().map(|x| *x as u32).collect(), U.to_vec()];
    run(&m, inputs, vec![])[1].clone()
}

fn ints(expression: &str) -> Vec<i32> {
    bits(&format!("bitcast<vec4<u32>>({expression})")).iter().map(|x| *x as i32).collect()
}

fn each(f: impl Fn(f32) -> f32) -> Vec<f32> {
    A.iter().map(|x| f(*x)).collect()
}

fn both(f: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    A.iter().zip(B).map(|(x, y)| f(*x, y)).collect()
}

#[test]
fn functions_of_one_number() {
    type F = fn(f32) -> f32;
    let exact: [(&str, F); 14] = [
        ("abs(a)", f32::abs),
        ("floor(a)", f32::floor),
        ("ceil(a)", f32::ceil),
        ("trunc(a)", f32::trunc),
        ("round(a)", f32::round_ties_even),
        ("fract(a)", |x| x - x.floor()),
        ("sign(a)", f32::signum),
        ("saturate(a)", |x| x.clamp(0.0, 1.0)),
        ("clamp(a, vec4(0.0), vec4(1.0))", |x| x.clamp(0.0, 1.0)),
        ("clamp(a, vec4(-1.0), vec4(2.0))", |x| x.clamp(-1.0, 2.0)),
        ("-a", |x| -x),
        ("sqrt(abs(a))", |x| x.abs().sqrt()),
        ("vec4<f32>(vec4<i32>(a))", f32::trunc),
        ("select(a, -a, a < vec4(0.0))", f32::abs),
    ];
    for (e, f) in exact {
        close(e, &eval(e), &each(f), 0.0);
    }
    let near: [(&str, F); 24] = [
        ("sin(a)", f32::sin),
        ("cos(a)", f32::cos),
        ("tan(a)", f32::tan),
        ("sinh(a)", f32::sinh),
        ("cosh(a)", f32::cosh),
        ("tanh(a)", f32::tanh),
        ("tanh(a * 40.0)", |x| (x * 40.0).tanh()),
        ("asin(a * 0.4)", |x| (x * 0.4).asin()),
        // What is small keeps its digits.
        ("asin(a * 0.0001) * 10000.0", |x| (x * 1e-4).asin() * 1e4),
        ("asin(a * 0.2) * 5.0", |x| (x * 0.2).asin() * 5.0),
        ("acos(a * 0.4)", |x| (x * 0.4).acos()),
        ("atan(a)", f32::atan),
        ("atan(a * 100.0)", |x| (x * 100.0).atan()),
        ("asinh(a)", f32::asinh),
        ("acosh(abs(a) + 1.0)", |x| (x.abs() + 1.0).acosh()),
        ("atanh(a * 0.4)", |x| (x * 0.4).atanh()),
        ("exp(a)", f32::exp),
        ("exp2(a)", f32::exp2),
        ("log(abs(a))", |x| x.abs().ln()),
        ("log2(abs(a))", |x| x.abs().log2()),
        ("inverseSqrt(abs(a))", |x| 1.0 / x.abs().sqrt()),
        ("radians(a)", f32::to_radians),
        ("degrees(a)", f32::to_degrees),
        ("modf(a).fract + modf(a).whole * 10.0", |x| x.fract() + x.trunc() * 10.0),
    ];
    for (e, f) in near {
        close(e, &eval(e), &each(f), 1e-5);
    }
    let frexp = eval("frexp(a).fract + vec4<f32>(frexp(a).exp) * 10.0");
    close("frexp", &frexp, &[0.75, -0.75 + 10.0, 0.5625 + 20.0, 0.5 - 20.0], 1e-6);
    close("frexp of 0", &eval("frexp(a * 0.0).fract + vec4<f32>(frexp(a * 0.0).exp)"), &[0.0; 4], 0.0);
    close("quantizeToF16", &eval("quantizeToF16(a + 0.0001)"), &each(|x| half(x + 0.0001)), 0.0);
}

/// The nearest binary16 of a number of ordinary size.
fn half(x: f32) -> f32 {
    let e = x.abs().log2().floor() as i32;
    let step = (2.0f32).powi(e - 10);
    (x / step).round_ties_even() * step
}

#[test]
fn functions_of_several_numbers() {
    type F = fn(f32, f32) -> f32;
    let table: [(&str, F); 16] = [
        ("min(a, b)", f32::min),
        ("max(a, b)", f32::max),
        ("a + b", |x, y| x + y),
        ("a - b", |x, y| x - y),
        ("a * b", |x, y| x * y),
        ("a / b", |x, y| x / y),
        ("a % b", |x, y| x % y),
        ("pow(abs(a), b)", |x, y| x.abs().powf(y)),
        ("atan2(a, b)", f32::atan2),
        ("atan2(a, -b)", |x, y| x.atan2(-y)),
        ("mix(a, b, 0.25)", |x, y| x * 0.75 + y * 0.25),
        ("mix(a, b, a)", |x, y| x * (1.0 - x) + y * x),
        ("step(a, b)", |x, y| if y < x { 0.0 } else { 1.0 }),
        ("smoothstep(vec4(-2.0), vec4(3.0), a)", |x, _| {
            let t = ((x + 2.0) / 5.0).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        }),
        ("fma(a, b, a)", |x, y| x * y + x),
        ("ldexp(a, i % vec4(40))", |x, _| x),
    ];
    for (e, f) in &table[..15] {
        close(e, &eval(e), &both(*f), 1e-5);
    }
    let want: Vec<f32> = A.iter().zip(I).map(|(x, e)| x * 2.0f32.powi(e % 40)).collect();
    close("ldexp", &eval(table[15].0), &want, 1e-6);
    // What is below the range may be 0, but never more than it is.
    close("ldexp below", &eval("ldexp(abs(a) * exp2(126.0), vec4(-256))"), &[0.0; 4], 0.0);
    close("ldexp far", &eval("ldexp(a, vec4(-140)) * exp2(70.0) * exp2(70.0)"), &[0.0; 4], 2.3);
    for (c, want) in [("<", [1, 0, 0, 1]), ("<=", [1, 0, 0, 1]), (">", [0, 1, 1, 0]), (">=", [0, 1, 1, 0]), ("==", [0; 4]), ("!=", [1; 4])]
    {
        let want = match c {
            "<" | "<=" => [1, 0, 0, 1],
            _ => want,
        };
        let order: Vec<u32> = A
            .iter()
            .zip(B)
            .map(|(x, y)| match c {
                "<" => x < &y,
                "<=" => x <= &y,
                ">" => x > &y,
                ">=" => x >= &y,
                "==" => x == &y,
                _ => x != &y,
            } as u32)
            .collect();
        let _ = want;
        assert_eq!(bits(&format!("vec4<u32>(a {c} b)")), order, "{c}");
    }
    assert_eq!(bits("vec4<u32>(u32(all(a < b)), u32(any(a < b)), u32(all(a == a)), u32(any(a != a)))"), [0, 1, 1, 0]);
}

#[test]
fn geometry() {
    let dot = |x: &[f32], y: &[f32]| -> f32 { x.iter().zip(y).map(|(a, b)| a * b).sum() };
    let d = dot(&A, &B);
    close("dot", &eval("vec4(dot(a, b))"), &[d; 4], 1e-6);
    close(
        "length",
        &eval("vec4(length(a), length(a.xy), length(a.x), distance(a, b))"),
        &[dot(&A, &A).sqrt(), dot(&A[..2], &A[..2]).sqrt(), 0.75, both(|x, y| (x - y) * (x - y)).iter().sum::<f32>().sqrt()],
        1e-6,
    );
    let n = dot(&A, &A).sqrt();
    close("normalize", &eval("normalize(a)"), &each(|x| x / n), 1e-6);
    close(
        "cross",
        &eval("vec4(cross(a.xyz, b.xyz), 1.0)"),
        &[A[1] * B[2] - A[2] * B[1], A[2] * B[0] - A[0] * B[2], A[0] * B[1] - A[1] * B[0], 1.0],
        1e-6,
    );
    close("reflect", &eval("reflect(a, b)"), &both(|x, y| x - 2.0 * d * y), 1e-5);
    let facing = if d < 0.0 { 1.0 } else { -1.0 };
    close("faceForward", &eval("faceForward(a, b, a)"), &each(|x| facing * x), 0.0);
    // refract of a unit vector on a unit normal
    let want = {
        let (i, nn, eta) = ([0.6f32, -0.8, 0.0], [0.0f32, 1.0, 0.0], 0.5f32);
        let d = dot(&nn, &i);
        let k = 1.0 - eta * eta * (1.0 - d * d);
        let f = eta * d + k.sqrt();
        [eta * i[0] - f * nn[0], eta * i[1] - f * nn[1], 0.0, 1.0]
    };
    close("refract", &eval("vec4(refract(vec3(0.8 * a.x, -0.8, 0.0), vec3(0.0, 1.0, 0.0), 0.5), 1.0)"), &want, 1e-6);
    close(
        "total reflection",
        &eval("vec4(refract(vec3(0.8 * a.x, -0.8, 0.0), vec3(0.0, 1.0, 0.0), 3.0), 1.0)"),
        &[0.0, 0.0, 0.0, 1.0],
        0.0,
    );
}

#[test]
fn matrices() {
    let m = "mat3x3<f32>(a.xyz, b.xyz, vec3<f32>(1.0, 2.0, 4.0))";
    let (c0, c1, c2) = ([0.75, -1.5, 2.25f32], [1.5, 0.5, -0.75f32], [1.0, 2.0, 4.0f32]);
    let v = [2.0, 3.0, -1.0f32];
    let mv: Vec<f32> = (0..3).map(|r| c0[r] * v[0] + c1[r] * v[1] + c2[r] * v[2]).collect();
    close("m * v", &eval(&format!("vec4({m} * vec3(2.0, 3.0, -1.0), 0.0)"))[..3], &mv, 1e-6);
    let dot = |x: [f32; 3], y: [f32; 3]| x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    let vm = [dot(v, c0), dot(v, c1), dot(v, c2)];
    close("v * m", &eval(&format!("vec4(vec3(2.0, 3.0, -1.0) * {m}, 0.0)"))[..3], &vm, 1e-6);
    close("transpose(m) * v", &eval(&format!("vec4(transpose({m}) * vec3(2.0, 3.0, -1.0), 0.0)"))[..3], &vm, 1e-6);
    close("v * transpose(m)", &eval(&format!("vec4(vec3(2.0, 3.0, -1.0) * transpose({m}), 0.0)"))[..3], &mv, 1e-6);
    close("transpose(m)[1]", &eval(&format!("vec4(transpose({m})[1], 0.0)"))[..3], &[c0[1], c1[1], c2[1]], 0.0);
    let det = c0[0] * (c1[1] * c2[2] - c1[2] * c2[1]) - c1[0] * (c0[1] * c2[2] - c0[2] * c2[1]) + c2[0] * (c0[1] * c1[2] - c0[2] * c1[1]);
    close("determinant", &eval(&format!("vec4(determinant({m}))")), &[det; 4], 1e-5);
    close("m + m - m * 2", &eval(&format!("vec4(({m} + {m} - {m} * 2.0)[2], 0.0)"))[..3], &[0.0; 3], 0.0);
    close(
        "m * m",
        &eval(&format!("vec4(({m} * {m})[0], 0.0)"))[..3],
        &[
            c0[0] * c0[0] + c1[0] * c0[1] + c2[0] * c0[2],
            c0[1] * c0[0] + c1[1] * c0[1] + c2[1] * c0[2],
            c0[2] * c0[0] + c1[2] * c0[1] + c2[2] * c0[2],
        ],
        1e-5,
    );
}

#[test]
fn glsl_matrix_functions() {
    use retroshade_ir::Stage;
    let m = from_glsl(
        Stage::Vertex,
        "#version 450
        layout(location = 0) in vec4 a;
        layout(location = 1) in vec4 b;
        layout(location = 0) out vec4 r0;
        layout(location = 1) out vec4 r1;
        layout(location = 2) out vec4 r2;
        layout(location = 3) out vec4 r3;
        void main() {
            mat4 m = mat4(a, b, vec4(1.0, 2.0, 4.0, -1.0), vec4(0.5, -3.0, 1.0, 2.0));
            mat4 p = m * inverse(m);
            r0 = p[0];
            r1 = p[1];
            mat2 q = inverse(mat2(a.xy, b.xy)) * mat2(a.xy, b.xy);
            r2 = vec4(q[0], q[1]);
            mat3 s = inverse(mat3(m)) * mat3(m);
            r3 = vec4(s[0].x, s[1].y, s[2].z, determinant(mat2(a.xy, b.xy)) + outerProduct(a.xy, b.zw)[1].x);
            gl_Position = vec4(mod(a.y, 0.4), atan(a.y), atan(a.y, b.x), 1.0);
        }",
    );
    let out = run(&m, vec![words(&A), words(&B)], vec![]);
    let by = |n: &str| floats(&out[m.outputs.iter().find(|(_, d)| d.name == n).unwrap().0.as_u32() as usize]);
    close("inverse 4", &by("r0"), &[1.0, 0.0, 0.0, 0.0], 1e-5);
    close("inverse 4", &by("r1"), &[0.0, 1.0, 0.0, 0.0], 1e-5);
    close("inverse 2", &by("r2"), &[1.0, 0.0, 0.0, 1.0], 1e-5);
    close("inverse 3", &by("r3"), &[1.0, 1.0, 1.0, 0.75 * 0.5 + 1.5 * 1.5 + 0.75 * 3.0], 1e-5);
    close("mod, atan", &by("position"), &[-1.5 - 0.4 * (-1.5f32 / 0.4).floor(), (-1.5f32).atan(), (-1.5f32).atan2(1.5), 1.0], 1e-5);
}

#[test]
fn integers() {
    let i = |f: &dyn Fn(i32) -> i32| I.iter().map(|x| f(*x)).collect::<Vec<_>>();
    let u = |f: &dyn Fn(u32) -> u32| U.iter().map(|x| f(*x)).collect::<Vec<_>>();
    assert_eq!(ints("i / vec4(3)"), i(&|x| x / 3));
    assert_eq!(ints("i % vec4(3)"), i(&|x| x % 3));
    assert_eq!(ints("i / i.yyyy"), i(&|x| x / -9));
    assert_eq!(ints("i % i.yyyy"), i(&|x| x % -9));
    assert_eq!(ints("i / (i - i)"), I);
    assert_eq!(ints("i % (i - i)"), [0; 4]);
    assert_eq!(ints("i / (i - i - vec4(1))"), i(&|x| x.wrapping_neg()));
    assert_eq!(ints("i % (i - i - vec4(1))"), [0; 4]);
    assert_eq!(bits("u / u.xxxx"), u(&|x| x / 13));
    assert_eq!(bits("u % (u - u)"), [0; 4]);
    assert_eq!(ints("i >> vec4(3u)"), i(&|x| x >> 3));
    assert_eq!(bits("u >> vec4(3u)"), u(&|x| x >> 3));
    assert_eq!(bits("u << u.xxxx"), u(&|x| x << 13));
    assert_eq!(ints("abs(i)"), i(&|x| x.wrapping_abs()));
    assert_eq!(ints("sign(i)"), i(&|x| x.signum()));
    assert_eq!(ints("-i"), i(&|x| x.wrapping_neg()));
    assert_eq!(ints("~i"), i(&|x| !x));
    assert_eq!(ints("min(i, vec4(5)) ^ (max(i, vec4(5)) | vec4(16)) & vec4(255)"), i(&|x| x.min(5) ^ ((x.max(5) | 16) & 255)));
    assert_eq!(bits("min(u, vec4(99u)) + max(u, vec4(99u))"), u(&|x| x.min(99).wrapping_add(x.max(99))));
    assert_eq!(ints("clamp(i, vec4(-3), vec4(50))"), i(&|x| x.clamp(-3, 50)));
    assert_eq!(bits("countOneBits(u)"), u(&|x| x.count_ones()));
    assert_eq!(bits("countLeadingZeros(u)"), u(&|x| x.leading_zeros()));
    assert_eq!(bits("countTrailingZeros(u)"), u(&|x| x.trailing_zeros()));
    assert_eq!(bits("reverseBits(u)"), u(&|x| x.reverse_bits()));
    assert_eq!(bits("firstLeadingBit(u)"), u(&|x| if x == 0 { u32::MAX } else { 31 - x.leading_zeros() }));
    assert_eq!(bits("firstTrailingBit(u)"), u(&|x| if x == 0 { u32::MAX } else { x.trailing_zeros() }));
    assert_eq!(
        ints("firstLeadingBit(i)"),
        i(&|x| if x == 0 || x == -1 { -1 } else { 31 - (if x < 0 { !x } else { x }).leading_zeros() as i32 })
    );
    assert_eq!(bits("extractBits(u, 4u, 9u)"), u(&|x| x >> 4 & 511));
    assert_eq!(ints("extractBits(i, 2u, 5u)"), i(&|x| x << 25 >> 27));
    assert_eq!(bits("insertBits(u, vec4(0x5u), 4u, 8u)"), u(&|x| x & !0xff0 | 0x50));
    assert_eq!(ints("vec4(dot(i.xy, i.yz), i.x < i.y, 0, 0)".replace("i.x < i.y", "i32(i.x < i.y)").as_str()), [7 * -9 - 900, 0, 0, 0]);
    assert_eq!(
        bits("vec4(dot4U8Packed(u.x, u.z), pack4xU8(u), pack4xU8Clamp(u), 1u)"),
        [13 * 255, 13 | 1 << 8 | 255 << 16, 0x00ff_ff0d, 1]
    );
    assert_eq!(ints("vec4(dot4I8Packed(u.y, u.z), 1, 1, 1)"), [-1, 1, 1, 1]);
    assert_eq!(ints("unpack4xI8(u.z)"), [-1, 0, -1, 0]);
    assert_eq!(bits("unpack4xU8(u.z)"), [255, 0, 255, 0]);
    close("u32 to f32", &eval("vec4<f32>(u)"), &[13.0, 2147483649.0, 16711935.0, 0.0], 0.0);
    assert_eq!(bits("vec4<u32>(a * 4.0)"), [3, 0, 9, 0]);
    assert_eq!(bits("vec4<u32>(vec4<bool>(u))"), [1, 1, 1, 0]);
}

#[test]
fn packing() {
    assert_eq!(
        bits("vec4(pack4x8unorm(a), pack4x8snorm(a), pack2x16unorm(a.xy), pack2x16snorm(a.xy))"),
        [u32::from_le_bytes([191, 0, 255, 32]), u32::from_le_bytes([95, 129, 127, 16]), 49151, 24575 | 0x8001 << 16,]
    );
    close("unpack4x8unorm", &eval("unpack4x8unorm(u.z)"), &[1.0, 0.0, 1.0, 0.0], 1e-6);
    close("unpack4x8snorm", &eval("unpack4x8snorm(u.y)"), &[1.0 / 127.0, 0.0, 0.0, -1.0], 1e-6);
    close(
        "halves",
        &eval("vec4(unpack2x16float(pack2x16float(a.xy)), unpack2x16unorm(0x8000ffffu))"),
        &[0.75, -1.5, 1.0, 32768.0 / 65535.0],
        1e-6,
    );
}

#[test]
fn vectors() {
    close("swizzles", &eval("a.wzyx + vec4(b.xx, a.yz)"), &[0.125 + 1.5, 2.25 + 1.5, -1.5 - 1.5, 0.75 + 2.25], 0.0);
    close("dynamic lane", &eval("vec4(a[u.w], a[u.y & 3u], a[u.x & 3u], a[3])"), &[0.75, -1.5, -1.5, 0.125], 0.0);
    close("is nan", &eval("vec4<f32>(vec4<u32>(a != a))"), &[0.0; 4], 0.0);
}

// Buffers with padding, arrays whose length is known only at run time, atomics of all kinds, shared memory, barriers, builtins.
// @chip tesla: gt215
// @bind { "workgroups": [2,1,1], "storage": {
//     "items": [1,0,0,2,0,0,0,0, 10,0,0,20,0,0,0,0, 100,0,0,200,0,0,0,0],
//     "k": [5,10,-3,7,4294967295,0,1,100,55], "out": [0,0,0,0,0,0,0,0,0,0] } }
// @expect { "storage": { "k": [13,2,-11,10,4294901760,4095,4095,777,1000], "out": [3,300,6,8,8,8,2,4,12,0] } }
struct Item { p: vec3<f32>, w: f32, extra: array<f32, 3> }
struct Counters { add: atomic<u32>, sub: atomic<u32>, min: atomic<i32>, max: atomic<i32>, and: atomic<u32>, or: atomic<u32>, xor: atomic<u32>, exchange: atomic<u32>, compare: atomic<u32> }
@group(0) @binding(0) var<storage, read> items: array<Item>;
@group(0) @binding(1) var<storage, read_write> k: Counters;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
var<workgroup> tile: array<vec2<u32>, 4>;
var<workgroup> total: atomic<u32>;
@compute @workgroup_size(2, 2) fn main(@builtin(local_invocation_id) l: vec3<u32>, @builtin(local_invocation_index) i: u32,
    @builtin(workgroup_id) w: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>, @builtin(global_invocation_id) g: vec3<u32>) {
  tile[i] = vec2(i, l.x + 2u * l.y);
  atomicAdd(&total, i);
  workgroupBarrier();
  let across = tile[3u - i].y;
  let all = workgroupUniformLoad(&total);
  atomicAdd(&k.add, 1u);
  atomicSub(&k.sub, 1u);
  atomicMin(&k.min, -4 - i32(g.x) - 2 * i32(g.y) - 2);
  atomicMax(&k.max, i32(g.x * 2u + g.y + 3u));
  atomicAnd(&k.and, ~(1u << (8u * w.x + i)) & ~(255u << (8u * w.x)));
  atomicOr(&k.or, 7u << (3u * (i + w.x * 0u)));
  atomicXor(&k.xor, select(0u, 4094u, i == 0u && w.x == 0u));
  if (w.x == 1u && i == 3u) {
    let old = atomicExchange(&k.exchange, 777u);
    let r = atomicCompareExchangeWeak(&k.compare, 55u, 1000u);
    let no = atomicCompareExchangeWeak(&k.compare, 55u, 1u);
    out[6] = select(0u, 2u, old == 100u && r.exchanged && r.old_value == 55u && !no.exchanged && no.old_value == 1000u);
    out[0] = arrayLength(&items);
    out[1] = u32(items[2].p.x + items[2].w);
    out[2] = all;
    out[3] = atomicLoad(&k.add) * 0u + n.x * 4u;
    out[7] = across + 4u;
    out[8] = tile[across].x + 12u;
  }
  if (w.x == 0u && i == 0u) { out[4] = 8u; out[5] = 4u * n.x * n.y * n.z; }
}

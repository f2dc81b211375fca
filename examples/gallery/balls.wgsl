// Rays and balls: the nearest of an array of balls, a chequered floor, shadows by a second ray.
struct Scene {
    // Centre and radius.
    balls: array<vec4f, 3>,
    colors: array<vec4f, 3>,
}
@group(0) @binding(0) var<uniform> scene: Scene;

const light = vec3f(0.46, 0.77, 0.44);

// How far along a ray a ball is; a large number where the ray misses it.
fn distance_to(ball: vec4f, from_: vec3f, d: vec3f) -> f32 {
    let to = ball.xyz - from_;
    let along = dot(to, d);
    let inside = along * along - dot(to, to) + ball.w * ball.w;
    let near = along - sqrt(max(inside, 0.0));
    return select(1000.0, near, inside > 0.0 && near > 0.01);
}

@fragment
fn main(@location(0) place: vec2f) -> @location(0) vec4f {
    let eye = vec3f(0.0, 1.1, 4.0);
    let d = normalize(vec3f(place.x * 2.0 - 1.0, 0.7 - place.y * 2.0, -1.8));
    var far = select(1000.0, -eye.y / d.y, d.y < -0.02);
    let floor_at = eye + d * far;
    let dark = fract((floor(floor_at.x) + floor(floor_at.z)) * 0.5) > 0.25;
    var color = vec3f(select(0.85, 0.35, dark));
    var n = vec3f(0.0, 1.0, 0.0);
    if (far > 40.0) {
        color = mix(vec3f(0.9, 0.93, 0.96), vec3f(0.35, 0.55, 0.85), clamp(d.y * 1.8, 0.0, 1.0));
    }
    for (var i = 0; i < 3; i++) {
        let t = distance_to(scene.balls[i], eye, d);
        if (t < far) {
            far = t;
            n = (eye + d * t - scene.balls[i].xyz) / scene.balls[i].w;
            color = scene.colors[i].rgb;
        }
    }
    if (far > 40.0) {
        return vec4f(color, 1.0);
    }
    let at = eye + d * far;
    var lit = max(dot(n, light), 0.0);
    for (var i = 0; i < 3; i++) {
        if (distance_to(scene.balls[i], at + n * 0.02, light) < 999.0) {
            lit = 0.0;
        }
    }
    let shine = max(dot(reflect(d, n), light), 0.0);
    let square = shine * shine;
    let fourth = square * square;
    return vec4f(color * (0.25 + 0.75 * lit) + vec3f(0.5 * lit * fourth * fourth * fourth), 1.0);
}

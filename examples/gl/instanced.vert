#version 330 core
// OpenGL 3.3: a matrix per instance, an output block, an array of structures outside any block.
layout(location = 0) in vec3 position;
in mat4 model;
struct Light { vec3 direction; float strength; };
uniform Light lights[2];
uniform mat4 view_projection;
out Surface { vec3 normal; float light; } surface;
float ambient = lights[0].strength * 0.1;

void main() {
    vec4 world = model * vec4(position, 1.0);
    surface.normal = normalize(world.xyz);
    surface.light = ambient;
    for (int i = 0; i < 2; i++)
        surface.light += lights[i].strength * max(dot(surface.normal, lights[i].direction), 0.0);
    gl_Position = view_projection * world;
}

// Of three exported numbers two stand in one channel, one of them made in T, so that they are one burst and the group stays one.
// test emit
// target r700
// check: BURST_COUNT=1
#version 450
layout(location = 0) out float a;
layout(location = 1) out float b;
layout(location = 2) out float c;

void main() {
    gl_Position = vec4(1.0);
    a = 5.0;
    b = 7.0;
    c = 9.0;
}

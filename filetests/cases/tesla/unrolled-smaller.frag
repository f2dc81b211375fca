// A loop whose rounds come to constants is gone where bytes count, too: the code without it is smaller, though its rounds are many.
// test run
// test emit
// target tesla opt=s
// target tesla
// not: bra
// not: break
#version 450
layout(location = 0) out int o;
void main() {
    o = 16;
    for (int i = 1, j = 4; i < 30; i++, j += 4) o += j - i;
    for (int i = 0; i < 25; i++) o += 10;
}
// run: {} => {"o": 1571}

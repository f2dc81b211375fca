// GLSL to SPIR-V by glslang, which is fetched when the first GLSL is compiled.

const STAGES = { vert: "vertex", frag: "fragment", comp: "compute" };
const log = [];
let glslang = null;

async function load() {
  // It keeps the console that it finds when it starts, and tells its messages there.
  const kept = { log: console.log, warn: console.warn };
  console.log = console.warn = (...words) => log.push(words.join(" "));
  try {
    const { default: start } = await import("@webgpu/glslang/dist/web-devel/glslang.js");
    // Its promise's value would be taken for a promise itself.
    return { glslang: await start() };
  } finally {
    Object.assign(console, kept);
  }
}

/** SPIR-V bytes of a text, or messages. */
export async function words(name, text) {
  const stage = STAGES[name.split(".").pop()];
  glslang ??= await load();
  log.length = 0;
  try {
    return { words: new Uint8Array(glslang.glslang.compileGLSL(text, stage, true).buffer) };
  } catch (e) {
    return { messages: messages(name, log.join("\n") || String(e.message ?? e)) };
  }
}

/** glslang's lines `ERROR: 0:3: 'x' : undeclared identifier` as our messages. */
function messages(name, text) {
  const found = [...text.matchAll(/^(ERROR|WARNING): \d+:(\d+): (.*)$/gm)].filter(([, , , said]) => !/compilation terminated/.test(said));
  const all = found.map(([, severity, line, message]) => ({ severity: severity.toLowerCase(), code: "F0001", file: name, line: +line, column: 1, message, notes: [] }));
  return all.length > 0 ? all : [{ severity: "error", code: "F0001", file: name, message: text.trim(), notes: [] }];
}

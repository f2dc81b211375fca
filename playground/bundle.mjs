// The page's scripts and styles in few files, and what they fetch beside them. `build` calls this.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const out = "dist";
await rm(out, { recursive: true, force: true });
await mkdir(out);
await build({
  entryPoints: ["web/main.js", "web/worker.js", "web/main.css"],
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "linked",
  logLevel: "warning",
});
await copyFile("web/index.html", `${out}/index.html`);
await copyFile("glue/compiler.wasm", `${out}/compiler.wasm`);
await copyFile("node_modules/@webgpu/glslang/dist/web-devel/glslang.wasm", `${out}/glslang.wasm`);

// The examples with their texts: the gallery's scenes that stand in one file, and those that `examples.json` names.
const json = async (path) => JSON.parse(await readFile(path, "utf8"));
const scenes = (await json("../examples/gallery/scenes.json")).filter((s) => s.files.length === 1);
const drawn = scenes.map(({ name, title, files, mesh, uniforms, machine }) => ({
  name,
  title,
  file: `gallery/${files[0]}`,
  mesh: /\./.test(mesh ?? "") ? "sphere" : mesh,
  uniforms,
  machine,
}));
const examples = [...drawn, ...(await json("web/examples.json"))];
for (const e of examples) e.text = await readFile(`../examples/${e.file}`, "utf8");
await writeFile(`${out}/examples.json`, JSON.stringify(examples));

const file = `${out}/compiler.wasm`;
const packed = gzipSync(await readFile(file), { level: 9 }).length;
console.log(`${file}: ${(await stat(file)).size} bytes, ${packed} compressed; ${examples.length} examples`);

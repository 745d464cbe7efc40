// Makes a PNG of every SVG in a folder: node render.mjs RESVG FONTS FOLDER
import { readdir, readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [resvg, fonts, folder] = process.argv.slice(2);
const { initWasm, Resvg } = await import(pathToFileURL(`${resvg}/index.mjs`));
await initWasm(await readFile(`${resvg}/index_bg.wasm`));
const files = ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf"].map((name) => readFile(`${fonts}/${name}`));
const font = { fontBuffers: await Promise.all(files), defaultFontFamily: "DejaVu Sans" };
for (const name of (await readdir(folder)).filter((name) => name.endsWith(".svg"))) {
  const drawing = new Resvg(await readFile(`${folder}/${name}`, "utf8"), { font });
  await writeFile(`${folder}/${name.replace(/svg$/, "png")}`, drawing.render().asPng());
}

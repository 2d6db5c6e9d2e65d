// Bundles the libraries of this folder into ../src/parley_lab/web/pages/console/vendor: the same bytes each time, with the
// licences of all that is in them. `node build.mjs FOLDER` writes elsewhere, to compare.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const here = import.meta.dirname;
const folder = process.argv[2] ?? join(here, "..", "src", "parley_lab", "web", "pages", "console", "vendor");

const built = await build({
  entryPoints: [join(here, "vega.js")], bundle: true, format: "esm", minify: true, target: "es2022", charset: "utf8", legalComments: "none",
  write: false, metafile: true, absWorkingDir: here,
});
const packages = [...new Set(Object.keys(built.metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean))].sort();
const content = built.outputFiles[0].contents;
writeFileSync(join(folder, "vega.js"), content);
const digest = createHash("sha256").update(content).digest("hex");
writeFileSync(join(folder, "vega.LICENSES.txt"), `vega.js, sha256 ${digest}\nBundled by web/vendor/build.mjs of these packages.\n\n${packages.map(licence).join("\n")}`);

function licence(name) {
  const root = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const file = readdirSync(root).find((one) => /^licen[cs]e/i.test(one));
  return `${"=".repeat(70)}\n${name} ${version}, ${license}\n\n${file ? readFileSync(join(root, file), "utf8").trim() : ""}\n`;
}

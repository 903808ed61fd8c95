// The page's files have fixed names: the server knows each by it, and says by an ETag whether it
// has changed. Nothing is inlined, since the page's Content-Security-Policy allows no inline script
// and no data: address.
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

// What stands in the bundle, for the page hands out copies of it.
const kBundled = ["preact", "@preact/signals", "@preact/signals-core", "uplot", "marked", "dompurify"];

function licenceOf(name: string): string {
  const folder = `node_modules/${name}`;
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no licence file`);
  return `${name}\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
}

function licences(): Plugin {
  return {
    name: "licences",
    generateBundle() {
      const source = kBundled.map(licenceOf).join(`\n${"-".repeat(80)}\n\n`);
      this.emitFile({ type: "asset", fileName: "assets/licences.txt", source });
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [licences()],
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        entryFileNames: "assets/page.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: (asset) =>
          asset.names[0]?.endsWith(".css") ? "assets/page.css" : "assets/[name][extname]",
      },
    },
  },
});

// The page's files have fixed names: the server knows each by it, and says by an ETag whether it
// has changed. Nothing is inlined, since the page's Content-Security-Policy allows no inline script
// and no data: address.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "eof" },
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

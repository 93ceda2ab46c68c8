import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// A server that runs already: `FATHOM_SERVER=http://127.0.0.1:7070 npm run dev` serves the page from source before it.
const server = process.env["FATHOM_SERVER"] ?? "http://127.0.0.1:7070";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "dist",
    target: "es2022",
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { host: "127.0.0.1", proxy: { "/api": server } },
  // The timeout is for hangs; a loaded machine is slow. The files share one process, because starting a process per file took
  // most of the time. Tests must therefore restore every global that they change.
  test: {
    include: ["src/**/*.test.ts", "src/**/*.test.tsx"],
    environment: "node",
    testTimeout: 60_000,
    isolate: false,
  },
});

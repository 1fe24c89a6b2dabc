import { viteSingleFile } from "vite-plugin-singlefile";
import { defineConfig } from "vitest/config";

// One HTML file and nothing beside it: the report must open by double click, years later, without a network.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: { target: "es2022", cssMinify: true, reportCompressedSize: false },
  test: { include: ["tests/**/*.test.ts"] },
});

import { defineConfig } from "vite";

import { buildInfo } from "./build/buildInfo.ts";
import { hostModules } from "./build/hostModules.ts";

export default defineConfig({
  // Chunks and the worker lie beside the entry, wherever the deployment's base path puts it.
  base: "./",
  build: {
    emptyOutDir: true,
    modulePreload: false,
    outDir: "../airflow_assets/ui_dist",
    reportCompressedSize: false,
    rolldownOptions: {
      input: "src/main.tsx",
      // "use client" in packages is about servers that render React.
      onLog: (level, log, handle) => (log.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : handle(level, log)),
      // The names change with the content, so that browsers may keep the files for ever.
      output: {
        assetFileNames: "[name]-[hash][extname]",
        chunkFileNames: "[name]-[hash].js",
        entryFileNames: "[name]-[hash].js",
      },
    },
    target: "es2022",
  },
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  plugins: [hostModules(), buildInfo("src/App.tsx")],
});

import { defineConfig } from "vite";

/** The page that stands in for Airflow's own in the tests: it lends the same modules in the same way. */
export default defineConfig({
  base: "./",
  build: {
    emptyOutDir: true,
    outDir: "../.build/ui-stub",
    reportCompressedSize: false,
    rolldownOptions: {
      input: "stub/host.tsx",
      onLog: (level, log, handle) => (log.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : handle(level, log)),
      output: { entryFileNames: "host.js" },
    },
    target: "es2022",
  },
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
});

import { gzipSync } from "node:zlib";

import type { Plugin, Rolldown } from "vite";

/** What a browser loads before it shows the catalogue, compressed, at most. */
export const FIRST_LOAD_LIMIT = 150 * 1024;

/**
 * Writes `build.json`: the entry's file name, for the Airflow plugin, and what the first page costs. The chunks
 * that the first page loads are the entry, the application, and what either imports statically.
 */
export const buildInfo = (application: string): Plugin => ({
  generateBundle(_options, bundle) {
    const chunks = Object.values(bundle).filter((file): file is Rolldown.OutputChunk => file.type === "chunk");
    const entry = chunks.find((chunk) => chunk.isEntry);
    const app = chunks.find((chunk) => chunk.facadeModuleId?.endsWith(application));
    if (entry === undefined || app === undefined) this.error(`No chunk is the entry, or none is ${application}.`);
    const first = new Set<string>();
    const add = (name: string) => {
      const chunk = bundle[name];
      if (chunk?.type !== "chunk" || first.has(name)) return;
      first.add(name);
      chunk.imports.forEach(add);
    };
    add(entry.fileName);
    add(app.fileName);
    const gzip = [...first]
      .map((name) => gzipSync((bundle[name] as Rolldown.OutputChunk).code).length)
      .reduce((sum, size) => sum + size, 0);
    if (gzip > FIRST_LOAD_LIMIT) {
      this.error(`The first load is ${gzip} bytes compressed (${[...first].join(", ")}); ${FIRST_LOAD_LIMIT} are allowed.`);
    }
    const info = { entry: entry.fileName, firstLoadGzip: gzip };
    this.emitFile({ fileName: "build.json", source: JSON.stringify(info, null, 2) + "\n", type: "asset" });
  },
  name: "build-info",
});

import type { Plugin } from "vite";

/** What Airflow's page lends its plugins, and under which name it lies on `globalThis`. */
export const HOST_MODULES: Record<string, string> = {
  "@chakra-ui/react": "ChakraUI",
  "@emotion/react": "EmotionReact",
  react: "React",
  "react-dom": "ReactDOM",
  "react-router-dom": "ReactRouterDOM",
  "react/jsx-runtime": "ReactJSXRuntime",
};

const MARK = "\0host:";

/**
 * Resolves these modules to the host's copies, also inside the packages that are bundled: two copies of React in
 * one page do not work, and the host's Chakra brings the host's theme.
 */
export const hostModules = (): Plugin => ({
  enforce: "pre",
  load(id) {
    if (!id.startsWith(MARK)) return undefined;
    return `module.exports = globalThis[${JSON.stringify(HOST_MODULES[id.slice(MARK.length)])}];`;
  },
  name: "host-modules",
  resolveId: (id) => (id in HOST_MODULES ? MARK + id : undefined),
});

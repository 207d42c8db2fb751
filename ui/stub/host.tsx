/**
 * Stands in for Airflow's own page in the tests: it lends the same modules under the same names, loads the bundle in
 * the same way, and has the same routes. The real page takes half a minute to start, this one half a second.
 */
import * as ChakraUI from "@chakra-ui/react";
import * as EmotionReact from "@emotion/react";
import * as React from "react";
import * as ReactJSXRuntime from "react/jsx-runtime";
import * as ReactDOM from "react-dom";
import { createRoot } from "react-dom/client";
import * as ReactRouterDOM from "react-router-dom";

const { ChakraProvider, createSystem, defaultConfig } = ChakraUI;
const { BrowserRouter, Route, Routes, useParams } = ReactRouterDOM;

const shades = ["contrast", "fg", "subtle", "muted", "emphasized", "solid", "focusRing"];
const system = createSystem(defaultConfig, {
  theme: { semanticTokens: { colors: { brand: Object.fromEntries(shades.map((shade) => [shade, { value: `{colors.blue.${shade}}` }])) } } },
});

const lent: Record<string, unknown> = { ChakraUI, ChakraUISystem: system, EmotionReact, React, ReactDOM, ReactJSXRuntime, ReactRouterDOM };
const withheld = new URLSearchParams(location.search).get("withhold")?.split(".");
if (withheld?.[0] && withheld[1]) lent[withheld[0]] = { ...(lent[withheld[0]] as object), [withheld[1]]: undefined };
Object.assign(globalThis, lent);

const body = document.body.dataset;
const name = body["name"] ?? "";
const known = () => (globalThis as Record<string, unknown>)[name] as React.ComponentType<object>;
const Plugin = React.lazy(async () => {
  if (known() === undefined) await import(/* @vite-ignore */ new URL(body["bundle"] ?? "", document.baseURI).href);
  return { default: known() };
});

const Outlet = () => {
  const { dagId, mapIndex, runId, taskId } = useParams();
  return (
    <React.Suspense fallback={null}>
      <Plugin {...{ dagId, mapIndex, runId, taskId }} />
    </React.Suspense>
  );
};

createRoot(document.getElementById("root")!).render(
  <ChakraProvider value={system}>
    <ChakraUI.Box as="main" bg="bg" color="fg" minHeight="100vh">
      <BrowserRouter basename={new URL(document.baseURI).pathname}>
        <Routes>
          {["/plugin/:page/*", "/dags/:dagId/plugin/:page/*", "/dags/:dagId/runs/:runId/plugin/:page/*", "/dags/:dagId/runs/:runId/tasks/:taskId/plugin/:page/*"].map(
            (path) => (
              <Route element={<Outlet />} key={path} path={path} />
            ),
          )}
          <Route element={<p>A page of Airflow</p>} path="*" />
        </Routes>
      </BrowserRouter>
    </ChakraUI.Box>
  </ChakraProvider>,
);

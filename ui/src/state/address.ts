import { useCallback } from "react";
import { useLocation, useNavigate, useSearchParams } from "react-router-dom";

/** The page's own address in Airflow's router; airflow_assets/ui/bundle.py has the same route. */
export const ROOT = "/plugin/asset-catalogue";

export type PageName = "" | "asset" | "inventory" | "locks" | "triggers";

/** The address of a page, with its parameters; undefined and empty ones are left out. */
export const addressOf = (page: PageName, parameters: Record<string, string | undefined> = {}): string => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value) search.set(name, value);
  const text = search.toString();
  return `${ROOT}${page === "" ? "" : `/${page}`}${text === "" ? "" : `?${text}`}`;
};

/** The address of an asset's page. Its id is a parameter: in a path, proxies would read `/` and `%` in it anew. */
export const assetAddress = (id: string, tab?: string): string => addressOf("asset", { id, tab });

/** Which of our pages the address names. */
export const usePageName = (): string => {
  const { pathname } = useLocation();
  const start = pathname.indexOf(ROOT);
  return start < 0 ? "" : pathname.slice(start + ROOT.length).replace(/^\/|\/$/g, "");
};

export interface Reading {
  all: (name: string) => string[];
  get: (name: string) => string;
}

export interface Address extends Reading {
  /** The address this very moment: what is drawn may be older when two clicks follow each other quickly. */
  now: () => Reading;
  /** Sets parameters and removes empty ones; `cursor` goes, unless it is set: it belongs to one question. */
  set: (changes: Record<string, readonly string[] | string | undefined>, options?: { replace?: boolean }) => void;
}

/** The state of a page, all of which is in its address: it can be sent to a colleague. */
export const useAddress = (): Address => {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const set = useCallback<Address["set"]>(
    (changes, options) => {
      const after = new URLSearchParams(globalThis.location.search);
      if (!("cursor" in changes)) after.delete("cursor");
      for (const [name, value] of Object.entries(changes)) {
        after.delete(name);
        for (const one of typeof value === "string" ? [value] : (value ?? [])) if (one !== "") after.append(name, one);
      }
      void navigate({ search: after.toString() }, { replace: options?.replace ?? false });
    },
    [navigate],
  );
  return { ...readingOf(search), now: () => readingOf(new URLSearchParams(globalThis.location.search)), set };
};

const readingOf = (search: URLSearchParams): Reading => ({
  all: (name) => search.getAll(name),
  get: (name) => search.get(name) ?? "",
});

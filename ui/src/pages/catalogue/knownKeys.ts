import { useCall } from "../../state/queries";

const SAMPLE = 200;

/** Metadata keys of the assets written last, the most frequent first: for completion and as facets to choose from. */
export const useKnownKeys = (): string[] => {
  const { data } = useCall("query_assets", { body: { limit: SAMPLE, sort: "-updated" } });
  const counts = new Map<string, number>();
  for (const asset of data?.items ?? []) for (const key of Object.keys(asset.metadata)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b)).map(([key]) => key);
};

import type { Edge } from "../../../api/generated";

/** The node, and all that lies up- and downstream of it: its whole lineage, not its side branches. */
export const lineageOf = (uid: string, edges: readonly Edge[]): Set<string> => {
  const up = index(edges, "target", "source");
  const down = index(edges, "source", "target");
  return new Set([...walk(uid, up), ...walk(uid, down)]);
};

const index = (edges: readonly Edge[], from: "source" | "target", to: "source" | "target"): Map<string, string[]> => {
  const found = new Map<string, string[]>();
  for (const edge of edges) found.set(edge[from], [...(found.get(edge[from]) ?? []), edge[to]]);
  return found;
};

const walk = (start: string, next: Map<string, string[]>): Set<string> => {
  const seen = new Set([start]);
  const todo = [start];
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    for (const other of next.get(at) ?? []) {
      if (seen.has(other)) continue;
      seen.add(other);
      todo.push(other);
    }
  }
  return seen;
};

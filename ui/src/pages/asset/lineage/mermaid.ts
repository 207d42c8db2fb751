import type { Graph, Node } from "../../../api/generated";

/** What a node is called where there is no room for more. */
export const labelOf = (node: Node): string => (node.kind === "TASK" ? `${node.dagId ?? ""} · ${node.taskId ?? node.id}` : node.id);

/** The graph as a Mermaid flowchart; names are quoted, so that none of their characters means anything in it. */
export const mermaidOf = (graph: Graph): string => {
  const names = new Map(graph.nodes.map((node, at) => [node.uid, `n${at}`]));
  const quoted = (text: string) => `"${text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;").replace(/#/g, "&#35;")}"`;
  const nodes = graph.nodes.map((node) =>
    node.kind === "TASK" ? `  ${names.get(node.uid)}([${quoted(labelOf(node))}])` : `  ${names.get(node.uid)}[${quoted(labelOf(node))}]`,
  );
  const edges = graph.edges.map((edge) => `  ${names.get(edge.source)} --> ${names.get(edge.target)}`);
  return ["flowchart LR", ...nodes, ...edges].join("\n") + "\n";
};

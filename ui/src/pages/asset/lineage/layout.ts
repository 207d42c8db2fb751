import ELK from "elkjs/lib/elk-api.js";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";

import type { Graph } from "../../../api/generated";

export const WIDTH = 230;
export const HEIGHT = 58;

export type Positions = Map<string, { x: number; y: number }>;

// Its work is done in a worker: a graph of hundreds of nodes takes seconds, in which the page must stay alive.
let elk: InstanceType<typeof ELK> | undefined;

/** Places the nodes in layers, from left to right. */
export const layout = async (graph: Graph): Promise<Positions> => {
  elk ??= new ELK({ workerUrl: new URL(workerUrl, import.meta.url).href });
  const done = await elk.layout({
    children: graph.nodes.map((node) => ({ height: HEIGHT, id: node.uid, width: WIDTH })),
    edges: graph.edges.map((edge, at) => ({ id: String(at), sources: [edge.source], targets: [edge.target] })),
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "RIGHT",
      "elk.layered.spacing.nodeNodeBetweenLayers": "60",
      "elk.spacing.nodeNode": "24",
    },
  });
  return new Map(done.children?.map((node) => [node.id, { x: node.x ?? 0, y: node.y ?? 0 }]));
};

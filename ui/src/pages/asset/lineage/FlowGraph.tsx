import { Box, Flex, Text } from "@chakra-ui/react";
import { useQuery } from "@tanstack/react-query";
import { Background, Controls, Handle, MarkerType, Position, ReactFlow, type Edge, type Node, type NodeProps } from "@xyflow/react";
import css from "@xyflow/react/dist/base.css?inline";
import { useMemo, useState, useSyncExternalStore } from "react";

import type { Asset, Graph, Node as GraphNode } from "../../../api/generated";
import { FreshnessBadge } from "../../../parts/badges";
import { airflowAddress, PageLink } from "../../../parts/links";
import { Loading } from "../../../parts/states";
import { assetAddress } from "../../../state/address";
import { HEIGHT, layout, WIDTH, type Positions } from "./layout";
import { labelOf } from "./mermaid";
import { lineageOf } from "./reach";

interface Props {
  assets: ReadonlyMap<string, Asset>;
  graph: Graph;
  root: string;
  search: string;
}

/** The graph; hovering over a node or reaching it by keyboard shows its whole lineage and dims the rest. */
export const FlowGraph = (props: Props) => {
  const { data: positions, error } = useQuery({
    queryFn: () => layout(props.graph),
    queryKey: ["layout", props.graph.nodes.map((node) => node.uid), props.graph.edges.map((edge) => [edge.source, edge.target])],
    staleTime: Infinity,
  });
  if (error) throw error;
  return positions === undefined ? <Loading label="the graph" lines={10} /> : <Drawn {...props} positions={positions} />;
};

const Drawn = ({ assets, graph, positions, root, search }: Props & { positions: Positions }) => {
  const [over, setOver] = useState<string>();
  const lit = useMemo(() => (over === undefined ? undefined : lineageOf(over, graph.edges)), [graph, over]);
  const wanted = search.trim().toLowerCase();
  const nodes: FlowNode[] = graph.nodes.map((node) => ({
    data: {
      asset: assets.get(node.id),
      dim: (lit !== undefined && !lit.has(node.uid)) || (wanted !== "" && !labelOf(node).toLowerCase().includes(wanted)),
      node,
      root: node.kind === "ASSET" && node.id === root,
      show: setOver,
    },
    focusable: false, // the link inside it is
    id: node.uid,
    position: positions.get(node.uid) ?? { x: 0, y: 0 },
    type: "lineage",
  }));
  const edges: Edge[] = graph.edges.map((edge) => {
    const on = lit === undefined || (lit.has(edge.source) && lit.has(edge.target));
    return {
      focusable: false,
      id: `${edge.source} ${edge.target} ${edge.relation}`,
      markerEnd: { type: MarkerType.ArrowClosed },
      source: edge.source,
      style: { opacity: on ? 1 : 0.15, stroke: "var(--chakra-colors-border-emphasized)", strokeWidth: lit && on ? 2 : 1 },
      target: edge.target,
    };
  });
  return (
    <Box borderRadius="md" borderWidth={1} height="60vh" minHeight="20rem">
      <style href="airflow-assets-graph" precedence="low">
        {css}
      </style>
      <ReactFlow
        colorMode={useColorMode()}
        edges={edges}
        elementsSelectable={false}
        fitView
        fitViewOptions={{ maxZoom: 1, minZoom: 0.5 }}
        minZoom={0.05}
        nodes={nodes}
        nodesConnectable={false}
        nodesDraggable={false}
        nodeTypes={NODE_TYPES}
        onlyRenderVisibleElements
        proOptions={{ hideAttribution: true }}
      >
        <Background color="var(--chakra-colors-border)" />
        <Controls showInteractive={false} />
      </ReactFlow>
    </Box>
  );
};

const watchMode = (changed: () => void) => {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["class"] });
  return () => observer.disconnect();
};

/** The host's mode. React Flow marks its own element with one, and what is inside takes its colours from there. */
const useColorMode = (): "dark" | "light" =>
  useSyncExternalStore(watchMode, () => (document.documentElement.classList.contains("dark") ? "dark" : "light"));

type FlowNode = Node<{
  asset: Asset | undefined;
  dim: boolean;
  node: GraphNode;
  root: boolean;
  show: (uid: string | undefined) => void;
}>;

const LineageNode = ({ data: { asset, dim, node, root, show } }: NodeProps<FlowNode>) => {
  const task = node.kind === "TASK";
  return (
    <Box
      bg={task ? "bg.muted" : "bg.panel"}
      borderColor={root ? "brand.solid" : "border.emphasized"}
      borderRadius={task ? "full" : "md"}
      borderWidth={root ? 2 : 1}
      height={`${HEIGHT}px`}
      onBlur={() => show(undefined)}
      onFocus={() => show(node.uid)}
      onMouseEnter={() => show(node.uid)}
      onMouseLeave={() => show(undefined)}
      opacity={dim ? 0.3 : 1}
      px={task ? 5 : 3}
      py={1}
      width={`${WIDTH}px`}
    >
      <Handle isConnectable={false} position={Position.Left} style={{ visibility: "hidden" }} type="target" />
      <PageLink
        className="nodrag nopan"
        display="block"
        fontSize="sm"
        overflow="hidden"
        textOverflow="ellipsis"
        title={labelOf(node)}
        to={task ? airflowAddress({ dagId: node.dagId ?? "", taskId: node.taskId }) : assetAddress(node.id, "lineage")}
        whiteSpace="nowrap"
      >
        {asset?.displayName ?? labelOf(node)}
      </PageLink>
      <Flex align="center" gap={2} justify="space-between">
        <Text color="fg.muted" fontSize="xs" overflow="hidden" textOverflow="ellipsis" whiteSpace="nowrap">
          {task ? "task" : (node.namespace ?? "")}
        </Text>
        {task || asset === undefined ? null : <FreshnessBadge freshness={asset.freshness} />}
      </Flex>
      <Handle isConnectable={false} position={Position.Right} style={{ visibility: "hidden" }} type="source" />
    </Box>
  );
};

const NODE_TYPES = { lineage: LineageNode };

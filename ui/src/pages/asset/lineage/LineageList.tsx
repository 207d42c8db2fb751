import { Box, Table } from "@chakra-ui/react";

import type { Graph, Node } from "../../../api/generated";
import { airflowAddress, AssetLink, PageLink } from "../../../parts/links";
import { Time } from "../../../parts/time";
import { labelOf } from "./mermaid";

const WORDS = { CONSUMED_BY: "is read by", PRODUCES: "makes", UPSTREAM_OF: "goes into" } as const;

/** The same graph, edge by edge: to read, to search, and for who does not see the drawing. */
export const LineageList = ({ graph, search }: { graph: Graph; search: string }) => {
  const nodes = new Map(graph.nodes.map((node) => [node.uid, node]));
  const wanted = search.trim().toLowerCase();
  const fits = (node: Node | undefined) => node !== undefined && labelOf(node).toLowerCase().includes(wanted);
  return (
    <Box overflowX="auto" role="region" aria-label="Edges" tabIndex={0}>
      <Table.Root size="sm">
        <Table.Header>
          <Table.Row>
            <Table.ColumnHeader>From</Table.ColumnHeader>
            <Table.ColumnHeader>How</Table.ColumnHeader>
            <Table.ColumnHeader>To</Table.ColumnHeader>
            <Table.ColumnHeader>Last seen</Table.ColumnHeader>
          </Table.Row>
        </Table.Header>
        <Table.Body>
          {graph.edges
            .filter((edge) => fits(nodes.get(edge.source)) || fits(nodes.get(edge.target)))
            .map((edge) => (
              <Table.Row key={`${edge.source} ${edge.target} ${edge.relation}`}>
                <Table.Cell>
                  <NodeLink node={nodes.get(edge.source)} />
                </Table.Cell>
                <Table.Cell color="fg.muted" whiteSpace="nowrap">
                  {WORDS[edge.relation as keyof typeof WORDS] ?? edge.relation}
                </Table.Cell>
                <Table.Cell>
                  <NodeLink node={nodes.get(edge.target)} />
                </Table.Cell>
                <Table.Cell whiteSpace="nowrap">
                  <Time at={edge.lastSeen} />
                </Table.Cell>
              </Table.Row>
            ))}
        </Table.Body>
      </Table.Root>
    </Box>
  );
};

const NodeLink = ({ node }: { node: Node | undefined }) => {
  if (node === undefined) return null;
  if (node.kind === "ASSET") return <AssetLink id={node.id} />;
  return <PageLink to={airflowAddress({ dagId: node.dagId ?? "", taskId: node.taskId })}>{labelOf(node)}</PageLink>;
};

import { Box, Heading, SimpleGrid, Stack, Text } from "@chakra-ui/react";
import { Fragment, type ReactNode } from "react";

import type { Asset, Graph, Node } from "../../api/generated";
import { airflowAddress, AssetLink, PageLink } from "../../parts/links";
import { Markdown } from "../../parts/Markdown";
import { MetadataTable } from "../../parts/MetadataTable";
import { Answered } from "../../parts/states";
import { Time } from "../../parts/time";
import { useCall } from "../../state/queries";

/** What the asset is: description, attributes, metadata, and its neighbours. */
export const Overview = ({ asset }: { asset: Asset }) => (
  <SimpleGrid columns={{ base: 1, lg: 2 }} gap={6}>
    <Stack gap={5} minWidth={0}>
      <Section title="Description">
        {asset.description ? <Markdown text={asset.description} /> : <Text color="fg.muted">None is given.</Text>}
      </Section>
      <Section title="Metadata">
        <MetadataTable metadata={asset.metadata} />
      </Section>
    </Stack>
    <Stack gap={5} minWidth={0}>
      <Section title="About">
        <Attributes asset={asset} />
      </Section>
      <Neighbours asset={asset} />
    </Stack>
  </SimpleGrid>
);

const Section = ({ children, title }: { children: ReactNode; title: string }) => (
  <Box as="section" aria-label={title}>
    <Heading as="h2" mb={2} size="sm">
      {title}
    </Heading>
    {children}
  </Box>
);

const Attributes = ({ asset }: { asset: Asset }) => {
  const rows: [string, ReactNode][] = [
    ["Id", asset.id],
    ["Type", asset.type],
    ["Namespace", asset.namespace ?? "none: every namespace"],
    ["URI", asset.uri],
    ["Group", asset.group],
    ["Former ids", asset.aliases?.join(", ")],
    ["Created", <Time at={asset.created} key="created" />],
    ["Updated", <Time at={asset.updated} key="updated" />],
  ];
  return (
    <Box as="dl" columnGap={4} display="grid" fontSize="sm" gridTemplateColumns="max-content minmax(0, 1fr)" rowGap={1}>
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([label, value]) => (
          <Fragment key={label}>
            <Box as="dt" color="fg.muted">
              {label}
            </Box>
            <Box as="dd" overflowWrap="anywhere">
              {value}
            </Box>
          </Fragment>
        ))}
    </Box>
  );
};

const Neighbours = ({ asset }: { asset: Asset }) => {
  const asked = useCall("dependencies", { query: { assetId: asset.id, depth: 1, maxNodes: 200 } }, { enabled: !asset.deleted });
  if (asset.deleted) return null;
  return (
    <Answered asked={asked} label="neighbours">
      {(graph) => (
        <>
          <Section title="Made by">
            <Nodes graph={graph} nodes={near(graph, asset.id, "into", "TASK")} />
          </Section>
          <Section title="Made from">
            <Nodes graph={graph} nodes={near(graph, asset.id, "into", "ASSET")} />
          </Section>
          <Section title="Used by">
            <Nodes graph={graph} nodes={[...near(graph, asset.id, "out", "TASK"), ...near(graph, asset.id, "out", "ASSET")]} />
          </Section>
          {graph.hidden ? <Text color="fg.muted" fontSize="sm">{graph.hidden} more that you may not see.</Text> : null}
        </>
      )}
    </Answered>
  );
};

/** The neighbours of the asset on one side. */
const near = (graph: Graph, id: string, side: "into" | "out", kind: Node["kind"]): Node[] => {
  const own = graph.nodes.find((node) => node.kind === "ASSET" && node.id === id)?.uid;
  const uids = new Set(
    graph.edges.filter((edge) => (side === "into" ? edge.target : edge.source) === own).map((edge) => (side === "into" ? edge.source : edge.target)),
  );
  return graph.nodes.filter((node) => uids.has(node.uid) && node.kind === kind);
};

const Nodes = ({ nodes }: { graph: Graph; nodes: Node[] }) =>
  nodes.length === 0 ? (
    <Text color="fg.muted">Nothing is recorded.</Text>
  ) : (
    <Stack as="ul" gap={1} listStyleType="none">
      {nodes.map((node) => (
        <li key={node.uid}>
          {node.kind === "ASSET" ? (
            <AssetLink id={node.id} />
          ) : (
            <PageLink to={airflowAddress({ dagId: node.dagId ?? "", taskId: node.taskId })}>
              {node.dagId} · {node.taskId}
            </PageLink>
          )}
        </li>
      ))}
    </Stack>
  );

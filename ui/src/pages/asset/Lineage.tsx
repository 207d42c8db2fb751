import { Button, Field, Flex, HStack, Input, NativeSelect, Stack, Text } from "@chakra-ui/react";
import { useState } from "react";

import type { Asset, Direction, Graph } from "../../api/generated";
import { Answered, Nothing } from "../../parts/states";
import { useAddress, type Address } from "../../state/address";
import { useCall } from "../../state/queries";
import { FlowGraph } from "./lineage/FlowGraph";
import { LineageList } from "./lineage/LineageList";
import { mermaidOf } from "./lineage/mermaid";

const DIRECTIONS: [Direction, string][] = [
  ["both", "Both ways"],
  ["upstream", "Upstream"],
  ["downstream", "Downstream"],
];
const DEPTHS = [1, 2, 3, 5];
const MAX_NODES = 500;

/** What the asset was made from and what is made from it, as a graph or as a list. */
const Lineage = ({ asset }: { asset: Asset }) => {
  const address = useAddress();
  const [search, setSearch] = useState("");
  const given = DIRECTIONS.find(([direction]) => direction === address.get("direction"))?.[0] ?? "both";
  const depth = DEPTHS.find((one) => String(one) === address.get("depth")) ?? 2;
  const tasks = address.get("tasks") === "yes";
  const asOf = address.get("asOf");
  const asked = useCall(
    "dependencies",
    { query: { asOf: asOf || undefined, assetId: asset.id, depth, direction: given, maxNodes: MAX_NODES, tasks } },
    { keep: true },
  );
  return (
    <Stack aria-label="Lineage" gap={3} role="group">
      <Toolbar address={address} asOf={asOf} depth={depth} direction={given} onSearch={setSearch} search={search} tasks={tasks} />
      <Answered asked={asked} label="lineage">
        {(graph) => <Shown address={address} asset={asset} graph={tasks ? withoutShortcuts(graph) : graph} search={search} />}
      </Answered>
    </Stack>
  );
};

/** With tasks between them, the edges from asset to asset would say everything twice. */
const withoutShortcuts = (graph: Graph): Graph => ({ ...graph, edges: graph.edges.filter((edge) => edge.relation !== "UPSTREAM_OF") });

const Shown = ({ address, asset, graph, search }: { address: Address; asset: Asset; graph: Graph; search: string }) => {
  const ids = graph.nodes.filter((node) => node.kind === "ASSET").map((node) => node.id);
  const { data } = useCall("query_assets", { body: { ids, includeDeleted: true, limit: 1000 } }, { enabled: ids.length > 0, keep: true });
  const assets = new Map(data?.items.map((one) => [one.id, one]));
  const list = address.get("as") === "list";
  const left = [
    `${graph.nodes.length} ${graph.nodes.length === 1 ? "node" : "nodes"}`,
    ...(graph.hidden ? [`${graph.hidden} more that you may not see`] : []),
    ...(graph.truncated ? [`${graph.truncated} more left out: choose fewer steps`] : []),
  ];
  if (graph.edges.length === 0) return <Nothing title="Nothing is recorded">No task run has named this asset together with another, as asked for.</Nothing>;
  return (
    <>
      <HStack justify="space-between" wrap="wrap">
        <Text aria-live="polite" color="fg.muted" fontSize="sm">
          {left.join(", ")}
        </Text>
        <HStack>
          <Button aria-pressed={list} onClick={() => address.set({ as: list ? undefined : "list" })} size="xs" variant="outline">
            As a list
          </Button>
          <Button onClick={() => download(`${asset.id}.mmd`, mermaidOf(graph))} size="xs" variant="outline">
            Save as Mermaid
          </Button>
        </HStack>
      </HStack>
      {list ? <LineageList graph={graph} search={search} /> : <FlowGraph assets={assets} graph={graph} root={asset.id} search={search} />}
    </>
  );
};

interface ToolbarProps {
  address: Address;
  asOf: string;
  depth: number;
  direction: Direction;
  onSearch: (text: string) => void;
  search: string;
  tasks: boolean;
}

const Toolbar = ({ address, asOf, depth, direction, onSearch, search, tasks }: ToolbarProps) => (
  <Flex align="flex-end" gap={3} wrap="wrap">
    <Choice label="Direction" onChange={(value) => address.set({ direction: value })} options={DIRECTIONS} value={direction} />
    <Choice
      label="Steps"
      onChange={(value) => address.set({ depth: value })}
      options={DEPTHS.map((one) => [String(one), String(one)])}
      value={String(depth)}
    />
    <Choice
      label="Between them"
      onChange={(value) => address.set({ tasks: value })}
      options={[
        ["", "Nothing"],
        ["yes", "Tasks"],
      ]}
      value={tasks ? "yes" : ""}
    />
    <Field.Root width="auto">
      <Field.Label>As of</Field.Label>
      <Input
        onChange={(event) => address.set({ asOf: event.target.value === "" ? undefined : new Date(event.target.value).toISOString() })}
        size="sm"
        type="datetime-local"
        value={asOf === "" ? "" : localInput(asOf)}
      />
    </Field.Root>
    <Field.Root flex="1 1 10rem" width="auto">
      <Field.Label>Find</Field.Label>
      <Input onChange={(event) => onSearch(event.target.value)} size="sm" type="search" value={search} />
    </Field.Root>
  </Flex>
);

interface ChoiceProps {
  label: string;
  onChange: (value: string) => void;
  options: readonly (readonly [string, string])[];
  value: string;
}

const Choice = ({ label, onChange, options, value }: ChoiceProps) => (
  <Field.Root width="auto">
    <Field.Label>{label}</Field.Label>
    <NativeSelect.Root size="sm" width="auto">
      <NativeSelect.Field onChange={(event) => onChange(event.target.value)} value={value}>
        {options.map(([name, title]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </NativeSelect.Field>
      <NativeSelect.Indicator />
    </NativeSelect.Root>
  </Field.Root>
);

/** A moment as the browser's own field for dates has it: in the user's zone, without one. */
const localInput = (at: string): string => {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

const download = (name: string, text: string): void => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name.replace(/[\\/:*?"<>|]+/g, "_");
  link.click();
  URL.revokeObjectURL(link.href);
};

export default Lineage;

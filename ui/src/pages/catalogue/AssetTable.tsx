import { Box, Button, Checkbox, Table, Text } from "@chakra-ui/react";
import { createColumnHelper, flexRender, getCoreRowModel, useReactTable } from "@tanstack/react-table";
import { useMemo, type ReactNode } from "react";

import type { Asset } from "../../api/generated";
import { stringifyExact } from "../../api/exactJson";
import { FreshnessBadge, LockBadge } from "../../parts/badges";
import { SortDownIcon, SortUpIcon } from "../../parts/icons";
import { AssetLink } from "../../parts/links";
import { Ago } from "../../parts/time";
import type { Address } from "../../state/address";
import { COLUMNS, columnsOf, METADATA } from "./columns";
import { shortType } from "./Facets";

const helper = createColumnHelper<Asset>();

const CELLS: Record<string, (asset: Asset) => ReactNode> = {
  created: (asset) => <Ago at={asset.created} />,
  freshness: (asset) => <FreshnessBadge freshness={asset.freshness} />,
  group: (asset) => asset.group,
  id: (asset) => <Identity asset={asset} />,
  lock: (asset) => <LockBadge lease={asset.lock} />,
  namespace: (asset) => asset.namespace,
  type: (asset) => <span title={asset.type}>{shortType(asset.type)}</span>,
  updated: (asset) => <Ago at={asset.updated} />,
};

const columnOf = (name: string) => {
  if (!name.startsWith(METADATA)) {
    const title = COLUMNS.find(([column]) => column === name)?.[1] ?? name;
    return helper.display({ cell: ({ row }) => CELLS[name]?.(row.original), header: title, id: name });
  }
  const key = name.slice(METADATA.length);
  return helper.display({ cell: ({ row }) => <Short value={row.original.metadata[key]} />, header: key, id: name });
};

const SORTABLE = new Set(["id", "updated", "created"]);

interface Props {
  address: Address;
  assets: Asset[];
  chosen: readonly string[];
  onChoose: ((ids: string[]) => void) | undefined;
}

/** One page of assets, in the order of the server. */
export const AssetTable = ({ address, assets, chosen, onChoose }: Props) => {
  const shown = columnsOf(address).join("\n");
  const columns = useMemo(() => shown.split("\n").map(columnOf), [shown]);
  const table = useReactTable({ columns, data: assets, getCoreRowModel: getCoreRowModel(), getRowId: (asset) => asset.id });
  const all = assets.length > 0 && chosen.length === assets.length;
  return (
    <Box overflowX="auto" tabIndex={0} role="region" aria-label="Assets">
      <Table.Root size="sm">
        <Table.Header>
          {table.getHeaderGroups().map((group) => (
            <Table.Row key={group.id}>
              {onChoose ? (
                <Table.ColumnHeader width="1%">
                  <Choose checked={all} label="Choose all on this page" onChange={(on) => onChoose(on ? assets.map(({ id }) => id) : [])} />
                </Table.ColumnHeader>
              ) : null}
              {group.headers.map((header) => (
                <Header address={address} id={header.column.id} key={header.id}>
                  {flexRender(header.column.columnDef.header, header.getContext())}
                </Header>
              ))}
            </Table.Row>
          ))}
        </Table.Header>
        <Table.Body>
          {table.getRowModel().rows.map((row) => (
            <Table.Row key={row.id}>
              {onChoose ? (
                <Table.Cell>
                  <Choose
                    checked={chosen.includes(row.id)}
                    label={`Choose ${row.id}`}
                    onChange={(on) => onChoose(on ? [...chosen, row.id] : chosen.filter((id) => id !== row.id))}
                  />
                </Table.Cell>
              ) : null}
              {row.getVisibleCells().map((cell) => (
                <Table.Cell key={cell.id}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</Table.Cell>
              ))}
            </Table.Row>
          ))}
        </Table.Body>
      </Table.Root>
    </Box>
  );
};

const Identity = ({ asset }: { asset: Asset }) => (
  <Box maxWidth="28rem" minWidth="10rem">
    <AssetLink id={asset.id} name={asset.displayName} />
    {asset.displayName && asset.displayName !== asset.id ? (
      <Text color="fg.muted" fontSize="xs" overflowWrap="anywhere">
        {asset.id}
      </Text>
    ) : null}
  </Box>
);

const Short = ({ value }: { value: unknown }) => {
  if (value === undefined) return null;
  const text = typeof value === "string" ? value : stringifyExact(value);
  return (
    <Text maxWidth="16rem" overflow="hidden" textOverflow="ellipsis" title={text} whiteSpace="nowrap">
      {text}
    </Text>
  );
};

const Header = ({ address, children, id }: { address: Address; children: ReactNode; id: string }) => {
  if (!SORTABLE.has(id)) return <Table.ColumnHeader>{children}</Table.ColumnHeader>;
  const sort = address.get("sort") || "id";
  const [up, down] = [sort === id, sort === `-${id}`];
  return (
    <Table.ColumnHeader aria-sort={up ? "ascending" : down ? "descending" : "none"}>
      <Button fontSize="inherit" fontWeight="inherit" height="auto" onClick={() => address.set({ sort: up ? `-${id}` : id })} px={0} size="xs" variant="plain">
        {children} {up ? <SortUpIcon /> : down ? <SortDownIcon /> : null}
      </Button>
    </Table.ColumnHeader>
  );
};

const Choose = ({ checked, label, onChange }: { checked: boolean; label: string; onChange: (on: boolean) => void }) => (
  <Checkbox.Root checked={checked} colorPalette="brand" onCheckedChange={(change) => onChange(change.checked === true)} size="sm">
    <Checkbox.HiddenInput aria-label={label} />
    <Checkbox.Control />
  </Checkbox.Root>
);

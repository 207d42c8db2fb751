import { Box, Table, Text } from "@chakra-ui/react";

import { ExactNumber, stringifyExact } from "../api/exactJson";
import { Nothing } from "./states";

/** The kind of a JSON value, as the query language tells them apart. */
const kindOf = (value: unknown): string => {
  if (value === null) return "null";
  if (value instanceof ExactNumber) return "number";
  return Array.isArray(value) ? "list" : typeof value;
};

/** A JSON value to read: texts as they are, numbers with every digit, lists and objects as JSON. */
export const JsonValue = ({ value }: { value: unknown }) => {
  if (typeof value === "string") return <Text overflowWrap="anywhere" whiteSpace="pre-wrap">{value}</Text>;
  if (typeof value === "object" && value !== null && !(value instanceof ExactNumber)) {
    return (
      <Box as="pre" bg="bg.muted" borderRadius="md" fontSize="xs" maxHeight="20rem" overflow="auto" p={2} tabIndex={0}>
        {stringifyExact(value, 2)}
      </Box>
    );
  }
  return (
    <Text fontFamily="mono" overflowWrap="anywhere">
      {stringifyExact(value)}
    </Text>
  );
};

/** An asset's metadata: key, kind, value. */
export const MetadataTable = ({ metadata }: { metadata: Record<string, unknown> }) => {
  const entries = Object.entries(metadata);
  if (entries.length === 0) return <Nothing title="No metadata" />;
  return (
    <Box overflowX="auto" tabIndex={0} role="region" aria-label="Metadata">
      <Table.Root size="sm">
        <Table.Header>
          <Table.Row>
            <Table.ColumnHeader>Key</Table.ColumnHeader>
            <Table.ColumnHeader>Kind</Table.ColumnHeader>
            <Table.ColumnHeader>Value</Table.ColumnHeader>
          </Table.Row>
        </Table.Header>
        <Table.Body>
          {entries.map(([key, value]) => (
            <Table.Row key={key}>
              <Table.Cell fontWeight="medium" overflowWrap="anywhere" verticalAlign="top">
                {key}
              </Table.Cell>
              <Table.Cell color="fg.muted" verticalAlign="top">
                {kindOf(value)}
              </Table.Cell>
              <Table.Cell minWidth="12rem">
                <JsonValue value={value} />
              </Table.Cell>
            </Table.Row>
          ))}
        </Table.Body>
      </Table.Root>
    </Box>
  );
};

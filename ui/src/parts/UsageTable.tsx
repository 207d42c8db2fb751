import { Badge, Box, Table } from "@chakra-ui/react";

import type { TaskState, Usage } from "../api/generated";
import { airflowAddress, AssetLink, PageLink, TaskLink } from "./links";
import { Time } from "./time";

const PALETTE: Record<TaskState, string> = { failed: "red", removed: "gray", skipped: "pink", success: "green", up_for_retry: "yellow" };

/** Which task runs read and wrote; `withAsset` where they are not all about one asset. */
export const UsageTable = ({ usages, withAsset = false }: { usages: Usage[]; withAsset?: boolean }) => (
  <Box overflowX="auto" tabIndex={0} role="region" aria-label="Runs">
    <Table.Root size="sm">
      <Table.Header>
        <Table.Row>
          {withAsset ? <Table.ColumnHeader>Asset</Table.ColumnHeader> : null}
          <Table.ColumnHeader>Did</Table.ColumnHeader>
          <Table.ColumnHeader>Task</Table.ColumnHeader>
          <Table.ColumnHeader>Run</Table.ColumnHeader>
          <Table.ColumnHeader>State</Table.ColumnHeader>
          <Table.ColumnHeader>When</Table.ColumnHeader>
        </Table.Row>
      </Table.Header>
      <Table.Body>
        {usages.map((usage) => (
          <Table.Row key={`${usage.lineageSeq} ${usage.role} ${usage.assetId}`}>
            {withAsset ? (
              <Table.Cell>
                <AssetLink id={usage.assetId} />
              </Table.Cell>
            ) : null}
            <Table.Cell>{usage.role === "output" ? "wrote" : "read"}</Table.Cell>
            <Table.Cell>
              <TaskLink task={usage.task} />
            </Table.Cell>
            <Table.Cell>
              <PageLink overflowWrap="anywhere" to={airflowAddress({ dagId: usage.task.dagId, runId: usage.task.runId })}>
                {usage.task.runId}
              </PageLink>
            </Table.Cell>
            <Table.Cell>
              <Badge colorPalette={PALETTE[usage.state]}>{usage.state}</Badge>
            </Table.Cell>
            <Table.Cell whiteSpace="nowrap">
              <Time at={usage.created} />
            </Table.Cell>
          </Table.Row>
        ))}
      </Table.Body>
    </Table.Root>
  </Box>
);

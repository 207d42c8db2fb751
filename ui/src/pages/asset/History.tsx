import { Box, HStack, Stack, Table, Text } from "@chakra-ui/react";

import type { Asset, Change } from "../../api/generated";
import { EventBadge } from "../../parts/badges";
import { SourceText } from "../../parts/links";
import { JsonValue } from "../../parts/MetadataTable";
import { Pager } from "../../parts/Pager";
import { Answered, Nothing } from "../../parts/states";
import { Time } from "../../parts/time";
import { useAddress } from "../../state/address";
import { useCall } from "../../state/queries";

/** Who changed what, from what to what, the newest first. */
export const History = ({ asset }: { asset: Asset }) => {
  const address = useAddress();
  const asked = useCall("list_history", { query: { assetId: asset.id, cursor: address.get("cursor") || undefined, limit: 20 } }, { keep: true });
  return (
    <Stack>
      <Answered asked={asked} label="history">
        {(page) =>
          page.items.length === 0 ? (
            <Nothing title="No history">It may have been purged.</Nothing>
          ) : (
            <Stack as="ol" gap={4} listStyleType="none">
              {page.items.map((change) => (
                <Entry change={change} key={change.eventId} />
              ))}
            </Stack>
          )
        }
      </Answered>
      <Pager address={address} next={asked.data?.nextCursor} />
    </Stack>
  );
};

const Entry = ({ change }: { change: Change }) => {
  const members = Object.entries(change.diff);
  return (
    <Box as="li" borderWidth={1} borderRadius="md" p={3}>
      <HStack mb={2} wrap="wrap">
        <EventBadge kind={change.event} />
        <Time at={change.eventTime} />
        <Text color="fg.muted">by</Text>
        <SourceText source={change.source} />
      </HStack>
      {members.length === 0 ? (
        <Text color="fg.muted">It was written as it was.</Text>
      ) : (
        <Box overflowX="auto" tabIndex={0} role="region" aria-label="Changes">
          <Table.Root size="sm">
            <Table.Header>
              <Table.Row>
                <Table.ColumnHeader>What</Table.ColumnHeader>
                <Table.ColumnHeader>Before</Table.ColumnHeader>
                <Table.ColumnHeader>After</Table.ColumnHeader>
              </Table.Row>
            </Table.Header>
            <Table.Body>
              {members.map(([member, [before, after]]) => (
                <Table.Row key={member}>
                  <Table.Cell fontWeight="medium" overflowWrap="anywhere" verticalAlign="top">
                    {member}
                  </Table.Cell>
                  <Table.Cell color="fg.muted" minWidth="8rem">
                    {before === null ? "–" : <JsonValue value={before} />}
                  </Table.Cell>
                  <Table.Cell minWidth="8rem">{after === null ? "–" : <JsonValue value={after} />}</Table.Cell>
                </Table.Row>
              ))}
            </Table.Body>
          </Table.Root>
        </Box>
      )}
    </Box>
  );
};

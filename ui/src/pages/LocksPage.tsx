import { Box, Heading, Stack, Table, Text } from "@chakra-ui/react";

import type { ForcedUnlock, Lease } from "../api/generated";
import { holderOf } from "../parts/badges";
import { airflowAddress, AssetLink, PageLink, SourceText } from "../parts/links";
import { Pager } from "../parts/Pager";
import { Answered, Nothing } from "../parts/states";
import { Ago, longDuration, Time, useNow } from "../parts/time";
import { useAddress } from "../state/address";
import { useCall } from "../state/queries";

/** Which assets are locked, by whom and for how long, and which locks were taken by force. */
export const LocksPage = () => {
  const address = useAddress();
  const locks = useCall("list_leases", { query: { cursor: address.get("cursor") || undefined, limit: 50 } }, { every: 5_000, keep: true });
  const forced = useCall("list_forced_unlocks", { query: { cursor: address.get("forced") || undefined, limit: 20 } }, { keep: true });
  return (
    <Stack gap={6}>
      <Box as="section" aria-label="Held now">
        <Answered asked={locks} label="locks">
          {(page) => (page.items.length === 0 ? <Nothing title="Nothing is locked" /> : <Held leases={page.items} />)}
        </Answered>
        <Pager address={address} next={locks.data?.nextCursor} />
      </Box>
      <Box as="section" aria-label="Taken by force">
        <Heading as="h2" mb={2} size="md">
          Taken by force
        </Heading>
        <Answered asked={forced} label="forced unlocks">
          {(page) => (page.items.length === 0 ? <Text color="fg.muted">No lock was taken by force.</Text> : <Forced items={page.items} />)}
        </Answered>
        <Pager address={address} next={forced.data?.nextCursor} parameter="forced" />
      </Box>
    </Stack>
  );
};

const Held = ({ leases }: { leases: Lease[] }) => {
  const now = useNow(1_000);
  return (
    <Box overflowX="auto" tabIndex={0} role="region" aria-label="Locks">
      <Table.Root size="sm">
        <Table.Header>
          <Table.Row>
            <Table.ColumnHeader>Asset</Table.ColumnHeader>
            <Table.ColumnHeader>Holder</Table.ColumnHeader>
            <Table.ColumnHeader>Since</Table.ColumnHeader>
            <Table.ColumnHeader>For another</Table.ColumnHeader>
            <Table.ColumnHeader>Number</Table.ColumnHeader>
          </Table.Row>
        </Table.Header>
        <Table.Body>
          {leases.map((lease) => (
            <Table.Row key={lease.assetId}>
              <Table.Cell>
                <AssetLink id={lease.assetId} />
              </Table.Cell>
              <Table.Cell overflowWrap="anywhere">
                {lease.dagId === null ? holderOf(lease) : <PageLink to={airflowAddress({ ...lease, dagId: lease.dagId })}>{holderOf(lease)}</PageLink>}
              </Table.Cell>
              <Table.Cell whiteSpace="nowrap">
                <Ago at={lease.acquired} />
              </Table.Cell>
              <Table.Cell fontVariantNumeric="tabular-nums" whiteSpace="nowrap">
                {longDuration((Date.parse(lease.lockedUntil) - now) / 1000)}
              </Table.Cell>
              <Table.Cell>{lease.fencingToken}</Table.Cell>
            </Table.Row>
          ))}
        </Table.Body>
      </Table.Root>
    </Box>
  );
};

const Forced = ({ items }: { items: ForcedUnlock[] }) => (
  <Box overflowX="auto" tabIndex={0} role="region" aria-label="Forced unlocks">
    <Table.Root size="sm">
      <Table.Header>
        <Table.Row>
          <Table.ColumnHeader>When</Table.ColumnHeader>
          <Table.ColumnHeader>Asset</Table.ColumnHeader>
          <Table.ColumnHeader>Was held by</Table.ColumnHeader>
          <Table.ColumnHeader>Taken by</Table.ColumnHeader>
          <Table.ColumnHeader>Reason</Table.ColumnHeader>
        </Table.Row>
      </Table.Header>
      <Table.Body>
        {items.map((item) => (
          <Table.Row key={item.id}>
            <Table.Cell whiteSpace="nowrap">
              <Time at={item.created} />
            </Table.Cell>
            <Table.Cell>
              <AssetLink id={item.assetId} />
            </Table.Cell>
            <Table.Cell overflowWrap="anywhere">{holderOf(item.lease)}</Table.Cell>
            <Table.Cell>
              <SourceText source={item.source} />
            </Table.Cell>
            <Table.Cell overflowWrap="anywhere">{item.reason}</Table.Cell>
          </Table.Row>
        ))}
      </Table.Body>
    </Table.Root>
  </Box>
);

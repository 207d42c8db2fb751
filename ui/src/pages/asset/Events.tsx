import { Box, Button, HStack, Stack, Table, Text } from "@chakra-ui/react";
import { useState } from "react";

import type { Asset, Event, EventKind, ReplayResult } from "../../api/generated";
import { ActionDialog } from "../../parts/ActionDialog";
import { EventBadge } from "../../parts/badges";
import { airflowAddress, PageLink, SourceText } from "../../parts/links";
import { Pager } from "../../parts/Pager";
import { Answered, Nothing } from "../../parts/states";
import { Time } from "../../parts/time";
import { useAddress } from "../../state/address";
import { useCall, useRights, useWrite } from "../../state/queries";

const KINDS: EventKind[] = ["CREATED", "UPDATED", "DELETED", "USED"];
const LIVE = 3_000;

/** The asset's events, the newest first; the first page is kept up to date. */
export const Events = ({ asset }: { asset: Asset }) => {
  const address = useAddress();
  const may = useRights();
  const kinds = address.all("event").filter((kind): kind is EventKind => KINDS.includes(kind as EventKind));
  const cursor = address.get("cursor") || undefined;
  const asked = useCall(
    "list_events",
    { query: { assetId: asset.id, cursor, events: kinds.length > 0 ? kinds : undefined, limit: 50, newestFirst: true } },
    { keep: true, ...(cursor === undefined ? { every: LIVE } : {}) },
  );
  return (
    <Stack>
      <HStack aria-label="Kinds of events" role="group" wrap="wrap">
        {KINDS.map((kind) => {
          const on = kinds.includes(kind);
          return (
            <Button
              aria-pressed={on}
              key={kind}
              onClick={() => address.set({ event: on ? kinds.filter((other) => other !== kind) : [...kinds, kind] })}
              size="xs"
              variant={on ? "subtle" : "outline"}
            >
              {kind}
            </Button>
          );
        })}
      </HStack>
      <Answered asked={asked} label="events">
        {(page) =>
          page.items.length === 0 ? (
            <Nothing title="No events" />
          ) : (
            <Box overflowX="auto" tabIndex={0} role="region" aria-label="Events">
              <Table.Root size="sm">
                <Table.Header>
                  <Table.Row>
                    <Table.ColumnHeader>When</Table.ColumnHeader>
                    <Table.ColumnHeader>Event</Table.ColumnHeader>
                    <Table.ColumnHeader>By</Table.ColumnHeader>
                    <Table.ColumnHeader>Changed</Table.ColumnHeader>
                    {may("UPDATE") ? <Table.ColumnHeader>Replay</Table.ColumnHeader> : null}
                  </Table.Row>
                </Table.Header>
                <Table.Body>
                  {page.items.map((event) => (
                    <Table.Row key={event.id}>
                      <Table.Cell whiteSpace="nowrap">
                        <Time at={event.eventTime} />
                      </Table.Cell>
                      <Table.Cell>
                        <EventBadge kind={event.event} />
                      </Table.Cell>
                      <Table.Cell minWidth="9rem">
                        <SourceText source={event.source} />
                      </Table.Cell>
                      <Table.Cell overflowWrap="anywhere">{event.changed.join(", ")}</Table.Cell>
                      {may("UPDATE") ? (
                        <Table.Cell>
                          <ReplayDialog event={event} />
                        </Table.Cell>
                      ) : null}
                    </Table.Row>
                  ))}
                </Table.Body>
              </Table.Root>
            </Box>
          )
        }
      </Answered>
      <Pager address={address} next={asked.data?.nextCursor} />
    </Stack>
  );
};

/** Asks for another run of every Dag that waits for such events; asking twice starts one. */
const ReplayDialog = ({ event }: { event: Event }) => {
  const { error, isPending, mutateAsync, reset } = useWrite("replay_event");
  const [replayId, setReplayId] = useState("");
  const [result, setResult] = useState<ReplayResult>();
  return (
    <ActionDialog
      action="Replay"
      busy={isPending}
      onAction={async () => {
        setResult(await mutateAsync({ body: { eventId: event.id, replayId } }).catch(() => undefined));
        return false;
      }}
      onOpen={() => {
        reset();
        setReplayId(crypto.randomUUID?.() ?? `ui-${Date.now()}`);
        setResult(undefined);
      }}
      problem={error}
      ready={result === undefined}
      small
      title="Replay this event?"
      trigger="Replay"
    >
      <Text>
        Each Dag whose trigger fits this {event.event} event gets another run with the event as it was then.
      </Text>
      {result === undefined ? null : result.runs.length === 0 ? (
        <Text role="status">No Dag is scheduled on such an event: nothing was started.</Text>
      ) : (
        <Stack as="ul" listStyleType="none" role="status">
          {result.runs.map((run) => (
            <li key={run.dagId + run.runId}>
              <PageLink to={airflowAddress(run)}>
                {run.dagId}: {run.created ? "a run was made" : "the run was there already"}
              </PageLink>
            </li>
          ))}
        </Stack>
      )}
    </ActionDialog>
  );
};

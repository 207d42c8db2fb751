import { Box, Stack } from "@chakra-ui/react";

import { Pager } from "../parts/Pager";
import { Answered, Nothing } from "../parts/states";
import { UsageTable } from "../parts/UsageTable";
import { useAddress } from "../state/address";
import { useCall } from "../state/queries";

interface Props {
  place: { dagId: string; runId?: string; taskId?: string };
}

/** In the tabs of a Dag, a run and a task instance: the assets that were read and written there. */
export const TouchedAssets = ({ place: { dagId, runId, taskId } }: Props) => {
  const address = useAddress();
  const asked = useCall("list_usages", { query: { cursor: address.get("cursor") || undefined, dagId, limit: 50, runId, taskId } }, { keep: true });
  return (
    <Box p={2}>
      <Stack>
        <Answered asked={asked} label="assets">
          {(page) =>
            page.items.length === 0 ? (
              <Nothing title="No assets yet">Nothing that ran here has read or written an asset that the catalogue knows.</Nothing>
            ) : (
              <UsageTable usages={page.items} withAsset />
            )
          }
        </Answered>
        <Pager address={address} next={asked.data?.nextCursor} />
      </Stack>
    </Box>
  );
};

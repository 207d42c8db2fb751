import { HStack, NativeSelect, Stack } from "@chakra-ui/react";

import type { Asset, Role } from "../../api/generated";
import { Pager } from "../../parts/Pager";
import { Answered, Nothing } from "../../parts/states";
import { UsageTable } from "../../parts/UsageTable";
import { useAddress } from "../../state/address";
import { useCall } from "../../state/queries";

/** The task runs that read or wrote the asset. */
export const Runs = ({ asset }: { asset: Asset }) => {
  const address = useAddress();
  const role = (["input", "output"] as const).find((one): one is Role => one === address.get("role"));
  const asked = useCall("list_usages", { query: { assetId: asset.id, cursor: address.get("cursor") || undefined, limit: 50, role } }, { keep: true });
  return (
    <Stack>
      <HStack>
        <NativeSelect.Root size="sm" width="auto">
          <NativeSelect.Field aria-label="What they did" onChange={(event) => address.set({ role: event.target.value })} value={role ?? ""}>
            <option value="">Read or wrote</option>
            <option value="input">Read</option>
            <option value="output">Wrote</option>
          </NativeSelect.Field>
          <NativeSelect.Indicator />
        </NativeSelect.Root>
      </HStack>
      <Answered asked={asked} label="runs">
        {(page) => (page.items.length === 0 ? <Nothing title="No task run is recorded" /> : <UsageTable usages={page.items} />)}
      </Answered>
      <Pager address={address} next={asked.data?.nextCursor} />
    </Stack>
  );
};

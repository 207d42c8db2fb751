import { Button, HStack } from "@chakra-ui/react";

import type { Address } from "../state/address";

/**
 * Walks the pages of a listing. The catalogue has cursors and no page numbers: on, with the browser's own way back,
 * or from the beginning.
 */
export const Pager = ({ address, next, parameter = "cursor" }: { address: Address; next: string | null | undefined; parameter?: string }) => {
  const begun = address.get(parameter) !== "";
  if (!begun && !next) return null;
  return (
    <HStack as="nav" aria-label="Pages" justify="flex-end" mt={3}>
      <Button disabled={!begun} onClick={() => address.set({ [parameter]: undefined })} size="sm" variant="outline">
        First page
      </Button>
      <Button disabled={!next} onClick={() => address.set({ [parameter]: next ?? undefined })} size="sm" variant="outline">
        Next page
      </Button>
    </HStack>
  );
};

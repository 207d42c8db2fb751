import { Box, Text } from "@chakra-ui/react";
import { useState } from "react";

import { ApiProblem } from "../../api/client";
import type { BatchItemResult } from "../../api/generated";
import { ActionDialog } from "../../parts/ActionDialog";
import { useWrite } from "../../state/queries";

/** Deletes the chosen assets, one by one for the server: what is locked stays, and is named. */
export const DeleteDialog = ({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) => {
  const { error, isPending, mutateAsync, reset } = useWrite("batch");
  const [failed, setFailed] = useState<BatchItemResult[]>([]);
  const what = ids.length === 1 ? "1 asset" : `${ids.length} assets`;
  return (
    <ActionDialog
      action={`Delete ${what}`}
      busy={isPending}
      danger
      onAction={async () => {
        const result = await mutateAsync({ body: { items: ids.map((id) => ({ action: "delete" as const, id })) } }).catch(() => undefined);
        const refused = result?.items.filter((item) => item.problem) ?? [];
        setFailed(refused);
        if (result !== undefined && refused.length === 0) onDone();
        return result !== undefined && refused.length === 0;
      }}
      onOpen={() => {
        reset();
        setFailed([]);
      }}
      problem={error ?? refusal(failed)}
      title={`Delete ${what}?`}
      trigger={`Delete ${what}`}
    >
      <Text>Each gets a DELETED event, which may start Dags. Its history stays until it is purged.</Text>
      <Box as="ul" listStyleType="disc" maxHeight="40vh" overflowY="auto" pl={5}>
        {ids.map((id) => (
          <Box as="li" key={id} overflowWrap="anywhere">
            {id}
          </Box>
        ))}
      </Box>
    </ActionDialog>
  );
};

const refusal = (failed: readonly BatchItemResult[]): ApiProblem | null => {
  if (failed.length === 0) return null;
  const [first] = failed;
  const detail = failed.map((item) => `${item.id ?? ""}: ${String(item.problem?.["detail"] ?? item.status)}`).join("\n");
  return new ApiProblem(first?.status ?? 0, { detail, title: failed.length === 1 ? "One asset stays" : `${failed.length} assets stay` });
};

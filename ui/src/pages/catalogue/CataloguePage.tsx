import { Button, Flex, HStack, Stack, Text } from "@chakra-ui/react";
import { useState } from "react";

import { Nothing, ProblemCard, Loading } from "../../parts/states";
import { Pager } from "../../parts/Pager";
import { useAddress, type Address } from "../../state/address";
import { useCall, useRights } from "../../state/queries";
import { AssetTable } from "./AssetTable";
import { ColumnChooser } from "./ColumnChooser";
import { CreateDialog } from "./CreateDialog";
import { DeleteDialog } from "./DeleteDialog";
import { Facets } from "./Facets";
import { questionOf, type Question } from "./question";
import { SearchBar } from "./SearchBar";

/** All assets: asked for, counted, chosen. */
export const CataloguePage = () => {
  const address = useAddress();
  const question = questionOf(address);
  return (
    <Stack gap={3}>
      <SearchBar address={address} problem={question.problem} />
      <Flex align="flex-start" direction={{ base: "column", lg: "row" }} gap={4}>
        <Facets address={address} question={question} />
        <Results address={address} question={question} />
      </Flex>
    </Stack>
  );
};

const Results = ({ address, question }: { address: Address; question: Question }) => {
  const may = useRights();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const { data, error, isPlaceholderData, refetch } = useCall(
    "query_assets",
    { body: question.query },
    { enabled: question.problem === undefined, keep: true },
  );
  const shown = data?.items.map((asset) => asset.id) ?? [];
  const selected = chosen.filter((id) => shown.includes(id));
  return (
    <Stack aria-busy={isPlaceholderData} flex={1} minWidth={0} opacity={isPlaceholderData ? 0.6 : 1} width="100%">
      <HStack justify="space-between" wrap="wrap">
        <Text aria-live="polite" color="fg.muted" fontSize="sm">
          {selected.length > 0 ? `${selected.length} chosen` : ""}
        </Text>
        <HStack>
          {selected.length > 0 && may("DELETE") ? <DeleteDialog ids={selected} onDone={() => setChosen([])} /> : null}
          {may("CREATE") ? <CreateDialog /> : null}
          <ColumnChooser address={address} />
        </HStack>
      </HStack>
      {error === null ? null : <ProblemCard again={() => void refetch()} problem={error} />}
      {data === undefined && error === null && question.problem === undefined ? <Loading label="assets" lines={10} /> : null}
      {data === undefined || error !== null ? null : data.items.length === 0 ? (
        <NothingFound address={address} />
      ) : (
        <AssetTable address={address} assets={data.items} chosen={selected} onChoose={may("DELETE") ? setChosen : undefined} />
      )}
      <Pager address={address} next={data?.nextCursor} />
    </Stack>
  );
};

const FILTERS = ["q", "where", "type", "namespace", "locked"] as const;

const NothingFound = ({ address }: { address: Address }) =>
  FILTERS.some((name) => address.get(name) !== "") ? (
    <Nothing title="No asset fits">
      <Button mt={2} onClick={() => address.set(Object.fromEntries(FILTERS.map((name) => [name, undefined])))} size="sm" variant="outline">
        Show all assets
      </Button>
    </Nothing>
  ) : (
    <Nothing title="There are no assets yet">Tasks that name outlets add them as they run; you can also create one here.</Nothing>
  );

import { Box, Button, Field, Flex, Input } from "@chakra-ui/react";
import { useEffect, useId, useState } from "react";

import { completions } from "../../query/complete";
import type { QuerySyntaxError } from "../../query/text";
import type { Address } from "../../state/address";
import { useKnownKeys } from "./knownKeys";

/** Free text, and conditions on metadata in the grammar of the command line; Enter asks. */
export const SearchBar = ({ address, problem }: { address: Address; problem: QuerySyntaxError | undefined }) => {
  const [text, setText] = useStateOf(address.get("q"));
  const [where, setWhere] = useStateOf(address.get("where"));
  const list = useId();
  const keys = useKnownKeys();
  return (
    <Flex
      align="flex-start"
      as="form"
      gap={2}
      onSubmit={(event) => {
        event.preventDefault();
        address.set({ q: text.trim(), where: where.trim() });
      }}
      role="search"
      wrap="wrap"
    >
      <Field.Root flex="1 1 14rem" minWidth={0} width="auto">
        <Field.Label>Text</Field.Label>
        <Input onChange={(event) => setText(event.target.value)} placeholder="in id, name or description" size="sm" type="search" value={text} />
      </Field.Root>
      <Field.Root flex="2 1 20rem" invalid={problem !== undefined} minWidth={0} width="auto">
        <Field.Label>Metadata</Field.Label>
        <Input
          autoComplete="off"
          fontFamily="mono"
          list={list}
          onChange={(event) => setWhere(event.target.value)}
          placeholder='owner = data and tier >= 2'
          size="sm"
          spellCheck={false}
          value={where}
        />
        <datalist id={list}>
          {completions(where, keys).map((line) => (
            <option key={line} value={line} />
          ))}
        </datalist>
        <Field.ErrorText color="red.fg">{problem?.message}</Field.ErrorText>
      </Field.Root>
      <Box alignSelf="flex-start" pt={{ base: 0, md: "26px" }}>
        <Button colorPalette="brand" size="sm" type="submit">
          Search
        </Button>
      </Box>
    </Flex>
  );
};

/** State that begins anew when what it begins with changes: the address is also changed by facets and by going back. */
const useStateOf = (value: string) => {
  const [state, setState] = useState(value);
  useEffect(() => setState(value), [value]);
  return [state, setState] as const;
};

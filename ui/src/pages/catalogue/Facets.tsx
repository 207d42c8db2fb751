import { Box, Button, Heading, HStack, NativeSelect, Stack, Text } from "@chakra-ui/react";

import { useState } from "react";

import type { Facet, FacetValue } from "../../api/generated";
import { stringifyExact } from "../../api/exactJson";
import { formatQuery } from "../../query/text";
import { ProblemCard } from "../../parts/states";
import { CloseIcon } from "../../parts/icons";
import type { Address } from "../../state/address";
import { useCall } from "../../state/queries";
import { useKnownKeys } from "./knownKeys";
import { has, toggled, withoutPlace, type Question } from "./question";

const FIXED = ["type", "namespace"] as const;
const TOP = 8;
const PREFIX = "metadata.";

/** Counts by type, namespace and chosen metadata keys; a value is a filter to switch on and off. */
export const Facets = ({ address, question }: { address: Address; question: Question }) => {
  const [open, setOpen] = useState(false); // narrow windows hide them at first
  const keys = address.all("facet");
  const names = [...FIXED, ...keys.map((key) => PREFIX + key)];
  const { data, error } = useCall(
    "facets",
    { body: { ...withoutPlace(question.query), facets: names, top: TOP } },
    { enabled: question.problem === undefined, keep: true },
  );
  return (
    <Stack aria-label="Filters" as="aside" gap={4} minWidth={{ lg: "14rem" }} width={{ base: "100%", lg: "14rem" }}>
      <HStack justify="space-between">
        <Text aria-live="polite" fontSize="sm">
          {data === undefined ? "" : `${data.total.toLocaleString()}${data.totalIsLowerBound ? " or more" : ""} ${data.total === 1 ? "asset" : "assets"}`}
        </Text>
        <Button aria-expanded={open} display={{ lg: "none" }} onClick={() => setOpen(!open)} size="xs" variant="outline">
          Filters
        </Button>
      </HStack>
      {error === null ? null : <ProblemCard problem={error} />}
      <Stack display={{ base: open ? "flex" : "none", lg: "flex" }} gap={4}>
        <LockFilter address={address} />
        {data?.facets.map((facet) => <OneFacet address={address} facet={facet} key={facet.name} question={question} />)}
        <AddFacet address={address} chosen={keys} />
      </Stack>
    </Stack>
  );
};

const titleOf = (name: string): string =>
  name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name === "type" ? "Type" : "Namespace";

const OneFacet = ({ address, facet, question }: { address: Address; facet: Facet; question: Question }) => {
  const key = facet.name.startsWith(PREFIX) ? facet.name.slice(PREFIX.length) : undefined;
  const rest = [
    ...(facet.other > 0 ? [`${facet.other.toLocaleString()} with other values`] : []),
    ...(facet.missing > 0 ? [`${facet.missing.toLocaleString()} without`] : []),
  ];
  return (
    <Box as="section" aria-label={titleOf(facet.name)}>
      <HStack justify="space-between">
        <Heading as="h2" overflowWrap="anywhere" size="xs">
          {titleOf(facet.name)}
        </Heading>
        {key === undefined ? null : (
          <Button
            aria-label={`Remove the filter ${key}`}
            onClick={() => address.set({ facet: address.all("facet").filter((other) => other !== key) })}
            size="2xs"
            variant="ghost"
          >
            <CloseIcon />
          </Button>
        )}
      </HStack>
      <Stack as="ul" gap={0} listStyleType="none">
        {facet.values.map((one) => (
          <Value address={address} facet={facet.name} key={stringifyExact(one.value)} one={one} question={question} />
        ))}
      </Stack>
      {rest.length > 0 ? (
        <Text color="fg.muted" fontSize="xs">
          {rest.join(", ")}
        </Text>
      ) : null}
    </Box>
  );
};

const Value = ({ address, facet, one, question }: { address: Address; facet: string; one: FacetValue; question: Question }) => {
  const { choose, on } = filterOf(address, question, facet, one.value);
  const text = typeof one.value === "string" ? one.value : one.value === null ? "none" : stringifyExact(one.value);
  return (
    <li>
      <Button
        aria-pressed={on}
        colorPalette="brand"
        height="auto"
        justifyContent="space-between"
        onClick={choose}
        px={2}
        py={0.5}
        size="xs"
        title={text}
        variant={on ? "subtle" : "ghost"}
        width="100%"
      >
        <Text as="span" overflow="hidden" textOverflow="ellipsis" whiteSpace="nowrap">
          {facet === "type" ? shortType(text) : text}
        </Text>
        <Text as="span" color="fg.muted" fontVariantNumeric="tabular-nums">
          {one.count.toLocaleString()}
        </Text>
      </Button>
    </li>
  );
};

/** A type without the module it lies in: `Table` for `airflow_assets.types.Table`. */
export const shortType = (type: string): string => type.replace(/^airflow_assets\.types\./, "");

const filterOf = (address: Address, question: Question, facet: string, value: unknown): { choose: () => void; on: boolean } => {
  if (facet === "type") {
    const types = address.all("type");
    const on = types.includes(String(value));
    const choose = () => {
      const others = address.now().all("type").filter((type) => type !== value);
      address.set({ type: on ? others : [...others, String(value)] });
    };
    return { choose, on };
  }
  if (facet === "namespace") {
    const on = address.get("namespace") === String(value ?? "");
    return { choose: () => address.set({ namespace: on ? undefined : String(value ?? "") }), on };
  }
  const condition = { field: facet.slice(PREFIX.length), type: "EQUAL_TO" as const, value };
  return {
    choose: () => address.set({ where: formatQuery(toggled(question.conditions, condition)) }),
    on: has(question.conditions, condition),
  };
};

const LockFilter = ({ address }: { address: Address }) => (
  <NativeSelect.Root size="sm">
    <NativeSelect.Field aria-label="Locks" onChange={(event) => address.set({ locked: event.target.value })} value={address.get("locked")}>
      <option value="">Locked or not</option>
      <option value="yes">Locked</option>
      <option value="no">Not locked</option>
    </NativeSelect.Field>
    <NativeSelect.Indicator />
  </NativeSelect.Root>
);

const AddFacet = ({ address, chosen }: { address: Address; chosen: readonly string[] }) => {
  const keys = useKnownKeys().filter((key) => !chosen.includes(key));
  if (keys.length === 0) return null;
  return (
    <NativeSelect.Root size="sm">
      <NativeSelect.Field
        aria-label="Count by a metadata key"
        onChange={(event) => address.set({ cursor: address.get("cursor"), facet: [...chosen, event.target.value] })}
        value=""
      >
        <option value="">Count by…</option>
        {keys.map((key) => (
          <option key={key}>{key}</option>
        ))}
      </NativeSelect.Field>
      <NativeSelect.Indicator />
    </NativeSelect.Root>
  );
};
